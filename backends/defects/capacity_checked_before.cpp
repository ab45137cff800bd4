// The limit is compared with what is there, not with what will be.
#include "backends/defect.h"

namespace cachet::backends {

Defect capacity_checked_before() {
  return {"capacity_checked_before",
          "the room is checked before the tokens are counted, so one call may pass the capacity (length-limit, F38): "
          "AI-Hypercomputer/maxtext#661",
          "eager",
          {"overflow_is_refused"},
          2,
          [](Seams& seams) { seams.over = [](const RowFacts& row, int, int limit) { return row.length >= limit; }; }};
}

}  // namespace cachet::backends
