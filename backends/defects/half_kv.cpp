// The cache's own dtype option defaults to half precision and nothing downstream can tell.
#include "backends/defect.h"

namespace cachet::backends {

Defect half_kv() {
  return {"half_kv",
          "the cache is kept in float16 although float32 is declared (precision, F74): huggingface/transformers#25420",
          "static_cache",
          {"logits_match_reference"},
          2,
          [](Seams& seams) { seams.stored = kernels::to_half; }};
}

}  // namespace cachet::backends
