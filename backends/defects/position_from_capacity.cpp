// The past length is read off a buffer that is as long as the capacity, so each decode step gets the last slot's position.
#include "backends/defect.h"

namespace cachet::backends {

Defect position_from_capacity() {
  return {
      "position_from_capacity",
      "a decode step takes its position from the shape of the padded cache (rope-offset, F32): huggingface/transformers#17969",
      "static_cache",
      {"logits_match_reference"},
      3,
      [](Seams& seams) { seams.position_id = [](const Fed& f) { return f.past == 0 ? f.index : f.row.capacity - 1; }; }};
}

}  // namespace cachet::backends
