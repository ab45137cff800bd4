// The mask is strictly causal, so the first token sees no key at all and its softmax divides zero by zero.
#include "backends/defect.h"

namespace cachet::backends {

Defect first_row_masked() {
  return {"first_row_masked",
          "the first row is masked fully and becomes NaN (fully-masked-row, F29): huggingface/transformers#47651",
          "quantised_cache",
          {"logits_are_finite"},
          2,
          [](Seams& seams) { seams.visible = [](const Fed& f) { return f.past + f.index == 0 ? 0 : f.past + f.index + 1; }; },
          true};
}

}  // namespace cachet::backends
