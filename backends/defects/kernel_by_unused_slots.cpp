// The kernel tests its whole buffer for numbers, unused slots included, and falls back to a coarser one where it finds another.
#include "backends/defect.h"

namespace cachet::backends {

Defect kernel_by_unused_slots() {
  return {"kernel_by_unused_slots",
          "what lies in slots that no token owns chooses the kernel (dirty-recycled-memory, E16): vllm-project/vllm#56524",
          "quantised_cache",
          {"poison_is_unread"},
          3,
          [](Seams& seams) {
            seams.returned = [](float logit, const SessionFacts& session) {
              return session.poisoned ? kernels::to_half(logit) : logit;
            };
          },
          true};
}

}  // namespace cachet::backends
