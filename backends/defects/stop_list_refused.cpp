// The loop was written for the one id of its own model, and a guard turns away what it was not written for.
#include "backends/defect.h"

namespace cachet::backends {

Defect stop_list_refused() {
  return {"stop_list_refused",
          "a one-shot call with several stop ids is refused (eos-handling, E25): vllm-project/vllm#4589",
          "eager",
          {"valid_calls_are_answered"},
          1,
          [](Seams& seams) {
            seams.offers = [](const Loop& loop, bool one_shot) {
              return loop.extras.empty() && (!one_shot || !loop.stop || loop.stop->size() < 2);
            };
          },
          true};
}

}  // namespace cachet::backends
