// Keys and values are tiled to the number of queries where each should be repeated in place.
#include "backends/defect.h"

namespace cachet::backends {

Defect kv_head_by_modulo() {
  return {
      "kv_head_by_modulo",
      "query h reads the keys of head h modulo the number of key heads instead of its group's (head-mapping): onnx/onnx#7274, "
      "apple/axlearn#842",
      "eager",
      {"logits_match_reference"},
      2,
      [](Seams& seams) { seams.kv_head = [](int head, int, int kv_heads) { return head % kv_heads; }; }};
}

}  // namespace cachet::backends
