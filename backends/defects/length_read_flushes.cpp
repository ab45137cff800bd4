// The accessor brings what is cached to the host, and rows go through the host's buffer from then on.
#include "backends/defect.h"

namespace cachet::backends {

Defect length_read_flushes() {
  return {"length_read_flushes",
          "after the length was asked for, rows come from another buffer (an accessor with effects, E44): "
          "microsoft/onnxruntime-genai#2555",
          "quantised_cache",
          {"observing_changes_nothing"},
          3,
          [](Seams& seams) {
            seams.returned = [](float logit, const SessionFacts& session) {
              return session.length_read ? kernels::to_half(logit) : logit;
            };
          },
          true};
}

}  // namespace cachet::backends
