// The buffer is sized once, for the call that makes it.
#include "backends/defect.h"

namespace cachet::backends {

Defect capacity_pinned_by_first_call() {
  return {"capacity_pinned_by_first_call",
          "the retained cache is as long as the first call needed, and later ones are refused (shape-baked-constant, F12): "
          "huggingface/transformers#30351",
          "static_cache",
          {"repeat_call", "valid_calls_are_answered"},
          2,
          [](Seams& seams) {
            seams.retained_capacity = [](int asked, int needed, int& of_first_call) {
              if (of_first_call == 0) of_first_call = needed;
              return std::min(asked, of_first_call);
            };
          }};
}

}  // namespace cachet::backends
