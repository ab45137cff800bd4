// The next append feeds what it was given; that the loop left a token behind is known only to the loop.
#include "backends/defect.h"

namespace cachet::backends {

Defect pending_forgotten() {
  return {"pending_forgotten",
          "a loop's last token never enters the cache when the caller goes on (uncommitted-token, E21): vllm-project/vllm#9730",
          "eager",
          {"tail_slice_is_exact"},
          3,
          [](Seams& seams) { seams.append_feeds_pending = false; }};
}

}  // namespace cachet::backends
