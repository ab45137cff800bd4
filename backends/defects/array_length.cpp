// The accessor hands out the counter, which is an array so that no compiled graph guards on its value.
#include "backends/defect.h"

namespace cachet::backends {

Defect array_length() {
  return {"array_length",
          "the length is the device counter itself, an int64 array of one element: huggingface/transformers#45987 (F2)",
          "static_cache",
          {"seq_length_is_integral"},
          1,
          [](Seams& seams) {
            seams.told_length = [](const RowFacts& row) -> Value {
              return ArrayValue{"int64", {1}, {static_cast<double>(row.length)}, "cpu"};
            };
          },
          true};
}

}  // namespace cachet::backends
