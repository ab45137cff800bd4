// The loop looks at the last token before it appends the new one, and so at the one before.
#include <algorithm>

#include "backends/defect.h"

namespace cachet::backends {

Defect stop_seen_one_late() {
  return {"stop_seen_one_late",
          "a loop emits one more token after its stop token (eos-handling, E45): microsoft/onnxruntime-genai#1849",
          "quantised_cache",
          {"stops_where_it_should"},
          1,
          [](Seams& seams) {
            seams.ended = [](const Tokens& emitted, const Tokens& stop) {
              return emitted.size() > 1 && std::find(stop.begin(), stop.end(), *(emitted.end() - 2)) != stop.end();
            };
          },
          true};
}

}  // namespace cachet::backends
