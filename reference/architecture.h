// One decoder family as plain data and one pure forward function; a family is one file in reference/architectures/.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "reference/arithmetic.h"
#include "reference/model.h"

namespace cachet::reference {

/// What part a tensor plays, which is all a weight recipe needs to know to choose its scale.
enum class TensorRole { kTokenEmbedding, kPositionEmbedding, kLinear, kBias, kNormGain, kNormBias };

struct TensorInfo {
  std::string name;
  std::vector<std::int64_t> shape;
  TensorRole role;
  int fan_in;  ///< number of terms in each of its sums; 1 where it takes part in none
};

/// A scalar of config.json. A list or an object is its JSON text; scalars inside an object are also there by themselves, under
/// "object.key".
using ConfigValue = std::variant<std::monostate, bool, std::int64_t, double, std::string>;
using Config = std::map<std::string, ConfigValue>;

/// Logits of every position of a history.
struct Rows {
  int tokens = 0;
  int vocab = 0;
  std::vector<double> logits;      ///< (tokens, vocab)
  std::vector<double> magnitudes;  ///< (tokens, vocab), of an exact pass: sum of the last product's absolute terms
  int terms = 0;                   ///< in each of those sums

  const double* row(int t) const { return logits.data() + static_cast<std::size_t>(t) * vocab; }
};

struct Architecture {
  std::string name;                                      ///< family, also `model_type` of config.json
  ModelSpec standard;                                    ///< every choice at its default
  std::vector<std::string> activations;                  ///< those that it takes, its standard one first
  std::set<std::string> choices;                         ///< keys of a spec beside those that every family has
  std::vector<TensorInfo> (*tensors)(const ModelSpec&);  ///< every tensor, in the order of files and recipes
  std::optional<Error> (*validate)(const ModelSpec&);    ///< contradictions within the spec
  Config (*to_config)(const ModelSpec&);                 ///< the published layout of config.json
  Result<ModelSpec> (*from_config)(const Config&);       ///< unknown or contradictory keys are errors that name the key
  /// The parameter (a name in `tensors`) that a tensor of a stored file stands for: other published names of it, tied copies.
  /// Empty for buffers that hold no parameter. What it does not know it returns as it is.
  std::string (*canonical_name)(const ModelSpec& spec, const std::string& stored);
  Rows (*forward)(const Model&, const Tokens& history, Arithmetic& arithmetic);  ///< all rows, from the whole history
};

/// Every family this build knows; generated from reference/CMakeLists.txt's ENTRIES.
const std::vector<Architecture>& architectures();

/// nullptr when there is none of that name.
const Architecture* find_architecture(std::string_view name);

}  // namespace cachet::reference
