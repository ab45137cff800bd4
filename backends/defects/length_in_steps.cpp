// Storage grows two slots at a time, and the size of what is allocated goes by the name of length.
#include "backends/defect.h"

namespace cachet::backends {

Defect length_in_steps() {
  return {"length_in_steps",
          "the length counts the slots that were allocated for the tokens (length-lies, E67): ml-explore/mlx-lm#748",
          "static_cache",
          {"seq_length_counts_tokens"},
          2,
          [](Seams& seams) {
            seams.told_length = [](const RowFacts& row) -> Value { return IntegerValue{(row.length + 1) / 2 * 2}; };
          },
          true};
}

}  // namespace cachet::backends
