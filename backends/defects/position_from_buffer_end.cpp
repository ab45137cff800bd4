// Positions are counted from the end of the padded buffer, which ends where the model does only when it was made that long.
#include <algorithm>

#include "backends/defect.h"

namespace cachet::backends {

Defect position_from_buffer_end() {
  return {"position_from_buffer_end",
          "positions depend on how long the padded cache is (rope-offset, F32): huggingface/transformers#17969",
          "quantised_cache",
          {"capacity_is_invisible"},
          2,
          [](Seams& seams) {
            seams.position_id = [](const Fed& f) {
              const int before = std::max(0, f.context - f.row.capacity);
              return std::min(before + f.row.length + f.index, f.context - 1);
            };
          },
          true};
}

}  // namespace cachet::backends
