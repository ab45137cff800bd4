// Two published layouts of one rotation; the weights are permuted for one of them and the kernel is the other.
#include "backends/defect.h"

namespace cachet::backends {

Defect rope_pairs_neighbours() {
  return {"rope_pairs_neighbours",
          "neighbours are rotated together where the weights have halves (rope-layout): huggingface/transformers#25199, "
          "jzhang38/TinyLlama#24",
          "static_cache",
          {"logits_match_reference"},
          2,
          [](Seams& seams) { seams.rope_pairs = kernels::Pairs::kNeighbours; }};
}

}  // namespace cachet::backends
