// The reference as a judge sees it: logits with an envelope, cached by history, and the rules for equal tokens and ties.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "reference/forward.h"

namespace cachet {

/// The class whose rounding is expected of a backend: compute, weights, KV (PROTOCOL.md, `numeric`).
struct NumericClass {
  std::string compute = "float32";
  std::string weights = "float32";
  std::string kv = "float32";

  bool operator==(const NumericClass&) const = default;
};

/// Unit roundoffs; nullopt when a part has no envelope ("quantised") or is unknown.
std::optional<reference::Rounding> rounding_of(const NumericClass& numeric);

/// One row of the reference and how far a correct backend of the class may be from it, logit by logit.
struct OracleRow {
  std::vector<double> logits;    ///< (vocab)
  std::vector<double> envelope;  ///< (vocab), absolute
  double sigma = 0;              ///< root mean square over passes and vocabulary of perturbed - exact

  int argmax() const;  ///< lowest index among the largest, as greedy decoding takes it
};

/// How a backend's row stands to the reference's.
struct RowJudgement {
  bool inside = true;  ///< every logit within its envelope
  int worst = 0;       ///< index of the logit with the largest excess over its envelope
  double error = 0;    ///< |backend - reference| there
  double ratio = 0;    ///< largest error / sigma of the row; for calibration
};
RowJudgement judge_row(const OracleRow& expected, const std::vector<double>& observed);

/// May a correct backend choose `token` after this row? True for the argmax, and for b whose margin to the argmax a is
/// at most envelope(a) + envelope(b).
enum class Choice { kSame, kTie, kDifferent };
Choice judge_choice(const OracleRow& expected, Token token);

/// Remembers forward passes by (model, history): one causal pass over the longest history serves all its prefixes.
/// Not shared between threads; results never depend on what was asked before.
class Oracle {
 public:
  /// Suite-wide constants (see .decisions/ for the derivation).
  static constexpr int kPasses = 16;
  static constexpr double kFactor = 16;

  Oracle();
  ~Oracle();
  Oracle(Oracle&&) noexcept;
  Oracle& operator=(Oracle&&) noexcept;

  /// The row after `history` (nonempty, inside vocabulary and context). The reference outlives the next kKept calls.
  const OracleRow& row(const ModelPtr& model, const Tokens& history, const NumericClass& numeric);

  /// Computes the rows of all prefixes of `history` at once, so that asking for them one by one, shortest first, costs one pass
  /// and not one for each. Changes no result.
  void prepare(const ModelPtr& model, const Tokens& history, const NumericClass& numeric);

  /// Greedy continuation of `history` by `count` tokens, stopping after a token in `stop` (included). Among the first `min_new`
  /// tokens no id of `stop` is chosen, unless every id is one: then, as an argmax over nothing but minus infinity does, id 0.
  /// Ends early where the next token would need a history longer than the model's context.
  Tokens greedy(const ModelPtr& model, const Tokens& history, int count, const Tokens& stop, int min_new = 0);

  double seconds() const { return seconds_; }  ///< spent in the reference

  /// Bytes that remembered passes take. Above kMostBytes only the kKept most recent ones stay.
  std::size_t remembered_bytes() const;

  static constexpr int kKept = 16;
  static constexpr std::size_t kMostBytes = 16u << 20;

 private:
  struct Cache;
  std::unique_ptr<Cache> cache_;
  double seconds_ = 0;
};

}  // namespace cachet
