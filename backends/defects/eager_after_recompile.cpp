// Once graphs were dropped nothing is compiled any more, and nobody is told.
#include "backends/defect.h"

namespace cachet::backends {

Defect eager_after_recompile() {
  return {"eager_after_recompile",
          "after its graphs are dropped the engine computes without them and says nothing (E26): tenstorrent/tt-xla#3688",
          "compiled",
          {"compile_budget"},
          2,
          [](Seams& seams) { seams.compiler.recompiles = false; },
          false,
          "padded"};
}

}  // namespace cachet::backends
