// The mask is made from the padded length of a call.
#include "backends/defect.h"

namespace cachet::backends {

Defect pads_visible() {
  return {"pads_visible",
          "real tokens see the padding behind them in their bucket (F32): huggingface/transformers#17969",
          "compiled",
          {"logits_match_reference"},
          2,
          [](Seams& seams) { seams.compiler.pads_are_visible = true; },
          false,
          "padded"};
}

}  // namespace cachet::backends
