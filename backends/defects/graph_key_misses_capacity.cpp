// A longer cache gets the graph of a shorter one, which sees only its beginning.
#include "backends/defect.h"

namespace cachet::backends {

Defect graph_key_misses_capacity() {
  return {"graph_key_misses_capacity",
          "growth is swallowed: the graph of a shorter cache serves a longer one and sees its beginning: "
          "huggingface/transformers#17935",
          "compiled",
          {"logits_match_reference"},
          4,
          [](Seams& seams) { seams.compiler.key_has_capacity = false; },
          false,
          "padded"};
}

}  // namespace cachet::backends
