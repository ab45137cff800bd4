// The angles are taken from the place in the call; nobody adds what the cache holds.
#include "backends/defect.h"

namespace cachet::backends {

Defect rope_position_from_call() {
  return {
      "rope_position_from_call",
      "a decode step rotates by the token's index in its call, so that every token of a stream lies at position 0 (rope-offset): "
      "Blaizzy/mlx-vlm#1983",
      "eager",
      {"logits_match_reference", "chunked_append"},
      3,
      [](Seams& seams) { seams.rope_position = [](const Fed& f, int) { return f.index; }; }};
}

}  // namespace cachet::backends
