// Both forms go by the name of GELU, and the faster library call has the exact one.
#include "backends/defect.h"

namespace cachet::backends {

Defect erf_gelu() {
  return {"erf_gelu", "the exact GELU where the model says gelu_new (precision, F77): huggingface/transformers#16838",
          "eager",    {"logits_match_reference"},
          2,          [](Seams& seams) {
            seams.activation = "gelu"; }};
}

}  // namespace cachet::backends
