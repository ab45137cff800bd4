// The stride between rows counts the slots before the last one.
#include "backends/defect.h"

namespace cachet::backends {

Defect batch_row_spill() {
  return {"batch_row_spill",
          "rows of a batch lie one slot too close, so a full row's last token overwrites the next row's first (pad-slot-write, "
          "E37): NVIDIA/TensorRT-LLM#13278",
          "static_cache",
          {"logits_match_reference"},
          3,
          [](Seams& seams) { seams.row_base = [](int row, int capacity) { return row * std::max(capacity - 1, 1); }; }};
}

}  // namespace cachet::backends
