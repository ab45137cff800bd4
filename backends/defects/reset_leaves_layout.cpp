// The reset empties the cache but leaves it in the layout of one that was in use, which another kernel reads.
#include "backends/defect.h"

namespace cachet::backends {

Defect reset_leaves_layout() {
  return {"reset_leaves_layout",
          "bit for bit is declared for a session after reset, but its storage stays in another layout (reset-incomplete, F10): "
          "huggingface/transformers#31917",
          "eager",
          {"reset_is_fresh"},
          4,
          [](Seams& seams) {
            constexpr int kBits = 21;  // far inside the envelope
            seams.returned = [](float logit, const SessionFacts& session) {
              return session.cut ? kernels::to_significand(logit, kBits) : logit;
            };
          },
          true};
}

}  // namespace cachet::backends
