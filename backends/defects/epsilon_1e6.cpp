// A port of another family's block keeps that family's constant.
#include "backends/defect.h"

namespace cachet::backends {

Defect epsilon_1e6() {
  return {"epsilon_1e6",
          "layer norm with epsilon 1e-6 instead of the model's 1e-5 (precision, F77): huggingface/transformers#16838",
          "eager",
          {"logits_match_reference"},
          2,
          [](Seams& seams) { seams.norm_epsilon = 1e-6F; }};
}

}  // namespace cachet::backends
