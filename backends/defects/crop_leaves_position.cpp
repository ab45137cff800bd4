// Length and next position are two counters, and a crop moves one of them back.
#include <algorithm>

#include "backends/defect.h"

namespace cachet::backends {

Defect crop_leaves_position() {
  return {"crop_leaves_position",
          "after a rewind the next token gets the position it would have had without (position-offset, E44): "
          "microsoft/onnxruntime-genai#2555",
          "quantised_cache",
          {"crop_forgets"},
          4,
          [](Seams& seams) {
            seams.position_id = [](const Fed& f) { return std::min(f.row.length + f.index + f.row.cropped, f.context - 1); };
          },
          true};
}

}  // namespace cachet::backends
