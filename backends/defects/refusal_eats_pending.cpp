// The tokens to feed are gathered, pending one included, before the room for them is checked.
#include "backends/defect.h"

namespace cachet::backends {

Defect refusal_eats_pending() {
  return {"refusal_eats_pending",
          "an append that is refused has already taken the pending token (failed-op-not-atomic, E13): ggml-org/llama.cpp#12695",
          "eager",
          {"refusals_are_atomic"},
          4,
          [](Seams& seams) { seams.append_takes_pending_before_checks = true; }};
}

}  // namespace cachet::backends
