// Slots are taken token by token, and the error path gives none back.
#include "backends/defect.h"

namespace cachet::backends {

Defect refused_append_advanced() {
  return {
      "refused_append_advanced",
      "an append that does not fit is refused after what fits was written (failed-op-not-atomic, E13): ggml-org/llama.cpp#12695",
      "static_cache",
      {"refusals_are_atomic", "seq_length_counts_tokens"},
      3,
      [](Seams& seams) { seams.append_writes_what_fits = true; }};
}

}  // namespace cachet::backends
