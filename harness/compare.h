// Comparing two runs of one backend step by step: what every metamorphic law does after it has chosen its twin; and judging one
// step by the reference. Whatever shape an answer has, the result is a verdict.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/property.h"

namespace cachet {

/// How twin steps correspond: index in the main run, index in the twin. A step may have several partners.
using Pairing = std::vector<std::pair<int, int>>;

struct Comparison {
  Pairing pairs;
  std::string relation;  ///< of `bitwise`: rows compare bit for bit where the backend declares it; else within the envelope
  bool lengths = true;   ///< lengths must agree too (values; types are another law's matter)
  /// The twin has one row of each session and one-shot call: this one, modulo their rows. nullopt: it has all rows.
  std::optional<int> row = std::nullopt;
};

/// Statuses, tokens, rows and lengths of paired steps agree: rows within the sum of both envelopes (or `drift`, or bit for
/// bit where declared), tokens equal up to ties, as many as both loops were asked for. Rows are compared where they continue one
/// history, lengths where both sessions hold one. After a tie the comparison of that session ends (Tie). Vacuous when no pair has
/// anything to compare but statuses. Kinds: "status", "tokens", "token_count", "stop_reason", "logits", "logits_shape",
/// "length_value".
Verdict compare_runs(Lab& lab, const Observed& main, const Observed& twin, const Comparison& comparison);

/// A Fail at a step of the main run.
Verdict fail_at(const StepView& view, const std::string& kind, const std::string& expected, const std::string& observed,
                const std::string& detail = "");

/// The backend's answer to one asked row, judged by the reference. nullopt when it is inside the envelope.
/// Kinds: "logits", "logits_shape" (another vocabulary), "logits_absent", "not_finite".
std::optional<Verdict> judge_against_reference(Lab& lab, const StepView& view, const AskedRow& asked);

/// The tokens of generate or complete judged one by one against the reference under the backend's own history.
/// Kinds: "tokens", "token_count", "tokens_shape", "stop_reason". Vacuous where they are not observed or not greedy.
Verdict judge_tokens(Lab& lab, const StepView& view);

/// The end of generate or complete judged by the backend's own tokens, which needs no reference: nothing but pads after a stop
/// id, as many tokens as were asked for without one, the reason, no stop id before `min_new`.
/// Kinds: "token_count", "tokens_shape", "stop_reason", "stop_before_min_new". Vacuous as for judge_tokens.
Verdict judge_ending(Lab& lab, const StepView& view);

/// The reference's row after a history; nullptr where it cannot say (no numeric class, ids or positions outside the model).
const OracleRow* reference_row(Lab& lab, const Tokens& history);

/// What a loop chooses from after `emitted` tokens: stop ids are suppressed before min_new.
OracleRow suppressed(OracleRow row, const Loop& loop, int emitted);

/// A length of one of `rows` rows as a number, whatever its type; nullopt when it is none.
std::optional<double> length_of_row(const LengthReport& report, int row, int rows);

/// The most severe of what was seen so far: the first Fail, else a Tie, else a Pass, else Vacuous for `reason`.
class Gathered {
 public:
  /// True when `verdict` is a failure: the law may stop there.
  bool add(Verdict verdict);
  void checked() { passes_ = true; }
  Verdict verdict(const std::string& reason) const;

 private:
  std::optional<Verdict> failure_, tie_;
  bool passes_ = false;
  std::string reason_;
};

}  // namespace cachet
