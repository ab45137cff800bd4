// ModelSpec and WeightRecipe as text, and the checks that a spec must pass before anything is allocated for it.
#include <charconv>
#include <cmath>
#include <set>

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

std::string to_string(const ModelSpec& spec) {
  const ModelSpec standard;
  std::string out = spec.family;
  const auto put = [&](const char* key, const std::string& value) { out += std::string(" ") + key + "=" + value; };
  put("layers", std::to_string(spec.layers));
  put("heads", std::to_string(spec.heads));
  put("width", std::to_string(spec.width));
  put("vocab", std::to_string(spec.vocab));
  put("context", std::to_string(spec.context));
  if (spec.inner != standard.inner) put("inner", std::to_string(spec.inner));
  if (spec.norm_epsilon != standard.norm_epsilon) put("norm_epsilon", print_number(spec.norm_epsilon));
  if (spec.activation != standard.activation) put("activation", spec.activation);
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
  if (spec.width % spec.heads != 0) {
    return complaint("width: " + std::to_string(spec.width) + " is not a multiple of heads=" + std::to_string(spec.heads) +
                     "; expected width = heads x head size");
  }
  if (!std::isfinite(spec.norm_epsilon) || spec.norm_epsilon <= 0) {
    return complaint("norm_epsilon: bad value " + print_number(spec.norm_epsilon) + "; expected a number above 0");
  }
  if (auto error = architecture->validate(spec)) return error;
  if (spec.weights.kind == WeightRecipe::Kind::kDirectory) return std::nullopt;
  const double width = spec.width, inner = spec.inner > 0 ? spec.inner : 4 * width;
  const double parameters = (double{1} * spec.vocab + spec.context) * width + spec.layers * width * (4 * width + 2 * inner);
  if (parameters > kMostParameters)
    return complaint("width: a model of about " + print_number(parameters) +
                     " parameters is too large to be made from a recipe; expected at most " + print_number(kMostParameters));
  return std::nullopt;
}

Result<ModelSpec> parse_model_spec(const std::vector<std::string>& words) {
  if (words.empty() || words[0].empty()) return complaint("family: missing; expected 'gpt2 layers=1 heads=1 ...'");
  ModelSpec spec;
  spec.family = words[0];
  std::set<std::string> seen;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const auto equals = words[i].find('=');
    if (equals == std::string::npos) return complaint(words[i] + ": not understood; expected key=value");
    const std::string key = words[i].substr(0, equals), value = words[i].substr(equals + 1);
    if (!seen.insert(key).second) return complaint(key + ": given twice; expected it once");
    int* size = key == "layers"    ? &spec.layers
                : key == "heads"   ? &spec.heads
                : key == "width"   ? &spec.width
                : key == "vocab"   ? &spec.vocab
                : key == "context" ? &spec.context
                : key == "inner"   ? &spec.inner
                                   : nullptr;
    if (size) {
      if (!read_number(value, *size)) return complaint(key + ": bad value '" + value + "'; expected an integer");
    } else if (key == "norm_epsilon") {
      if (!read_number(value, spec.norm_epsilon))
        return complaint(key + ": bad value '" + value + "'; expected a number above 0");
    } else if (key == "activation") {
      spec.activation = value;
    } else if (key == "weights") {
      auto recipe = parse_weight_recipe(value);
      if (!recipe) return recipe.error();
      spec.weights = *recipe;
    } else {
      return complaint(
          key + ": unknown key; expected layers, heads, width, vocab, context, inner, norm_epsilon, activation or weights");
    }
  }
  if (auto error = check_model_spec(spec)) return *error;
  return spec;
}

}  // namespace cachet
