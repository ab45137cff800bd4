// The loop's last call is enqueued with a draft's token before the real one is chosen; bookkeeping has the real one. Only what
// computes the session anew (a crop does here) puts it right.
#include "backends/defect.h"

namespace cachet::backends {

Defect placeholder_for_last_token() {
  return {
      "placeholder_for_last_token",
      "the cache holds another token than the last one that the loop emitted (uncommitted-token, E21): vllm-project/vllm#9730",
      "quantised_cache",
      {"continues_conversation"},
      3,
      [](Seams& seams) {
        seams.loop_feeds = [](Token token, bool last) { return !last ? token : token == 0 ? 1 : 0; };
        seams.crop_refeeds = true;
        seams.common_prefix = [](const Tokens&, const Tokens&) { return 0; };
      },
      true};
}

}  // namespace cachet::backends
