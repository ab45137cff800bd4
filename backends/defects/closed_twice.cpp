// Closing a session gives its storage back but leaves it on the list of what the run has to give back when it closes all.
#include "backends/defect.h"

namespace cachet::backends {

Defect closed_twice() {
  return {
      "closed_twice",
      "storage of a closed session is freed again at the end of its run, and two later sessions share it (cross-sequence-leak, "
      "E30): sgl-project/sglang#23392",
      "static_cache",
      {"logits_match_reference"},
      6,
      [](Seams& seams) { seams.close_ends_the_loan = false; }};
}

}  // namespace cachet::backends
