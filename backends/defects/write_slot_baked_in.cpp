// The slot that the traced call wrote to is where every later call writes.
#include "backends/defect.h"

namespace cachet::backends {

Defect write_slot_baked_in() {
  return {"write_slot_baked_in",
          "the write position of the trace stays in the graph as a constant: huggingface/transformers#29114",
          "compiled",
          {"logits_match_reference"},
          3,
          [](Seams& seams) { seams.compiler.slots_are_constant = true; },
          false,
          "padded"};
}

}  // namespace cachet::backends
