// The logits of the last call are kept to save one, and the rewind does not clear them.
#include "backends/defect.h"

namespace cachet::backends {

Defect generate_reuses_last_logits() {
  return {"generate_reuses_last_logits",
          "generate right after a crop picks from the logits before it (position-offset, E44): microsoft/onnxruntime-genai#2555",
          "eager",
          {"greedy_tokens_match_reference"},
          4,
          [](Seams& seams) { seams.generate_reuses_last_logits = true; }};
}

}  // namespace cachet::backends
