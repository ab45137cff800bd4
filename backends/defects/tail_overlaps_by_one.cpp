// The rule that a fully cached prompt keeps one token back is applied to every prompt; the rows come out right, a token is fed
// twice.
#include "backends/defect.h"

namespace cachet::backends {

Defect tail_overlaps_by_one() {
  return {"tail_overlaps_by_one",
          "the tail begins one token before what is missing (position-offset, E34): NVIDIA/TensorRT-LLM#8108",
          "static_cache",
          {"tail_slice_is_exact"},
          2,
          [](Seams& seams) {
            seams.tail = [](int prompt, int length) {
              const int begin = std::max(0, std::min(length, prompt) - 1);
              return Tail{begin, begin};
            };
          },
          true};
}

}  // namespace cachet::backends
