// One number for a model: equal for equal families, sizes, choices and numbers, whichever recipe or file they came from.
#include <bit>

#include "reference/arithmetic.h"

namespace cachet {

std::uint64_t digest_of(const Model& model) {
  using reference::mix;
  std::uint64_t hash = 0;
  const auto text = [&](const std::string& s) {
    hash = mix(hash, s.size());
    for (const char c : s) hash = mix(hash, static_cast<unsigned char>(c));
  };
  const ModelSpec& spec = model.spec;
  text(spec.family);
  text(spec.activation);
  // The recipe is left out; `inner`, `kv_heads` and `head_dim` show in the shapes and `tie_word_embeddings` in the names: a model
  // written and read again is the same model.
  for (const int size : {spec.layers, spec.heads, spec.width, spec.vocab, spec.context})
    hash = mix(hash, static_cast<std::uint64_t>(size));
  hash = mix(hash, std::bit_cast<std::uint64_t>(spec.norm_epsilon));
  if (spec.rope_theta != ModelSpec{}.rope_theta) hash = mix(hash, std::bit_cast<std::uint64_t>(spec.rope_theta));
  for (const auto& [name, tensor] : model.tensors) {
    text(name);
    for (const std::int64_t size : tensor.shape) hash = mix(hash, static_cast<std::uint64_t>(size));
    for (const double value : tensor.data) hash = mix(hash, std::bit_cast<std::uint64_t>(value));
  }
  return hash;
}

}  // namespace cachet
