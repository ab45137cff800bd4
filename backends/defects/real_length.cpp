// The length is taken from the mask, and the mask is made in the type of the activations.
#include "backends/defect.h"

namespace cachet::backends {

Defect real_length() {
  return {"real_length",
          "the length is the sum of a float attention mask, a real number (length-is-not-integer, F3): "
          "huggingface/transformers#46802",
          "eager",
          {"seq_length_is_integral"},
          1,
          [](Seams& seams) {
            seams.told_length = [](const RowFacts& row) -> Value {
              const std::vector<float> mask(static_cast<std::size_t>(row.length), 1.0F);
              return RealValue{kernels::sum(mask.data(), row.length, kernels::Summation::kForward)};
            };
          }};
}

}  // namespace cachet::backends
