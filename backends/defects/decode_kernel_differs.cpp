// A call of one token takes the kernel of the decode step, whose rows end in other bits than the prefill's.
#include "backends/defect.h"

namespace cachet::backends {

Defect decode_kernel_differs() {
  return {"decode_kernel_differs",
          "bit for bit is declared for any chunks, but the number of tokens in a call chooses the kernel (batch-variance, F75): "
          "huggingface/transformers#25921",
          "eager",
          {"chunked_append"},
          2,
          [](Seams& seams) {
            constexpr int kBits = 21;  // far inside the envelope
            seams.returned = [](float logit, const SessionFacts& session) {
              return session.tokens == 1 ? kernels::to_significand(logit, kBits) : logit;
            };
          },
          true};
}

}  // namespace cachet::backends
