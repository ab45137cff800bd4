// The buffer was sized for the tokens before the last one, which nobody expected to be fed.
#include "backends/defect.h"

namespace cachet::backends {

Defect buffer_one_short() {
  return {"buffer_one_short",
          "the buffer has one slot less than the capacity, and the write that fills it is clamped (cache-overflow-clobber, F54): "
          "jax-ml/jax#21392",
          "static_cache",
          {"logits_match_reference"},
          2,
          [](Seams& seams) {
            seams.slot = [](const Fed& f) { return std::min(f.row.length + f.index, std::max(f.row.capacity - 2, 0)); };
            seams.visible = [](const Fed& f) { return std::min(f.past + f.index + 1, std::max(f.row.capacity - 1, 1)); };
          }};
}

}  // namespace cachet::backends
