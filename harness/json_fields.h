// Checked access to JSON values, shared by the decoders: every read says what it expected and where, and none throws.
#pragma once

#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/json.h"

namespace cachet::json {

/// The first thing found wrong: `path` from the value that was being read, "calls[2].shape", and what it is.
struct Flaw {
  std::string path;
  std::string what;  ///< "is 2.5; expected an integer"

  /// Says where within its container the flaw lies. Always false, so that readers can return it.
  bool within(const std::string& key);
  bool within(std::size_t index);
};
std::string to_string(const Flaw& flaw);

/// Notes that `value` is not what was expected. Always false.
bool mismatch(const Json& value, const std::string& expected, Flaw& flaw);

/// A value in a few words: "2.5", "\"abc\"", "a list of 3".
std::string sketch(const Json& value);

/// No list or object lies deeper than `levels`.
bool within_depth(const Json& value, int levels);

bool read(const Json& value, bool& out, Flaw& flaw);
bool read(const Json& value, int& out, Flaw& flaw);
bool read(const Json& value, std::int64_t& out, Flaw& flaw);
/// A number, or "NaN", "Infinity", "-Infinity".
bool read(const Json& value, double& out, Flaw& flaw);
bool read(const Json& value, std::string& out, Flaw& flaw);

template <typename T>
bool read(const Json& value, std::optional<T>& out, Flaw& flaw) {
  return read(value, out.emplace(), flaw);
}

template <typename T>
bool read(const Json& value, std::vector<T>& out, Flaw& flaw) {
  if (!value.is_array()) return mismatch(value, "a list", flaw);
  out.clear();
  out.reserve(value.size());
  for (const Json& item : value)
    if (!read(item, out.emplace_back(), flaw)) return flaw.within(out.size() - 1);
  return true;
}

template <typename T>
bool read(const Json& value, std::map<std::string, T>& out, Flaw& flaw) {
  if (!value.is_object()) return mismatch(value, "an object", flaw);
  for (const auto& item : value.items())
    if (!read(item.value(), out[item.key()], flaw)) return flaw.within(item.key());
  return true;
}

/// A field that must be there.
template <typename T>
bool need(const Json& object, const char* key, T& out, Flaw& flaw) {
  const auto found = object.find(key);
  if (found == object.end()) {
    flaw.what = "is missing";
    return flaw.within(std::string(key));
  }
  return read(*found, out, flaw) || flaw.within(std::string(key));
}

/// A field that may be absent; `out` keeps its value then.
template <typename T>
bool may(const Json& object, const char* key, T& out, Flaw& flaw) {
  const auto found = object.find(key);
  return found == object.end() || read(*found, out, flaw) || flaw.within(std::string(key));
}

/// The protocol's way to write any double: a number, or a word for those that JSON lacks.
Json real(double value);

}  // namespace cachet::json
