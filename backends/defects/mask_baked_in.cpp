// Later calls see as much of the cache as the traced one did.
#include "backends/defect.h"

namespace cachet::backends {

Defect mask_baked_in() {
  return {"mask_baked_in",
          "the mask of the traced call stays in the graph as a constant: keras-team/keras-hub#779",
          "compiled",
          {"logits_match_reference"},
          3,
          [](Seams& seams) { seams.compiler.mask_is_constant = true; },
          false,
          "padded"};
}

}  // namespace cachet::backends
