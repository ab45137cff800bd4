// JSON text to values and back: a parser that bounds nesting and refuses repeated keys, and checked access to fields.
#include "harness/json.h"

#include <algorithm>
#include <cmath>

#include "harness/json_fields.h"
#include "harness/words.h"

namespace cachet {
namespace {

/// Builds the value while nlohmann's parser walks the text; stops at the first thing that is wrong.
class Builder final : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(value); }
  bool number_unsigned(number_unsigned_t value) override { return put(value); }
  bool number_float(number_float_t value, const string_t&) override { return put(value); }
  bool string(string_t& value) override { return put(std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return enter(Json::object()); }
  bool start_array(std::size_t) override { return enter(Json::array()); }
  bool end_object() override { return leave(); }
  bool end_array() override { return leave(); }

  bool key(string_t& value) override {
    if (open_.back()->contains(value)) {
      problem_ = "the key \"" + value.substr(0, 80) + "\" appears twice; expected each key once";
      return false;
    }
    key_ = std::move(value);
    return true;
  }

  bool parse_error(std::size_t position, const std::string& token, const nlohmann::detail::exception& error) override {
    if (error.id / 100 == 4) {
      problem_ = "a number out of range; expected one that a double holds";
    } else {
      byte_ = position;
      problem_ = "malformed JSON at byte " + std::to_string(position);
      if (!token.empty() && token.size() <= 20) problem_ += " near '" + token + "'";
      problem_ += "; expected one valid JSON text";
    }
    return false;
  }

  Json take() { return std::move(root_); }
  const std::string& problem() const { return problem_; }
  std::size_t byte() const { return byte_; }  ///< where the text is malformed; 0 where the complaint is another

 private:
  template <typename T>
  Json* place(T&& value) {
    if (open_.empty()) {
      root_ = std::forward<T>(value);
      return &root_;
    }
    if (open_.back()->is_array()) return &open_.back()->emplace_back(std::forward<T>(value));
    return &((*open_.back())[key_] = std::forward<T>(value));
  }

  template <typename T>
  bool put(T&& value) {
    place(std::forward<T>(value));
    return true;
  }

  bool enter(Json container) {
    if (open_.size() == static_cast<std::size_t>(kMaxJsonDepth)) {
      problem_ = "JSON nested deeper than " + std::to_string(kMaxJsonDepth) + " levels; expected at most that";
      return false;
    }
    open_.push_back(place(std::move(container)));
    return true;
  }

  bool leave() {
    open_.pop_back();
    return true;
  }

  Json root_;
  std::vector<Json*> open_;  // a container's address is stable while it is open: only its own children grow
  std::string key_;
  std::string problem_;
  std::size_t byte_ = 0;
};

}  // namespace

namespace {

/// `byte` becomes where the text is malformed, counted from 1.
Result<Json> parse(std::string_view text, std::size_t& byte) {
  // nlohmann takes a NUL for the end of the text.
  if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos) {
    byte = nul + 1;
    return Error{"", 0, "a NUL byte at byte " + std::to_string(nul + 1) + "; expected JSON text"};
  }
  Builder builder;
  if (Json::sax_parse(text.begin(), text.end(), &builder)) return builder.take();
  byte = builder.byte();
  return Error{"", 0, builder.problem()};
}

}  // namespace

Result<Json> parse_json(std::string_view text) {
  std::size_t ignored = 0;
  return parse(text, ignored);
}

Result<Json> parse_object(std::string_view text, const std::string& file) {
  std::size_t byte = 0;
  Result<Json> value = parse(text, byte);
  if (!value) {
    const std::string_view before = text.substr(0, std::min(byte, text.size()));
    const int line = byte == 0 ? 0 : 1 + static_cast<int>(std::count(before.begin(), before.end(), '\n'));
    return Error{file, line, "not JSON that can be read: " + printable(value.error().message)};
  }
  if (!value->is_object()) return Error{file, 0, "not a JSON object; expected one"};
  return value;
}

std::string dump(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

namespace json {

bool Flaw::within(const std::string& key) {
  path = path.empty() || path.front() == '[' ? key + path : key + "." + path;
  return false;
}

bool Flaw::within(std::size_t index) {
  const std::string place = "[" + std::to_string(index) + "]";
  path = path.empty() || path.front() == '[' ? place + path : place + "." + path;
  return false;
}

std::string to_string(const Flaw& flaw) { return flaw.path.empty() ? flaw.what : flaw.path + ": " + flaw.what; }

bool mismatch(const Json& value, const std::string& expected, Flaw& flaw) {
  flaw.what = "is " + sketch(value) + "; expected " + expected;
  return false;
}

std::string sketch(const Json& value) {
  if (value.is_array()) return "a list of " + std::to_string(value.size());
  if (value.is_object()) return "an object";
  const std::string text = dump(value);
  return text.size() <= 40 ? text : "a text of " + std::to_string(text.size() - 2) + " bytes";
}

bool within_depth(const Json& value, int levels) {
  if (!value.is_structured()) return true;
  if (levels == 0) return false;
  for (const Json& item : value)
    if (!within_depth(item, levels - 1)) return false;
  return true;
}

bool read(const Json& value, bool& out, Flaw& flaw) {
  if (!value.is_boolean()) return mismatch(value, "true or false", flaw);
  out = value.get<bool>();
  return true;
}

bool read(const Json& value, std::int64_t& out, Flaw& flaw) {
  if (!value.is_number_integer()) return mismatch(value, "an integer", flaw);
  if (value.is_number_unsigned() &&
      value.get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    return mismatch(value, "an integer of 64 bits", flaw);
  out = value.get<std::int64_t>();
  return true;
}

bool read(const Json& value, int& out, Flaw& flaw) {
  std::int64_t wide = 0;
  if (!read(value, wide, flaw)) return false;
  if (wide < std::numeric_limits<int>::min() || wide > std::numeric_limits<int>::max())
    return mismatch(value, "an integer of 32 bits", flaw);
  out = static_cast<int>(wide);
  return true;
}

bool read(const Json& value, double& out, Flaw& flaw) {
  if (value.is_number()) {
    out = value.get<double>();
    return true;
  }
  if (value == "NaN") return out = std::numeric_limits<double>::quiet_NaN(), true;
  if (value == "Infinity") return out = std::numeric_limits<double>::infinity(), true;
  if (value == "-Infinity") return out = -std::numeric_limits<double>::infinity(), true;
  return mismatch(value, "a number, \"NaN\", \"Infinity\" or \"-Infinity\"", flaw);
}

bool read(const Json& value, std::string& out, Flaw& flaw) {
  if (!value.is_string()) return mismatch(value, "a text", flaw);
  out = value.get_ref<const std::string&>();
  return true;
}

Json real(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return value;
}

}  // namespace json
}  // namespace cachet
