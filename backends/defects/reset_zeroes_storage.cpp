// Zeroing is right for preallocated buffers and meaningless where storage grows by concatenation.
#include "backends/defect.h"

namespace cachet::backends {

Defect reset_zeroes_storage() {
  return {"reset_zeroes_storage",
          "reset zeroes a growing cache in place and leaves its length (reset-incomplete, F9): huggingface/transformers#48809",
          "eager",
          {"reset_is_fresh", "seq_length_counts_tokens"},
          3,
          [](Seams& seams) {
            seams.reset_grown = [](GrowingRow& row) {
              for (auto* layers : {&row.keys, &row.values})
                for (std::vector<float>& layer : *layers) std::fill(layer.begin(), layer.end(), 0.0F);
            };
          }};
}

}  // namespace cachet::backends
