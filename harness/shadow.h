// The protocol's meaning as a plain state machine: what each session holds, whether a call is legal, which history each
// returned row continues. Laws read it, the generator and shrinker keep traces valid with it. It never computes a logit.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/backend.h"

namespace cachet {

/// One open session as a correct backend would hold it.
struct ShadowSession {
  int capacity = 0;
  Rows history;               ///< (rows) everything fed or emitted
  std::vector<int> pending;   ///< (rows) 1 where the last token of the history is emitted but not yet in the cache
  bool pending_known = true;  ///< false after generate where `last_token_cached` is not declared
  bool torn = false;          ///< a step failed on it or a bad call was answered: nothing is judged until reset or close
  bool doubtful = false;      ///< torn, and not even known to be open
  bool moved = false;         ///< positions are no longer 0, 1, 2 ... (remove, shift): its rows are not the reference's
  int pads = 0;               ///< slots a row may have lost to pads, at most

  int rows() const { return static_cast<int>(history.size()); }
  /// Tokens of a row that are in the cache.
  int committed(int row) const { return static_cast<int>(history[row].size()) - pending[row]; }
  int longest() const;  ///< longest history over the rows
  bool operator==(const ShadowSession&) const = default;
};

/// What the contract demands of a call.
enum class Demand {
  kAnswer,     ///< legal and within the declarations: must be answered
  kRefuse,     ///< bad: must be refused, by an error, not a crash or an answer
  kUndefined,  ///< declared undefined, or its legality is not known: nothing is judged
};
struct Expectation {
  Demand demand = Demand::kAnswer;
  std::string
      fault;  ///< for kRefuse and kUndefined: a stable word, "past_capacity", "empty_append", "token_outside_vocabulary",
              ///< "past_context", "crop_beyond", "crop_negative", "unknown_session", "session_open", "wrong_rows", "bad_open",
              ///< "bad_count", "nothing_to_continue", "unknown_blob", "unknown_mark", "bad_rows", "bad_range",
              ///< "undeclared" (a capability or limit), "malformed" (raw); kUndefined has further words of its own
  bool operator==(const Expectation&) const = default;
};

class Shadow {
 public:
  Shadow(ModelSpec spec, Configuration configuration);

  /// Is this call legal now?
  Expectation expect(const Step& step) const;

  /// Follows what was reported: an ok step changes the state as the protocol says (generated tokens are taken from the
  /// report), a refused one changes nothing, a failed one tears its session.
  void apply(const Step& step, const Report& report);

  /// Follows a step that a correct backend would answer, with `emitted` as the tokens of generate.
  void assume(const Step& step, const Rows& emitted = {});

  const ShadowSession* find(const std::string& session) const;
  const std::map<std::string, ShadowSession>& sessions() const { return sessions_; }
  const ModelSpec& spec() const { return spec_; }
  const Configuration& configuration() const { return configuration_; }

 private:
  friend class ShadowRules;

  void commit(const Step& step, const Rows& emitted);
  void tear(const Step& step);
  void feed(ShadowSession& session, const Rows& tokens);

  ModelSpec spec_;
  Configuration configuration_;
  std::map<std::string, ShadowSession> sessions_;
  std::map<std::string, ShadowSession> blobs_;
  std::map<std::string, std::map<std::string, ShadowSession>> marks_;
};

/// Can a stop id end this loop before its last token?
bool may_stop_early(const Loop& loop, int vocab);

/// How many tokens a loop may emit after `filled` tokens into `slots` slots. The two differ where it is not declared whether
/// the last token takes a slot.
struct Fit {
  int least = 0;
  int most = 0;
};
Fit fit(int filled, int slots, std::optional<bool> last_token_cached);

/// The tokens that a loop's report adds to the history of each row: up to its stop token, without pads after it. nullopt when
/// the report has none or they cannot be what a loop emitted (wrong rows, ids outside the vocabulary, too many).
std::optional<Rows> emitted_rows(const Report& report, const Loop& loop, int rows, int vocab, const Declarations& declarations);

/// One executed step beside what the shadow says of it.
struct StepView {
  int index = 0;  ///< in its run
  const Step* step = nullptr;
  const Report* report = nullptr;
  Expectation expected;
  std::optional<ShadowSession> before;  ///< the named session before the step; nullopt when not open
  std::optional<ShadowSession> after;   ///< and after it (fork: the child's)
  bool judged = true;                   ///< false when the session was torn before the step

  bool ok() const { return report->status == Status::kOk; }
};

/// Walks a run beside its reports. The views point into both.
std::vector<StepView> walk(const std::vector<Step>& steps, const RunRecord& record, const ModelSpec& spec,
                           const Configuration& configuration);

/// The history that a cell of a step's logits continues: logits[row][position] is the row after `history`.
struct AskedRow {
  int row = 0;
  int position = 0;
  Tokens history;
};
/// Every cell of the step's logits that must hold a row; empty when the step returns none or the shape does not fit.
std::vector<AskedRow> asked_rows(const StepView& view);

}  // namespace cachet
