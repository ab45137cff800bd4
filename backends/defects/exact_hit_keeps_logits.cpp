// A fully cached prompt leaves nothing to feed, so the logits of the last call are taken, which stood after another token.
#include "backends/defect.h"

namespace cachet::backends {

Defect exact_hit_keeps_logits() {
  return {"exact_hit_keeps_logits",
          "a fully cached prompt feeds nothing and continues from the last call's logits (exact-hit-empty-tail, F7): "
          "huggingface/transformers#36151",
          "static_cache",
          {"greedy_tokens_match_reference", "tail_slice_is_exact"},
          2,
          [](Seams& seams) { seams.exact_hit_keeps_logits = true; }};
}

}  // namespace cachet::backends
