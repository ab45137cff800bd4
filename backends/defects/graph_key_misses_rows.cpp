// The number of rows is no part of the key, so a graph for one row serves two.
#include "backends/defect.h"

namespace cachet::backends {

Defect graph_key_misses_rows() {
  return {"graph_key_misses_rows",
          "a graph that was compiled for other rows serves the call (a key without the batch): pytorch/pytorch#132849",
          "compiled",
          {"logits_match_reference"},
          4,
          [](Seams& seams) { seams.compiler.key_has_rows = false; },
          false,
          "padded"};
}

}  // namespace cachet::backends
