// The processor compares the length before the token with the minimum, inclusively.
#include "backends/defect.h"

namespace cachet::backends {

Defect suppression_one_late() {
  return {
      "suppression_one_late",
      "stop ids stay suppressed one token too long (eos-handling, E25): vllm-project/vllm#4589",
      "eager",
      {"greedy_tokens_match_reference"},
      2,
      [](Seams& seams) { seams.suppresses_stop = [](int emitted, int min_new) { return min_new > 0 && emitted <= min_new; }; },
      true};
}

}  // namespace cachet::backends
