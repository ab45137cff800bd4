// What a decoder is made of: sizes and choices (ModelSpec), a recipe for its weights, and the tensors that the two determine.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "reference/result.h"

namespace cachet {

/// Token ids travel as 64 bits so that ids outside any vocabulary can be sent on purpose.
using Token = std::int64_t;
using Tokens = std::vector<Token>;

/// Where a model's weights come from. All recipes but `directory` are portable: the same numbers on every machine,
/// exactly representable in bfloat16.
struct WeightRecipe {
  enum class Kind { kPattern, kSeed, kDirectory };
  Kind kind = Kind::kSeed;
  std::string name;        ///< pattern name, or directory path
  std::uint64_t seed = 0;  ///< for kSeed

  auto operator<=>(const WeightRecipe&) const = default;
};

/// "seed:7", "pattern:NAME" or "directory:PATH".
std::string to_string(const WeightRecipe& recipe);
Result<WeightRecipe> parse_weight_recipe(const std::string& text);

/// Names of the weight patterns, simplest first; the shrinker's ladder is these, then seed 0, 1, 2 ...
const std::vector<std::string>& weight_patterns();

/// Architecture choices and sizes; together with the recipe it *is* the model.
struct ModelSpec {
  std::string family = "gpt2";
  int layers = 1;
  int heads = 1;
  int width = 2;  ///< d_model; a multiple of heads
  int vocab = 4;
  int context = 8;   ///< number of positions the model itself can express
  int inner = 0;     ///< width of the MLP; 0 means the family's default (gpt2: 4 * width; llama: 8 / 3 * width, rounded up)
  int kv_heads = 0;  ///< llama: heads of keys and values, a divisor of heads; 0 means as many as heads
  int head_dim = 0;  ///< llama: size of a head, even; 0 means width / heads
  double norm_epsilon = 1e-5;
  std::string activation = "gelu_new";
  double rope_theta = 10000;         ///< llama: base of the rotary angles
  bool tie_word_embeddings = false;  ///< llama: the head is the token embedding (gpt2's always is, and says nothing here)
  WeightRecipe weights;

  bool operator==(const ModelSpec&) const = default;
};

/// A spec of the family with every choice at its default: what to_string leaves out. Of an unknown family that of gpt2.
ModelSpec standard_spec(const std::string& family);

/// "gpt2 layers=1 heads=1 width=2 vocab=4 context=8 weights=seed:0"; choices at the family's default are left out.
std::string to_string(const ModelSpec& spec);

/// The inverse of to_string: words[0] is the family, the others key=value. Unknown keys, bad values and contradictions
/// (width not a multiple of heads, unknown family or activation) are errors that name the key.
Result<ModelSpec> parse_model_spec(const std::vector<std::string>& words);

/// What is wrong with a spec: an unknown family or activation, sizes out of range, contradictions. The message names the key.
std::optional<Error> check_model_spec(const ModelSpec& spec);

/// A dense array in row-major order.
struct Tensor {
  std::vector<std::int64_t> shape;
  std::vector<double> data;
};

/// Sizes, choices and numbers. Tensors are named as in the Hugging Face layout of the family
/// ("transformer.h.0.attn.c_attn.weight"); gpt2 linear weights are (in, out), llama's (out, in).
struct Model {
  ModelSpec spec;
  std::map<std::string, Tensor> tensors;
  std::uint64_t digest = 0;  ///< hash over spec and numbers; equal models have equal digests
};
using ModelPtr = std::shared_ptr<const Model>;

/// Builds the model of a seed or pattern recipe. A directory recipe is an error here: harness/checkpoint.h reads those.
Result<ModelPtr> build_model(const ModelSpec& spec);

/// A digest for a model whose tensors were read or changed by hand.
std::uint64_t digest_of(const Model& model);

}  // namespace cachet
