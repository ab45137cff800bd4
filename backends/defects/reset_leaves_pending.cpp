// The cache is emptied, but the loop's last token lives beside it.
#include "backends/defect.h"

namespace cachet::backends {

Defect reset_leaves_pending() {
  return {"reset_leaves_pending",
          "reset forgets the token that waits to be fed (reset-incomplete, F10): huggingface/transformers#31917",
          "eager",
          {"reset_is_fresh", "logits_match_reference"},
          4,
          [](Seams& seams) { seams.reset_drops_pending = false; }};
}

}  // namespace cachet::backends
