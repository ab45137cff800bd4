// The kernel's causal flag assumes as many queries as keys; query i of a later call then sees only the first i + 1 keys.
#include "backends/defect.h"

namespace cachet::backends {

Defect causal_top_left() {
  return {"causal_top_left",
          "the causal mask is aligned to the top left when the cache is not empty (causal-misaligned, E46): "
          "microsoft/onnxruntime#28904, pytorch/pytorch#144858",
          "eager",
          {"logits_match_reference", "chunked_append", "context_matters"},
          3,
          [](Seams& seams) { seams.visible = [](const Fed& f) { return f.index + 1; }; }};
}

}  // namespace cachet::backends
