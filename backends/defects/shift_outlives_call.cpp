// The shift between tokens and positions is stored on the model by one call and taken for its own by the next.
#include <algorithm>

#include "backends/defect.h"

namespace cachet::backends {

Defect shift_outlives_call() {
  return {"shift_outlives_call",
          "a later one-shot call starts from an earlier one's shift of positions (stale-cache-on-reuse, F13): "
          "huggingface/transformers#43952",
          "quantised_cache",
          {"repeat_call"},
          2,
          [](Seams& seams) {
            seams.position_id = [](const Fed& f) {
              const int shift = f.row.calls > 1 ? 1 : 0;
              return std::min(f.row.length + f.index + shift, f.context - 1);
            };
            seams.common_prefix = [](const Tokens&, const Tokens&) { return 0; };  // so that both calls do the same work
          },
          true};
}

}  // namespace cachet::backends
