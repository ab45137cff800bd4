// Length is advanced by what was emitted; the last call that would have written the slot is saved.
#include "backends/defect.h"

namespace cachet::backends {

Defect last_token_never_fed() {
  return {"last_token_never_fed",
          "the loop's last token is counted but its keys are never computed (uncommitted-token-in-cache, E21): "
          "vllm-project/vllm#9730",
          "static_cache",
          {"logits_match_reference"},
          3,
          [](Seams& seams) { seams.loop_feeds_last_token = false; }};
}

}  // namespace cachet::backends
