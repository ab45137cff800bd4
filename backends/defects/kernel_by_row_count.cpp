// More rows than one take the batched kernel, which hands rows out in the type of its accumulator.
#include "backends/defect.h"

namespace cachet::backends {

Defect kernel_by_row_count() {
  return {"kernel_by_row_count",
          "the number of rows chooses the kernel, and rows of a batch come in half precision (batch-variance, F75): "
          "huggingface/transformers#25921",
          "quantised_cache",
          {"rows_are_independent"},
          2,
          [](Seams& seams) {
            seams.returned = [](float logit, const SessionFacts& session) {
              return session.rows > 1 ? kernels::to_half(logit) : logit;
            };
          },
          true};
}

}  // namespace cachet::backends
