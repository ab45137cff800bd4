// With one sequence rows are handed out as they are; with several they are gathered into a buffer of the serving type. A
// sequence that was cut leaves that batch.
#include "backends/defect.h"

namespace cachet::backends {

Defect halved_in_company() {
  return {"halved_in_company",
          "rows of a sequence that joined others are in half precision (batch-variance, F75): huggingface/transformers#25921",
          "quantised_cache",
          {"sessions_are_isolated"},
          3,
          [](Seams& seams) {
            seams.returned = [](float logit, const SessionFacts& session) {
              return session.others > 0 ? kernels::to_half(logit) : logit;
            };
          },
          true};
}

}  // namespace cachet::backends
