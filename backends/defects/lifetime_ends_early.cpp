// A value's place in the arena is given away one operation too early.
#include "backends/defect.h"

namespace cachet::backends {

Defect lifetime_ends_early() {
  return {"lifetime_ends_early",
          "the planner lets a value end before its last reader, whose result takes its place: pytorch/pytorch#132849",
          "compiled",
          {"logits_match_reference"},
          2,
          [](Seams& seams) { seams.compiler.lifetimes_end_early = 1; },
          false,
          "padded"};
}

}  // namespace cachet::backends
