// The compiler knows one activation, and graphs have it whatever the model says.
#include "backends/defect.h"

namespace cachet::backends {

Defect activation_lowered_wrong() {
  return {"activation_lowered_wrong",
          "compiled code computes another activation than eager code does (P1, P23): pytorch/pytorch#132849",
          "compiled",
          {"eager_equals_compiled", "logits_match_reference"},
          2,
          [](Seams& seams) { seams.compiler.activation = kernels::gelu_erf; },
          false,
          "padded"};
}

}  // namespace cachet::backends
