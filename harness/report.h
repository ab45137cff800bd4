// What a backend says about one step, exactly as it said it. What it cannot tell is absent, never a default.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "harness/step.h"

namespace cachet {

/// A length as the engine's own call gave it, with its type.
struct IntegerValue {
  std::int64_t value;
  bool operator==(const IntegerValue&) const = default;
};
struct RealValue {
  double value;
  bool operator==(const RealValue&) const = default;
};
struct ArrayValue {
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::vector<double> value;
  std::string device;
  bool operator==(const ArrayValue&) const = default;
};
struct TextValue {
  std::string value;
  bool operator==(const TextValue&) const = default;
};
struct NoneValue {
  bool operator==(const NoneValue&) const = default;
};
using Value = std::variant<IntegerValue, RealValue, ArrayValue, TextValue, NoneValue>;

/// "3", "3.0 (real)", "[3] (int64 array of shape [1] on cpu)" ...
std::string to_string(const Value& value);

/// One Value for all rows, or one a row.
struct LengthReport {
  bool per_row = false;
  std::vector<Value> values;           ///< exactly one when per_row is false
  const Value* of_row(int row) const;  ///< nullptr when a per-row list is too short
  bool operator==(const LengthReport&) const = default;
};

/// (rows, n, vocab), row-major; absent cells are NaN where `absent` says so, a NaN elsewhere is the engine's.
struct LogitsArray {
  int rows = 0;
  int n = 0;
  int vocab = 0;
  std::vector<double> data;
  std::vector<bool> absent;  ///< (rows * n * vocab) or empty when nothing is absent

  /// The logits of one cell as a row of (vocab).
  std::vector<double> at(int row, int position) const;
  bool is_absent(int row, int position) const;
};

enum class Status { kOk, kRefused, kFailed };

/// One call of the model within a step.
struct ModelCall {
  Rows tokens;  ///< real ids fed, without pads
  std::optional<std::vector<std::vector<std::int64_t>>> positions;
  std::vector<std::int64_t> shape;  ///< the padded shape
};

struct Compilation {
  std::string what;  ///< "prefill", "decode" or text
  std::string signature;
  bool operator==(const Compilation&) const = default;
};

struct Report {
  int index = 0;  ///< number of the step in its run, from 0
  Status status = Status::kOk;
  std::string kind;  ///< refused: invalid, unsupported, capacity, dead; failed: the exception's type
  std::string message;
  std::optional<bool> state_unchanged;  ///< information only
  std::optional<LogitsArray> logits;
  std::optional<LengthReport> lengths;
  std::optional<std::vector<LengthReport>> layer_lengths;  ///< over layers
  std::optional<Rows> tokens;                              ///< of generate and complete: new tokens a row
  std::optional<std::vector<std::string>> stopped;         ///< a row: "stop", "length", "capacity"
  std::optional<std::vector<std::vector<double>>> scores;  ///< of beams
  std::optional<std::vector<ModelCall>> calls;
  std::optional<std::vector<Compilation>> compilations;
  std::optional<std::vector<std::int64_t>> cached;  ///< tokens of the prompt that were reused, a row
  std::optional<std::vector<std::int64_t>> changed;
  std::optional<double> seconds;  ///< in the engine
};

}  // namespace cachet
