// The end of a run frees all of its loans, also the one that outlives it.
#include "backends/defect.h"

namespace cachet::backends {

Defect retained_cache_recycled() {
  return {"retained_cache_recycled",
          "storage that the retained cache still reads goes to new sessions (cross-sequence-leak, E30): sgl-project/sglang#23392",
          "static_cache",
          {"repeat_call", "logits_match_reference"},
          5,
          [](Seams& seams) { seams.end_run_spares_retained = false; }};
}

}  // namespace cachet::backends
