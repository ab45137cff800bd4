// The key of a prefix is its length and last id: not everything that the cached values depend on.
#include "backends/defect.h"

namespace cachet::backends {

Defect prefix_by_last_token() {
  return {"prefix_by_last_token",
          "a retained prefix is taken for equal when its last token is (cross-sequence-leak, E20): vllm-project/vllm#30931",
          "static_cache",
          {"repeat_call"},
          2,
          [](Seams& seams) {
            seams.common_prefix = [](const Tokens& retained, const Tokens& prompt) {
              std::size_t n = std::min(retained.size(), prompt.size());
              while (n > 0 && retained[n - 1] != prompt[n - 1]) --n;
              return static_cast<int>(n);
            };
          }};
}

}  // namespace cachet::backends
