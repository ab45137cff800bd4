// The ways to run a history: exactly, with noise for rounding, and the floor below which no noise may fall.
#include "reference/forward.h"

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>

namespace cachet::reference {

namespace {

/// A broken contract here would read outside an array in a release build, where assert() is silent.
const Architecture& checked(const Model& model, const Tokens& history) {
  const Architecture* architecture = find_architecture(model.spec.family);
  bool fine = architecture != nullptr && !history.empty() && history.size() <= static_cast<std::size_t>(model.spec.context);
  for (const Token token : history) fine = fine && token >= 0 && token < model.spec.vocab;
  if (!fine) {
    std::fputs("cachet: reference forward called with an unknown family or a history outside the model's vocabulary or context\n",
               stderr);
    std::abort();
  }
  return *architecture;
}

/// The significand bits of a double that a format of this unit roundoff (a power of two) lacks. A number with none of them set is
/// exact in it, its range aside.
std::uint64_t lacking_bits(double roundoff) {
  const int kept = -std::ilogb(roundoff) - 1;  // of the 52 stored bits
  return kept >= 52 ? 0 : (std::uint64_t{1} << (52 - kept)) - 1;
}

/// The model as an engine holds it: weights that its format cannot express are off by up to one unit roundoff, the same in all
/// positions. nullptr when all are exact.
std::unique_ptr<Model> rounded(const Model& model, double roundoff, std::uint64_t pass) {
  std::unique_ptr<Model> copy;
  if (roundoff == 0) return copy;
  const std::uint64_t lacking = lacking_bits(roundoff);
  SplitMix64 stream{mix(mix(model.digest, pass), 0x77656967687473ULL)};
  for (const auto& [name, tensor] : model.tensors) {
    for (std::size_t i = 0; i < tensor.data.size(); ++i) {
      if ((std::bit_cast<std::uint64_t>(tensor.data[i]) & lacking) == 0) continue;
      if (!copy) copy = std::make_unique<Model>(model);
      const double uniform = static_cast<double>(static_cast<std::int64_t>(stream.next())) * 0x1p-63;
      copy->tensors[name].data[i] *= 1 + roundoff * uniform;
    }
  }
  return copy;
}

}  // namespace

Rows forward(const Model& model, const Tokens& history) {
  Arithmetic exact;
  return checked(model, history).forward(model, history, exact);
}

Rows perturbed(const Model& model, const Tokens& history, const Rounding& rounding, std::uint64_t pass) {
  const Architecture& architecture = checked(model, history);
  const std::unique_ptr<Model> weights = rounded(model, rounding.weights, pass);
  Arithmetic arithmetic(rounding, model.digest, history, pass);
  return architecture.forward(weights ? *weights : model, history, arithmetic);
}

Rows error_floor(const Rows& exact, const Rounding& rounding) {
  const double relative = std::sqrt(static_cast<double>(exact.terms)) * rounding.compute;
  Rows floor{exact.tokens, exact.vocab, exact.magnitudes, {}, exact.terms};
  for (double& value : floor.logits) value *= relative;
  return floor;
}

Rows error_floor(const Model& model, const Tokens& history, const Rounding& rounding) {
  return error_floor(forward(model, history), rounding);
}

}  // namespace cachet::reference
