// Logits of the first part of a long prompt are read after the second part has replaced them.
#include "backends/defect.h"

namespace cachet::backends {

Defect output_overwritten() {
  return {"output_overwritten",
          "a call's logits are a view of the buffer that the next call fills: tenstorrent/tt-xla#4444",
          "compiled",
          {"logits_match_reference"},
          2,
          [](Seams& seams) { seams.compiler.output_is_shared = true; },
          false,
          "padded"};
}

}  // namespace cachet::backends
