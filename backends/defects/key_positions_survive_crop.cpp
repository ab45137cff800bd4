// Keys are cached as they are and rotated when read, by positions counted back from the number of tokens ever seen, which a crop
// does not lower.
#include "backends/defect.h"

namespace cachet::backends {

Defect key_positions_survive_crop() {
  return {"key_positions_survive_crop",
          "keys rotated at read time keep the positions of the cropped tail, queries do not (rope-offset, crop-unsound): "
          "EleutherAI/gpt-neox#363, rajveer43/VeloxQuant-MLX#389",
          "static_cache",
          {"crop_forgets", "logits_match_reference"},
          4,
          [](Seams& seams) { seams.key_position = [](const Fed& f, int slot) { return slot + f.row.cropped; }; }};
}

}  // namespace cachet::backends
