// The kernel runs over the whole buffer and relies on the mask to make unwritten slots vanish.
#include "backends/defect.h"

namespace cachet::backends {

Defect masked_by_zero_weight() {
  return {"masked_by_zero_weight",
          "slots past the length weigh zero but are read, and zero times NaN is NaN (dirty-recycled-memory, E16): "
          "vllm-project/vllm#56524",
          "static_cache",
          {"logits_match_reference"},
          3,
          [](Seams& seams) { seams.read = [](const Fed& f, int) { return f.row.capacity; }; }};
}

}  // namespace cachet::backends
