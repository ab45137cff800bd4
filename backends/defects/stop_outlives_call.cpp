// What a call was given is stored on the engine, and only a call that brings its own replaces it.
#include "backends/defect.h"

namespace cachet::backends {

Defect stop_outlives_call() {
  return {"stop_outlives_call",
          "a call without stop ids uses those of an earlier call (stale-cache-on-reuse, F13): huggingface/transformers#43952",
          "static_cache",
          {"repeat_call"},
          2,
          [](Seams& seams) {
            seams.stop_ids = [](const Loop& loop, Tokens& of_last_call) {
              if (loop.stop) of_last_call = *loop.stop;
              return of_last_call;
            };
          }};
}

}  // namespace cachet::backends
