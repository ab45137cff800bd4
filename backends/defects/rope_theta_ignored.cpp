// The base of the angles has a default that is right for the first models of the family.
#include "backends/defect.h"

namespace cachet::backends {

Defect rope_theta_ignored() {
  return {"rope_theta_ignored",
          "the rotary base is 10000 whatever the config says (config-ignored): vllm-project/vllm#9503, karpathy/llama2.c#356",
          "eager",
          {"logits_match_reference"},
          2,
          [](Seams& seams) { seams.rope_theta = 10000.0F; }};
}

}  // namespace cachet::backends
