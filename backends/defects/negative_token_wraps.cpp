// The table is indexed by a language where -1 is the last row, and only the upper bound is checked.
#include "backends/defect.h"

namespace cachet::backends {

Defect negative_token_wraps() {
  return {"negative_token_wraps",
          "a negative token id indexes the embedding from its end (unsupported-op-accepted, E05): ggml-org/llama.cpp#12357",
          "eager",
          {"bad_calls_are_refused"},
          2,
          [](Seams& seams) {
            seams.embedding_row = [](Token id, int vocab) -> std::optional<Token> {
              if (id >= vocab || id < -vocab) return std::nullopt;
              return id < 0 ? id + vocab : id;
            };
          }};
}

}  // namespace cachet::backends
