// ModelSpec and WeightRecipe as text, and the checks that a spec must pass before anything is allocated for it.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <variant>

#include "reference/architecture.h"
#include "reference/config_reader.h"

namespace cachet {

namespace {

/// Parameters of a model made from a recipe, at most: 1 GiB of doubles.
constexpr double kMostParameters = 1 << 27;

Error complaint(const std::string& message) { return Error{"", 0, message}; }

template <typename Number>
bool read_number(const std::string& text, Number& number) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  return code == std::errc() && end == text.data() + text.size() && !text.empty();
}

/// Shortest decimal that reads back as the same number.
std::string print_number(double value) {
  char buffer[32];
  const auto result = std::to_chars(buffer, buffer + sizeof buffer, value);
  return {buffer, result.ptr};
}

/// A path is one word of a line, in which # begins a comment.
std::string escape(const std::string& path) {
  static const char* digits = "0123456789abcdef";
  std::string out;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte > ' ' && byte != 0x7f && c != '#' && c != '%')
      out += c;
    else
      out += {'%', digits[byte >> 4], digits[byte & 15]};
  }
  return out;
}

std::optional<std::string> unescape(const std::string& word) {
  std::string out;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (word[i] != '%') {
      out += word[i];
      continue;
    }
    unsigned byte = 0;
    if (i + 2 >= word.size()) return std::nullopt;
    const auto [end, code] = std::from_chars(word.data() + i + 1, word.data() + i + 3, byte, 16);
    if (code != std::errc() || end != word.data() + i + 3 || byte == 0) return std::nullopt;
    out += static_cast<char>(byte);
    i += 2;
  }
  return out;
}

std::string joined(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

/// A key of the text form and the member it stands for.
struct Field {
  const char* key;
  std::variant<int ModelSpec::*, double ModelSpec::*, bool ModelSpec::*, std::string ModelSpec::*> member;
  bool always;  ///< printed also at its default, and a key of every family
};

/// In the order in which they are printed, before the weights.
const std::vector<Field>& fields() {
  static const std::vector<Field> table = {
      {"layers", &ModelSpec::layers, true},
      {"heads", &ModelSpec::heads, true},
      {"width", &ModelSpec::width, true},
      {"vocab", &ModelSpec::vocab, true},
      {"context", &ModelSpec::context, true},
      {"inner", &ModelSpec::inner, false},
      {"kv_heads", &ModelSpec::kv_heads, false},
      {"head_dim", &ModelSpec::head_dim, false},
      {"norm_epsilon", &ModelSpec::norm_epsilon, false},
      {"activation", &ModelSpec::activation, false},
      {"rope_theta", &ModelSpec::rope_theta, false},
      {"tie_word_embeddings", &ModelSpec::tie_word_embeddings, false},
  };
  return table;
}

const Field* find_field(const std::string& key) {
  for (const Field& field : fields())
    if (field.key == key) return &field;
  return nullptr;
}

bool is_at(const Field& field, const ModelSpec& spec, const ModelSpec& other) {
  return std::visit([&](auto member) { return spec.*member == other.*member; }, field.member);
}

std::string print_value(int value) { return std::to_string(value); }
std::string print_value(double value) { return print_number(value); }
std::string print_value(bool value) { return value ? "true" : "false"; }
std::string print_value(const std::string& value) { return value; }
std::string print_field(const Field& field, const ModelSpec& spec) {
  return std::visit([&](auto member) { return print_value(spec.*member); }, field.member);
}

/// What is wrong with the text of a value, empty when it was read.
std::string read_value(const std::string& text, int& value) { return read_number(text, value) ? "" : "an integer"; }
std::string read_value(const std::string& text, double& value) { return read_number(text, value) ? "" : "a number above 0"; }
std::string read_value(const std::string& text, bool& value) {
  value = text == "true";
  return value || text == "false" ? "" : "true or false";
}
std::string read_value(const std::string& text, std::string& value) {
  value = text;
  return "";
}
std::optional<Error> read_field(const Field& field, const std::string& text, ModelSpec& spec) {
  const std::string expected = std::visit([&](auto member) { return read_value(text, spec.*member); }, field.member);
  if (expected.empty()) return std::nullopt;
  return complaint(std::string(field.key) + ": bad value '" + text + "'; expected " + expected);
}

/// Parameters of all tensors; layers are alike.
double parameters_of(const reference::Architecture& architecture, ModelSpec spec) {
  const double layers = spec.layers;
  const auto with = [&](int count) {
    spec.layers = count;
    double total = 0;
    for (const auto& info : architecture.tensors(spec)) {
      double size = 1;
      for (const std::int64_t dimension : info.shape) size *= static_cast<double>(dimension);
      total += size;
    }
    return total;
  };
  const double one = with(1), two = with(2);
  return one + (layers - 1) * (two - one);
}

}  // namespace

std::string to_string(const WeightRecipe& recipe) {
  switch (recipe.kind) {
    case WeightRecipe::Kind::kPattern:
      return "pattern:" + recipe.name;
    case WeightRecipe::Kind::kSeed:
      return "seed:" + std::to_string(recipe.seed);
    case WeightRecipe::Kind::kDirectory:
      return "directory:" + escape(recipe.name);
  }
  return "";
}

Result<WeightRecipe> parse_weight_recipe(const std::string& text) {
  const auto colon = text.find(':');
  const std::string kind = text.substr(0, colon);
  const std::string rest = colon == std::string::npos ? "" : text.substr(colon + 1);
  WeightRecipe recipe;
  if (kind == "seed") {
    recipe.kind = WeightRecipe::Kind::kSeed;
    if (!read_number(rest, recipe.seed))
      return complaint("weights: bad seed '" + rest + "'; expected an integer from 0 to 2^64 - 1");
    return recipe;
  }
  if (kind == "pattern") {
    recipe.kind = WeightRecipe::Kind::kPattern;
    recipe.name = rest;
    for (const std::string& name : weight_patterns()) {
      if (name == rest) return recipe;
    }
    return complaint("weights: unknown pattern '" + rest + "'; expected " + joined(weight_patterns()));
  }
  if (kind == "directory") {
    recipe.kind = WeightRecipe::Kind::kDirectory;
    const auto path = unescape(rest);
    if (!path || path->empty())
      return complaint("weights: bad directory '" + rest + "'; expected a path, blanks and # as %20 and %23");
    recipe.name = *path;
    return recipe;
  }
  return complaint("weights: unknown recipe '" + text + "'; expected seed:N, pattern:NAME or directory:PATH");
}

ModelSpec standard_spec(const std::string& family) {
  const reference::Architecture* architecture = reference::find_architecture(family);
  return architecture ? architecture->standard : ModelSpec{};
}

std::string to_string(const ModelSpec& spec) {
  const ModelSpec standard = standard_spec(spec.family);
  std::string out = spec.family;
  const auto put = [&](const char* key, const std::string& value) { out += std::string(" ") + key + "=" + value; };
  for (const Field& field : fields())
    if (field.always || !is_at(field, spec, standard)) put(field.key, print_field(field, spec));
  put("weights", to_string(spec.weights));
  return out;
}

std::optional<Error> check_model_spec(const ModelSpec& spec) {
  const reference::Architecture* architecture = reference::find_architecture(spec.family);
  if (!architecture) {
    std::vector<std::string> names;
    for (const auto& known : reference::architectures()) names.push_back(known.name);
    return complaint("family: unknown family '" + spec.family + "'; expected " + joined(names));
  }
  const auto bad = [](const char* key, int value, int least) -> std::optional<Error> {
    if (value >= least && value <= reference::kLargestSize) return std::nullopt;
    return complaint(std::string(key) + ": bad value " + std::to_string(value) + "; expected an integer from " +
                     std::to_string(least) + " to " + std::to_string(reference::kLargestSize));
  };
  if (auto error = bad("layers", spec.layers, 1)) return error;
  if (auto error = bad("heads", spec.heads, 1)) return error;
  if (auto error = bad("width", spec.width, 1)) return error;
  if (auto error = bad("vocab", spec.vocab, 1)) return error;
  if (auto error = bad("context", spec.context, 1)) return error;
  if (auto error = bad("inner", spec.inner, 0)) return error;
  if (auto error = bad("kv_heads", spec.kv_heads, 0)) return error;
  if (auto error = bad("head_dim", spec.head_dim, 0)) return error;
  if (spec.width % spec.heads != 0) {
    return complaint("width: " + std::to_string(spec.width) + " is not a multiple of heads=" + std::to_string(spec.heads) +
                     "; expected width = heads x head size");
  }
  for (const auto& [key, value] : {std::pair("norm_epsilon", spec.norm_epsilon), std::pair("rope_theta", spec.rope_theta)}) {
    if (!std::isfinite(value) || value <= 0)
      return complaint(std::string(key) + ": bad value " + print_number(value) + "; expected a number above 0");
  }
  for (const char* key : {"kv_heads", "head_dim", "rope_theta", "tie_word_embeddings"})
    if (!architecture->choices.count(key) && !is_at(*find_field(key), spec, architecture->standard))
      return complaint(std::string(key) + ": " + spec.family + " has no such choice; expected none");
  const auto& activations = architecture->activations;
  if (std::find(activations.begin(), activations.end(), spec.activation) == activations.end())
    return complaint("activation: unknown activation '" + spec.activation + "' for " + spec.family + "; expected " +
                     joined(activations));
  if (auto error = architecture->validate(spec)) return error;
  if (spec.weights.kind == WeightRecipe::Kind::kDirectory) return std::nullopt;
  const double parameters = parameters_of(*architecture, spec);
  if (parameters > kMostParameters)
    return complaint("width: a model of about " + print_number(std::round(parameters)) +
                     " parameters is too large to be made from a recipe; expected at most " + print_number(kMostParameters));
  return std::nullopt;
}

Result<ModelSpec> parse_model_spec(const std::vector<std::string>& words) {
  if (words.empty() || words[0].empty()) return complaint("family: missing; expected 'gpt2 layers=1 heads=1 ...'");
  ModelSpec spec = standard_spec(words[0]);
  spec.family = words[0];
  std::set<std::string> seen;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const auto equals = words[i].find('=');
    if (equals == std::string::npos) return complaint(words[i] + ": not understood; expected key=value");
    const std::string key = words[i].substr(0, equals), value = words[i].substr(equals + 1);
    if (!seen.insert(key).second) return complaint(key + ": given twice; expected it once");
    if (key == "weights") {
      auto recipe = parse_weight_recipe(value);
      if (!recipe) return recipe.error();
      spec.weights = *recipe;
    } else if (const Field* field = find_field(key)) {
      if (auto error = read_field(*field, value, spec)) return *error;
    } else {
      std::vector<std::string> known;
      for (const Field& each : fields()) known.emplace_back(each.key);
      return complaint(key + ": unknown key; expected " + joined(known) + " or weights");
    }
  }
  if (auto error = check_model_spec(spec)) return *error;
  return spec;
}

}  // namespace cachet
