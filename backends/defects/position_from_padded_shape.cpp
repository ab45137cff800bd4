// A decode step takes its position from the shape of the cache, which is as long as its bucket.
#include <algorithm>

#include "backends/defect.h"

namespace cachet::backends {

Defect position_from_padded_shape() {
  return {"position_from_padded_shape",
          "positions come from the shape of the padded cache once decode is compiled (F21): huggingface/transformers#17935",
          "compiled",
          {"logits_match_reference"},
          3,
          [](Seams& seams) {
            seams.position_id = [](const Fed& f) {
              return f.past == 0 ? f.index : std::min(f.row.capacity, f.context) - f.count + f.index;
            };
          },
          false,
          "padded"};
}

}  // namespace cachet::backends
