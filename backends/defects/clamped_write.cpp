// Writes by index clip what is out of range instead of raising, so nobody missed the check of the room; the context is checked.
#include "backends/defect.h"

namespace cachet::backends {

Defect clamped_write() {
  return {"clamped_write",
          "a write past the end is clamped and overwrites the last slot (cache-overflow-clobber, F54): openxla/xla#49120",
          "static_cache",
          {"overflow_is_refused"},
          2,
          [](Seams& seams) {
            seams.over = [](const RowFacts& row, int more, int limit) {
              return limit < row.capacity && row.length + more > limit;
            };
            seams.slot = [](const Fed& f) { return std::min(f.row.length + f.index, f.row.capacity - 1); };
            seams.visible = [](const Fed& f) { return std::min(f.past + f.index + 1, f.row.capacity); };
          },
          true};
}

}  // namespace cachet::backends
