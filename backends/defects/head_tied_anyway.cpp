// The loader ties the head by default, as most small models do, and the file's own head is never read.
#include "backends/defect.h"

namespace cachet::backends {

Defect head_tied_anyway() {
  return {"head_tied_anyway",
          "an untied head is replaced by the token embedding (config-ignored): deepspeedai/DeepSpeed#4088",
          "static_cache",
          {"logits_match_reference"},
          2,
          [](Seams& seams) { seams.head_is_embedding = true; }};
}

}  // namespace cachet::backends
