// The gather of an array compiler clips indices that are out of range, and a compiled graph cannot raise.
#include "backends/defect.h"

namespace cachet::backends {

Defect unknown_token_clipped() {
  return {
      "unknown_token_clipped",
      "a token outside the vocabulary is answered as the nearest one inside (unsupported-op-accepted, E05; the clamp of F54): "
      "openxla/xla#49120",
      "eager",
      {"bad_calls_are_refused"},
      2,
      [](Seams& seams) {
        seams.embedding_row = [](Token id, int vocab) { return std::optional<Token>(std::clamp<Token>(id, 0, vocab - 1)); };
      },
      true};
}

}  // namespace cachet::backends
