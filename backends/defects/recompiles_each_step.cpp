// A key that holds the length of the cache compiles a graph for each step.
#include "backends/defect.h"

namespace cachet::backends {

Defect recompiles_each_step() {
  return {"recompiles_each_step",
          "the cache's length is part of the key of a graph, so each decode step compiles anew (F46, F48): "
          "huggingface/transformers#29114",
          "compiled",
          {"compile_budget"},
          1,
          [](Seams& seams) { seams.compiler.key_has_past = true; },
          true,
          "padded"};
}

}  // namespace cachet::backends
