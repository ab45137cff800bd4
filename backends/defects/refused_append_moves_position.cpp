// The next position is advanced before the call is looked at, and the error path gives only the slots back.
#include <algorithm>

#include "backends/defect.h"

namespace cachet::backends {

Defect refused_append_moves_position() {
  return {
      "refused_append_moves_position",
      "an append that does not fit leaves the next token's position where its own would have ended (failed-op-not-atomic, E13): "
      "ggml-org/llama.cpp#12695",
      "quantised_cache",
      {"refusals_are_atomic"},
      3,
      [](Seams& seams) {
        seams.position_id = [](const Fed& f) { return std::min(f.row.length + f.index + f.row.refused, f.context - 1); };
      },
      true};
}

}  // namespace cachet::backends
