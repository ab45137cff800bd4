// Buffer index and token count are two notions behind one name; they part where tokens are written without being kept.
#include "backends/defect.h"

namespace cachet::backends {

Defect write_index_is_length() {
  return {"write_index_is_length",
          "the buffer's write index is told as the length, also after a look that did not commit (length-lies, E67): "
          "ml-explore/mlx-lm#748",
          "static_cache",
          {"seq_length_counts_tokens"},
          2,
          [](Seams& seams) { seams.told_length = [](const RowFacts& row) -> Value { return IntegerValue{row.write_index}; }; }};
}

}  // namespace cachet::backends
