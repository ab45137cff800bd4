// Steps as the protocol's JSON, both ways (PROTOCOL.md, Steps).
#include <set>

#include "harness/json_fields.h"
#include "harness/step_fields.h"

namespace cachet {
namespace {

class Writer {
 public:
  explicit Writer(Json& out) : out_(out) {}
  void word(const char* name, const std::string& value) { out_[name] = value; }
  void rows(const char* name, const Rows& value) { out_[name] = value; }
  void rows(const char* name, const std::optional<Rows>& value) {
    if (value) out_[name] = *value;
  }
  void numbers(const char* name, const std::vector<int>& value) { out_[name] = value; }
  void place(const char* name, int value) { out_[name] = value; }
  void place(const char* name, const std::optional<int>& value) {
    if (value) out_[name] = *value;
  }
  void integer(const char* name, int value, int /*least*/) { out_[name] = value; }
  void any_integer(const char* name, int value) { out_[name] = value; }
  void maybe_integer(const char* name, const std::optional<int>& value, int /*least*/) {
    if (value) out_[name] = *value;
  }
  void integer_or_zero(const char* name, int value) {
    if (value != 0) out_[name] = value;
  }
  void ids(const char* name, const std::optional<Tokens>& value) {
    if (value) out_[name] = *value;
  }
  void pads(const char* name, const std::vector<int>& value, const Rows&) {
    if (!value.empty()) out_[name] = value;
  }
  void want(const char* name, Want value) {
    if (value == Want::kAll) out_[name] = "all";
  }
  void keep(const char* name, bool value) {
    if (!value) out_[name] = false;
  }
  void json(const char* name, const std::map<std::string, std::string>& extras, JsonKind) {
    const auto found = extras.find(name);
    if (found == extras.end()) return;
    Result<Json> value = parse_json(found->second);
    out_[name] = value ? std::move(*value) : Json(found->second);  // what is no JSON stays visible as text
  }

 private:
  Json& out_;
};

class Reader {
 public:
  explicit Reader(const Json& object) : object_(object) {}

  void word(const char* name, std::string& out) { required(name, out); }
  void rows(const char* name, Rows& out) { required(name, out); }
  void rows(const char* name, std::optional<Rows>& out) { optional(name, out); }
  void numbers(const char* name, std::vector<int>& out) { required(name, out); }
  void place(const char* name, int& out) { required(name, out); }
  void place(const char* name, std::optional<int>& out) { optional(name, out); }
  void any_integer(const char* name, int& out) { required(name, out); }
  void integer(const char* name, int& out, int least) {
    if (required(name, out)) check_least(name, out, least);
  }
  void maybe_integer(const char* name, std::optional<int>& out, int least) {
    if (optional(name, out) && out) check_least(name, *out, least);
  }
  void integer_or_zero(const char* name, int& out) {
    if (optional(name, out)) check_least(name, out, 0);
  }
  void ids(const char* name, std::optional<Tokens>& out) { optional(name, out); }
  void pads(const char* name, std::vector<int>& out, const Rows& tokens) {
    if (!optional(name, out) || !object_.contains(name)) return;
    if (out.empty() || out.size() != tokens.size()) fail(name, "one pad count a row of tokens");
    for (const int pad : out) check_least(name, pad, 0);
  }
  void want(const char* name, Want& out) {
    std::string word = "last";
    if (!optional(name, word)) return;
    if (word != "last" && word != "all") return fail(name, "\"last\" or \"all\"");
    out = word == "all" ? Want::kAll : Want::kLast;
  }
  void keep(const char* name, bool& out) { optional(name, out); }
  void json(const char* name, std::map<std::string, std::string>& extras, JsonKind kind) {
    known_.insert(name);
    const auto found = object_.find(name);
    if (broken_ || found == object_.end()) return;
    if (!json::within_depth(*found, kMaxJsonDepth)) return fail(name, "less nesting");
    bool fits = kind == JsonKind::kObject ? found->is_object() : found->is_array();
    if (kind == JsonKind::kListOfObjects)
      for (const Json& item : *found) fits = fits && item.is_object();
    if (!fits) return fail(name, kind == JsonKind::kObject ? "an object" : "a list of objects");
    extras[name] = dump(*found);
  }

  /// What is wrong with the object, after all fields were visited.
  std::optional<Error> verdict() const {
    for (const auto& item : object_.items())
      if (item.key() != "op" && known_.count(item.key()) == 0)
        return Error{"unsupported", 0, "unknown field \"" + item.key() + "\""};
    if (broken_) return Error{"invalid", 0, to_string(flaw_)};
    return std::nullopt;
  }

 private:
  template <typename T>
  bool required(const char* name, T& out) {
    known_.insert(name);
    if (!broken_ && !json::need(object_, name, out, flaw_)) broken_ = true;
    return !broken_;
  }
  template <typename T>
  bool optional(const char* name, T& out) {
    known_.insert(name);
    if (!broken_ && !json::may(object_, name, out, flaw_)) broken_ = true;
    return !broken_;
  }
  void fail(const char* name, const std::string& expected) {
    if (broken_) return;
    broken_ = true;
    json::mismatch(object_.at(name), expected, flaw_);
    flaw_.within(std::string(name));
  }
  void check_least(const char* name, int value, int least) {
    if (value < least) fail(name, "at least " + std::to_string(least));
  }

  const Json& object_;
  std::set<std::string> known_;
  json::Flaw flaw_;
  bool broken_ = false;
};

}  // namespace

Json step_to_json(const Step& step) {
  if (const auto* raw = std::get_if<Raw>(&step)) {
    Result<Json> value = parse_json(raw->json);
    return value ? std::move(*value) : Json(raw->json);
  }
  Json out = Json::object();
  out["op"] = op_name(step);
  Writer writer(out);
  std::visit([&](const auto& s) { each_field(s, writer); }, step);
  return out;
}

Result<Step> step_from_json(const Json& object) {
  if (!object.is_object()) return Error{"invalid", 0, "a step is " + json::sketch(object) + "; expected an object"};
  std::string op;
  json::Flaw flaw;
  if (!json::need(object, "op", op, flaw)) return Error{"invalid", 0, to_string(flaw)};
  std::optional<Step> step = blank_step(op);
  if (!step) return Error{"unsupported", 0, "unknown op " + json::sketch(object.at("op"))};
  Reader reader(object);
  std::visit([&](auto& s) { each_field(s, reader); }, *step);
  if (std::optional<Error> error = reader.verdict()) {
    error->message = op + ": " + error->message;
    return *error;
  }
  return *step;
}

}  // namespace cachet
