// How a case was judged: a closed sum, never a bool, so that "false", "never reached", "cannot say" and "we broke" never share
// a value.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace cachet {

/// Where and how two things that should agree do not.
struct Divergence {
  std::string kind;  ///< a stable word: "empty_slice", "length_type", "logits", "tokens" ...
  std::string op;    ///< op of the step it showed at
  int run = 0;       ///< run of the judged trace, from 0
  int step = 0;      ///< step within that run, from 0
  std::string expected;
  std::string observed;
  std::string detail;  ///< tolerance and its derivation, margins, which row and position
  std::string twin;    ///< for metamorphic laws: the other trace, in text form

  bool operator==(const Divergence&) const = default;
};

struct Pass {
  bool operator==(const Pass&) const = default;
};
struct Fail {
  Divergence divergence;
  bool operator==(const Fail&) const = default;
};
struct Tie {
  std::string where;
  bool operator==(const Tie&) const = default;
};  ///< passes, counted
struct Vacuous {
  std::string reason;
  bool operator==(const Vacuous&) const = default;
};  ///< the law was not exercised
struct Unsupported {
  std::string reason;
  bool operator==(const Unsupported&) const = default;
};
struct Overclaim {
  Divergence divergence;
  bool operator==(const Overclaim&) const = default;
};  ///< declared, but refuses everything
struct Nondeterministic {
  std::string varied;
  bool operator==(const Nondeterministic&) const = default;
};
struct Crash {
  Divergence divergence;
  bool operator==(const Crash&) const = default;
};
struct Timeout {
  Divergence divergence;
  bool operator==(const Timeout&) const = default;
};
struct HarnessError {
  std::string message;
  bool operator==(const HarnessError&) const = default;
};  ///< ours, never the backend's
struct Waived {
  std::string reason;
  bool operator==(const Waived&) const = default;
};
struct UnexpectedPass {
  std::string reason;
  bool operator==(const UnexpectedPass&) const = default;
};

using Verdict = std::variant<Pass, Fail, Tie, Vacuous, Unsupported, Overclaim, Nondeterministic, Crash, Timeout, HarnessError,
                             Waived, UnexpectedPass>;

/// "pass", "fail", "tie", "vacuous", "unsupported", "overclaim", "nondeterministic", "crash", "timeout", "harness_error",
/// "waived", "unexpected_pass".
const char* verdict_name(const Verdict& verdict);

/// Counts against the backend: exit code 1.
bool is_failure(const Verdict& verdict);

/// The divergence of a Fail, Overclaim, Crash or Timeout; nullptr otherwise.
const Divergence* divergence_of(const Verdict& verdict);

/// What makes two failures the same bug as far as a harness can tell.
struct Signature {
  std::string law;
  std::string kind;
  std::string op;

  auto operator<=>(const Signature&) const = default;
};
std::string to_string(const Signature& signature);
/// Of a failing verdict under `law`.
Signature signature_of(const std::string& law, const Verdict& verdict);

}  // namespace cachet
