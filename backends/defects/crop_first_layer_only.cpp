// Length and crop are both answered by layer 0, so the deeper layers' leftovers are noticed by nobody.
#include "backends/defect.h"

namespace cachet::backends {

Defect crop_first_layer_only() {
  return {"crop_first_layer_only",
          "a crop reaches the first layer only (crop-unsound, E62): ml-explore/mlx-lm#1494",
          "eager",
          {"seq_length_counts_tokens", "logits_match_reference"},
          4,
          [](Seams& seams) { seams.crop_grown = [](GrowingRow& row, int n) { row.truncate_layer(0, n); }; }};
}

}  // namespace cachet::backends
