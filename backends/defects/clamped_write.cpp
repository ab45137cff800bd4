// dynamic_update_slice moves its start so that the update fits; only an update larger than the buffer is an error.
#include "backends/defect.h"

namespace cachet::backends {

Defect clamped_write() {
  return {"clamped_write",
          "a write past the end is clamped and overwrites the last slots (cache-overflow-clobber, F54): openxla/xla#49120",
          "static_cache",
          {"overflow_is_refused"},
          3,
          [](Seams& seams) {
            seams.over = [](const RowFacts& row, int more, int) { return more > row.capacity; };
            seams.slot = [](const Fed& f) { return std::min(f.row.length, f.row.capacity - f.count) + f.index; };
            seams.visible = [](const Fed& f) { return std::min(f.past + f.index + 1, f.row.capacity); };
          }};
}

}  // namespace cachet::backends
