// Attention walks floor(n / 4) + 1 blocks and takes a remainder of zero for a full last block, so at a boundary it shows one
// block more, as far as that was ever written.
#include "backends/defect.h"

namespace cachet::backends {

Defect block_boundary_after_crop() {
  return {"block_boundary_after_crop",
          "at an exact block boundary a crop's leftovers become visible (crop-unsound, E48): openvinotoolkit/openvino#35721",
          "static_cache",
          {"crop_forgets", "logits_match_reference"},
          4,
          [](Seams& seams) {
            seams.visible = [](const Fed& f) {
              constexpr int kBlock = 4;
              const int n = f.past + f.index + 1, remainder = n % kBlock;
              const int end = n / kBlock * kBlock + (remainder == 0 ? kBlock : remainder);
              return std::min(end, std::max(n, f.row.high_water));
            };
          }};
}

}  // namespace cachet::backends
