// A graph keeps the address of the first cache, so a second session writes into it.
#include "backends/defect.h"

namespace cachet::backends {

Defect cache_baked_in() {
  return {"cache_baked_in",
          "the graph stays tied to the memory of the cache that it was traced with: pytorch/pytorch#132849",
          "compiled",
          {"logits_match_reference", "compile_order_is_free"},
          5,
          [](Seams& seams) { seams.compiler.cache_is_constant = true; },
          false,
          "padded"};
}

}  // namespace cachet::backends
