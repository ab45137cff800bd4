// The head's buffer has the type that models are served in; the loop reads the accumulator before it.
#include "backends/defect.h"

namespace cachet::backends {

Defect half_logits() {
  return {"half_logits",
          "rows are handed out in float16 although float32 is declared (precision, F74): huggingface/transformers#25420",
          "eager",
          {"logits_match_reference"},
          2,
          [](Seams& seams) { seams.returned = [](float logit, const SessionFacts&) { return kernels::to_half(logit); }; },
          true};
}

}  // namespace cachet::backends
