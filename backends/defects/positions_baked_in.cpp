// Positions are read while tracing and stay in the graph as constants.
#include "backends/defect.h"

namespace cachet::backends {

Defect positions_baked_in() {
  return {"positions_baked_in",
          "positions are constants of the graph, as they were when it was traced (F21, P16): huggingface/transformers#46858",
          "compiled",
          {"logits_match_reference"},
          3,
          [](Seams& seams) { seams.compiler.positions_are_constant = true; },
          false,
          "padded"};
}

}  // namespace cachet::backends
