// What a backend says of itself as the protocol's JSON, both ways. Declarations, capabilities and their values are closed
// sets: a misspelt declaration would silently not be judged.
#include <algorithm>

#include "harness/json_fields.h"

namespace cachet {
namespace {

using json::Flaw;
using Words = std::vector<std::string>;

constexpr int kProtocol = 1;

const Words kCapabilities = {"append",  "complete",     "generate",      "all_rows",       "batch",      "crop",    "remove",
                             "shift",   "fork",         "reorder",       "save",           "snapshot",   "release", "recompile",
                             "restart", "peek",         "sampling",      "sampling_noise", "processors", "beams",   "draft",
                             "calls",   "compilations", "layer_lengths", "outputs",        "poison"};
const Words kClasses = {"exact", "float64", "float32", "float16", "bfloat16", "quantised"};
const Words kRelations = {"repeat", "process", "reset", "fork", "restore", "batch", "chunk"};

bool one_of(const std::string& word, const Words& words) { return std::find(words.begin(), words.end(), word) != words.end(); }

bool must_be_one_of(const std::string& word, const Words& words, Flaw& flaw) {
  if (one_of(word, words)) return true;
  std::string expected;
  for (const std::string& w : words) expected += (expected.empty() ? "" : ", ") + w;
  return json::mismatch(Json(word), "one of " + expected, flaw);
}

/// Shows `v` every declaration with its name; reader and writer are the two visitors.
template <typename D, typename V>
void each_declaration(D& d, V& v) {
  v.field("numeric", d.numeric);
  v.field("undefined_calls", d.undefined_calls);
  v.choice("reuse", d.reuse, {"library", "caller"});
  v.choice("context", d.context, {"refuse", "extrapolate", "undefined"});
  v.choice("length_counts", d.length_counts, {"tokens", "positions"});
  v.field("drift", d.drift);
  v.choices("bitwise", d.bitwise, kRelations);
  v.field("architectures", d.architectures);
  v.field("max_rows", d.max_rows);
  v.field("max_capacity", d.max_capacity);
  v.field("append_min", d.append_min);
  v.field("append_max", d.append_max);
  v.field("append_buckets", d.append_buckets);
  v.field("capacity_buckets", d.capacity_buckets);
  v.field("row_buckets", d.row_buckets);
  v.field("block", d.block);
  v.field("ring", d.ring);
  v.choice("pad_side", d.pad_side, {"left", "right", "ragged"});
  v.choice("mask_source", d.mask_source, {"lengths", "token_ids"});
  v.field("pad_token", d.pad_token);
  v.field("pads_use_capacity", d.pads_use_capacity);
  v.field("idle_rows", d.idle_rows);
  v.field("rotated_keys_stay", d.rotated_keys_stay);
  v.field("last_token_cached", d.last_token_cached);
  v.field("pads_after_stop", d.pads_after_stop);
  v.choice("overflow", d.overflow, {"refuse", "stop", "slide"});
  v.field("window_counts_current", d.window_counts_current);
  v.field("compile_budget", d.compile_budget);
  v.field("load_cost_s", d.load_cost_s);
  v.field("step_cost_s", d.step_cost_s);
}

class Writer {
 public:
  explicit Writer(Json& out) : out_(out) {}

  template <typename T>
  void field(const char* name, const std::optional<T>& value) {
    if (value) out_[name] = *value;
  }
  void field(const char* name, const std::optional<double>& value) {
    if (value) out_[name] = json::real(*value);
  }
  void field(const char* name, const std::optional<NumericClass>& value) {
    if (!value) return;
    if (value->compute == value->weights && value->compute == value->kv) {
      out_[name] = value->compute;
    } else {
      out_[name] = {{"compute", value->compute}, {"weights", value->weights}, {"kv", value->kv}};
    }
  }
  template <typename T>
  void field(const char* name, const std::vector<T>& value) {
    if (!value.empty()) out_[name] = value;
  }
  void field(const char* name, const std::map<std::string, int>& value) {
    if (!value.empty()) out_[name] = value;
  }
  void field(const char* name, bool value) {
    if (value) out_[name] = true;
  }
  void choice(const char* name, const std::optional<std::string>& value, const Words&) { field(name, value); }
  void choices(const char* name, const Words& value, const Words&) { field(name, value); }

 private:
  Json& out_;
};

bool read_numeric(const Json& value, NumericClass& out, Flaw& flaw) {
  if (value.is_string()) {
    out.compute = out.weights = out.kv = value.get<std::string>();
  } else if (!value.is_object()) {
    return json::mismatch(value, "a numeric class or an object of compute, weights and kv", flaw);
  } else if (!json::need(value, "compute", out.compute, flaw) || !json::need(value, "weights", out.weights, flaw) ||
             !json::need(value, "kv", out.kv, flaw)) {
    return false;
  }
  for (const std::string& part : {out.compute, out.weights, out.kv})
    if (!must_be_one_of(part, kClasses, flaw)) return false;
  return out.compute != "quantised" || json::mismatch(Json(out.compute), "a compute class that is not quantised", flaw);
}

class Reader {
 public:
  Reader(const Json& object, Flaw& flaw) : object_(object), flaw_(flaw) {}

  template <typename T>
  void field(const char* name, T& out) {
    known_.push_back(name);
    ok_ = ok_ && json::may(object_, name, out, flaw_);
  }
  void field(const char* name, std::optional<NumericClass>& out) {
    known_.push_back(name);
    const auto found = object_.find(name);
    if (!ok_ || found == object_.end()) return;
    ok_ = read_numeric(*found, out.emplace(), flaw_) || flaw_.within(std::string(name));
  }
  void choice(const char* name, std::optional<std::string>& out, const Words& words) {
    field(name, out);
    if (ok_ && out) ok_ = must_be_one_of(*out, words, flaw_) || flaw_.within(std::string(name));
  }
  void choices(const char* name, Words& out, const Words& words) {
    field(name, out);
    for (const std::string& word : out)
      if (ok_) ok_ = must_be_one_of(word, words, flaw_) || flaw_.within(std::string(name));
  }

  /// All is well, and nothing unknown is declared.
  bool finish() {
    for (const auto& item : object_.items()) {
      if (!ok_) break;
      if (one_of(item.key(), known_)) continue;
      flaw_.what = "is no declaration of the protocol; expected only known ones";
      ok_ = flaw_.within(item.key());
    }
    return ok_;
  }

 private:
  const Json& object_;
  Flaw& flaw_;
  Words known_;
  bool ok_ = true;
};

bool read_configuration(const Json& value, Configuration& out, Flaw& flaw) {
  if (!value.is_object()) return json::mismatch(value, "an object", flaw);
  Words capabilities;
  if (!json::need(value, "name", out.name, flaw) || !json::need(value, "capabilities", capabilities, flaw)) return false;
  if (out.name.empty()) return json::mismatch(value["name"], "a name", flaw), flaw.within(std::string("name"));
  for (const std::string& capability : capabilities)
    if (!must_be_one_of(capability, kCapabilities, flaw)) return flaw.within(std::string("capabilities"));
  out.capabilities = {capabilities.begin(), capabilities.end()};
  if (!out.can("append") && !out.can("complete")) {
    flaw.what = "holds neither \"append\" nor \"complete\"; expected at least one of them";
    return flaw.within(std::string("capabilities"));
  }
  const auto declared = value.find("declarations");
  if (declared == value.end()) return true;
  if (!declared->is_object()) return json::mismatch(*declared, "an object", flaw), flaw.within(std::string("declarations"));
  Reader reader(*declared, flaw);
  each_declaration(out.declarations, reader);
  return reader.finish() || flaw.within(std::string("declarations"));
}

bool read_configurations(const Json& object, std::vector<Configuration>& out, Flaw& flaw) {
  const auto list = object.find("configurations");
  if (list == object.end() || !list->is_array() || list->empty()) {
    flaw.what = list == object.end() ? "is missing" : "is " + json::sketch(*list) + "; expected a list of at least one";
    return flaw.within(std::string("configurations"));
  }
  for (const Json& item : *list) {
    Configuration& configuration = out.emplace_back();
    bool ok = read_configuration(item, configuration, flaw);
    for (std::size_t i = 0; ok && i + 1 < out.size(); ++i)
      if (out[i].name == configuration.name) ok = json::mismatch(item["name"], "a name that no other configuration has", flaw);
    if (ok) continue;
    flaw.within(out.size() - 1);
    return flaw.within(std::string("configurations"));
  }
  return true;
}

bool read_description(const Json& object, Description& out, Flaw& flaw) {
  if (!object.is_object()) return json::mismatch(object, "an object", flaw);
  int protocol = 0;
  if (!json::need(object, "protocol", protocol, flaw)) return false;
  if (protocol != kProtocol) return json::mismatch(object["protocol"], "protocol 1", flaw), flaw.within(std::string("protocol"));
  std::map<std::string, Json> engine;
  if (!json::need(object, "name", out.name, flaw) || !json::need(object, "version", out.version, flaw)) return false;
  if (const auto pairs = object.find("engine"); pairs != object.end()) {
    if (!pairs->is_object()) return json::mismatch(*pairs, "an object of texts", flaw), flaw.within(std::string("engine"));
    for (const auto& item : pairs->items()) {  // free text: numbers and truth values are kept as they are written
      if (item.value().is_structured()) return json::mismatch(item.value(), "a text", flaw), flaw.within("engine." + item.key());
      out.engine[item.key()] = item.value().is_string() ? item.value().get<std::string>() : dump(item.value());
    }
  }
  return read_configurations(object, out.configurations, flaw);
}

}  // namespace

Json configuration_to_json(const Configuration& configuration) {
  Json declarations = Json::object();
  Writer writer(declarations);
  each_declaration(configuration.declarations, writer);
  return {{"name", configuration.name}, {"capabilities", configuration.capabilities}, {"declarations", std::move(declarations)}};
}

Result<Configuration> configuration_from_json(const Json& object) {
  Configuration configuration;
  Flaw flaw;
  if (!read_configuration(object, configuration, flaw)) return Error{"", 0, to_string(flaw)};
  return configuration;
}

Json description_to_json(const Description& description) {
  Json configurations = Json::array();
  for (const Configuration& configuration : description.configurations)
    configurations.push_back(configuration_to_json(configuration));
  return {{"protocol", kProtocol},
          {"name", description.name},
          {"version", description.version},
          {"engine", description.engine},
          {"configurations", std::move(configurations)}};
}

Result<Description> description_from_json(const Json& object) {
  Description description;
  Flaw flaw;
  if (!read_description(object, description, flaw)) return Error{"", 0, to_string(flaw)};
  return description;
}

Json spec_to_json(const ModelSpec& spec) {
  return {{"family", spec.family},         {"layers", spec.layers},
          {"heads", spec.heads},           {"width", spec.width},
          {"vocab", spec.vocab},           {"context", spec.context},
          {"inner", spec.inner},           {"norm_epsilon", spec.norm_epsilon},
          {"kv_heads", spec.kv_heads},     {"head_dim", spec.head_dim},
          {"rope_theta", spec.rope_theta}, {"tie_word_embeddings", spec.tie_word_embeddings},
          {"activation", spec.activation}, {"weights", to_string(spec.weights)}};
}

Result<ModelSpec> spec_from_json(const Json& object) {
  if (!object.is_object()) return Error{"", 0, "a model's spec is " + json::sketch(object) + "; expected an object"};
  std::string family;
  Flaw flaw;
  if (!json::need(object, "family", family, flaw)) return Error{"", 0, to_string(flaw)};
  Words words = {family};
  for (const auto& item : object.items()) {
    const Json& value = item.value();
    if (item.key() == "family" || (item.key() == "inner" && value == 0)) continue;
    if (value.is_structured()) return Error{"", 0, item.key() + ": is " + json::sketch(value) + "; expected a number or a text"};
    words.push_back(item.key() + "=" + (value.is_string() ? value.get<std::string>() : dump(value)));
  }
  return parse_model_spec(words);
}

}  // namespace cachet
