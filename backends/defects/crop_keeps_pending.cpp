// The rewind counts what is in the cache; the boundary token that is queued behind it survives.
#include "backends/defect.h"

namespace cachet::backends {

Defect crop_keeps_pending() {
  return {"crop_keeps_pending",
          "after a crop the token that waited to be fed is still fed (position-offset, E44): microsoft/onnxruntime-genai#2555",
          "eager",
          {"crop_forgets"},
          4,
          [](Seams& seams) { seams.crop_drops_pending = false; }};
}

}  // namespace cachet::backends
