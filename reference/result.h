// A value or an error with its place: how every layer reports bad input, since no exception crosses a layer.
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace cachet {

/// What is wrong, where, and what was expected instead.
struct Error {
  std::string file;     ///< file or flag the input came from; empty when it came from nowhere a user can open
  int line = 0;         ///< counted from 1; 0 when the place is the whole file
  std::string message;  ///< "what is wrong; expected what"

  bool operator==(const Error&) const = default;
};

/// "file:line: message", leaving out what is not known.
inline std::string to_string(const Error& error) {
  std::string place = error.file;
  if (error.line > 0) place += (place.empty() ? "line " : ":") + std::to_string(error.line);
  return place.empty() ? error.message : place + ": " + error.message;
}

/// A T, or the Error that explains its absence.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}      // NOLINT(google-explicit-constructor): a value is a result
  Result(Error error) : state_(std::move(error)) {}  // NOLINT(google-explicit-constructor): an error is a result

  explicit operator bool() const { return state_.index() == 0; }
  T& operator*() { return std::get<0>(state_); }
  const T& operator*() const { return std::get<0>(state_); }
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }
  const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

}  // namespace cachet
