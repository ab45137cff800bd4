// Weight recipes: portable numbers that are exact in bfloat16 and in float16, wide enough that logits vary with the history.
#include <cmath>

#include "reference/architecture.h"

namespace cachet {

namespace {

using reference::SplitMix64;
using reference::TensorInfo;
using reference::TensorRole;

/// To eight significant bits, ties to even; tiny values become zero so that float16 needs no subnormal number.
double to_bfloat16(double x) {
  if (std::abs(x) < 0x1p-12) return 0;
  int exponent = 0;
  const double fraction = std::frexp(x, &exponent);
  return std::ldexp(std::nearbyint(fraction * 256), exponent - 8);
}

/// Half-width of the uniform distribution of a role's values. Sums then have a deviation a little above 1, so that attention is
/// neither flat nor one-hot and logits differ by about their own size from one history to the next.
double half_width(const TensorInfo& tensor) {
  const double fan = std::sqrt(static_cast<double>(tensor.fan_in));
  switch (tensor.role) {
    case TensorRole::kTokenEmbedding:
      return 2.5 / fan;
    case TensorRole::kPositionEmbedding:
      return 2.5 / fan;
    case TensorRole::kLinear:
      return 2 / fan;
    case TensorRole::kBias:
      return 0.5;
    case TensorRole::kNormGain:
      return 0.5;
    case TensorRole::kNormBias:
      return 0.5;
  }
  return 1;
}

std::uint64_t hash_of(const std::string& text) {
  std::uint64_t hash = 0;
  for (const char c : text) hash = reference::mix(hash, static_cast<unsigned char>(c));
  return hash;
}

/// Each tensor has a stream of its own, so that dropping a layer or a token of the vocabulary keeps the numbers of the others.
void fill_from_seed(const TensorInfo& info, std::uint64_t seed, std::vector<double>& data) {
  SplitMix64 stream{reference::mix(seed, hash_of(info.name))};
  const double centre = info.role == TensorRole::kNormGain ? 1 : 0;
  for (double& value : data) {
    const double uniform = static_cast<double>(static_cast<std::int64_t>(stream.next()) >> 11) * 0x1p-52;  // in [-1, 1)
    value = to_bfloat16(centre + half_width(info) * uniform);
  }
}

/// Small multiples of a power of two in a fixed, uneven cycle over rows and columns; tensors differ in phase, so that no two
/// heads, positions or tokens are alike.
void fill_ramp(const TensorInfo& info, bool biased, std::vector<double>& data) {
  const int phase = static_cast<int>(hash_of(info.name) % 11);
  const std::int64_t columns = info.shape.back();
  int exponent = 0;
  std::frexp(half_width(info), &exponent);
  const double unit = std::ldexp(1.0, exponent - 3);
  for (std::size_t i = 0; i < data.size(); ++i) {
    const auto r = static_cast<std::int64_t>(i) / columns, c = static_cast<std::int64_t>(i) % columns;
    const auto cycle = static_cast<double>((r * r + 3 * r + 5 * c + 4 * r * c + phase) % 11 - 5);
    switch (info.role) {
      case TensorRole::kNormGain:
        data[i] = 1;
        break;
      case TensorRole::kBias:
      case TensorRole::kNormBias:
        data[i] = biased ? cycle * 0.125 : 0;
        break;
      default:
        data[i] = cycle * unit;
    }
  }
}

}  // namespace

const std::vector<std::string>& weight_patterns() {
  static const std::vector<std::string> names = {"ramp", "biased_ramp"};
  return names;
}

Result<ModelPtr> build_model(const ModelSpec& spec) {
  if (spec.weights.kind == WeightRecipe::Kind::kDirectory) {
    return Error{"", 0, "weights: " + to_string(spec.weights) + " cannot be built; expected seed:N or pattern:NAME"};
  }
  if (const auto error = check_model_spec(spec)) return *error;
  auto model = std::make_shared<Model>();
  model->spec = spec;
  for (const TensorInfo& info : reference::find_architecture(spec.family)->tensors(spec)) {
    std::size_t size = 1;
    for (const std::int64_t dimension : info.shape) size *= static_cast<std::size_t>(dimension);
    Tensor tensor{info.shape, std::vector<double>(size)};
    if (spec.weights.kind == WeightRecipe::Kind::kSeed)
      fill_from_seed(info, spec.weights.seed, tensor.data);
    else
      fill_ramp(info, spec.weights.name == "biased_ramp", tensor.data);
    model->tensors.emplace(info.name, std::move(tensor));
  }
  model->digest = digest_of(*model);
  return ModelPtr(std::move(model));
}

}  // namespace cachet
