// Two runs side by side, and one run beside the reference. What continues another history is never compared, so that a tie,
// after which two runs legally part, needs no rule of its own in any law.
#include "harness/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "harness/step_parts.h"
#include "harness/text.h"

namespace cachet {
namespace {

std::string show(const Tokens& tokens) { return fmt::format("[{}]", fmt::join(tokens, " ")); }

bool is_stop(const Loop& loop, Token token, int emitted) {
  return emitted >= loop.min_new && loop.stop && std::find(loop.stop->begin(), loop.stop->end(), token) != loop.stop->end();
}

bool same_bits(double a, double b) { return std::memcmp(&a, &b, sizeof a) == 0; }

/// The history a loop's row starts from: what the session held and what the step hands in.
Tokens base_history(const StepView& view, int row) {
  Tokens out;
  if (view.before) out = view.before->history[static_cast<std::size_t>(row)];
  if (const Rows* given = rows_of(*view.step))
    out.insert(out.end(), (*given)[static_cast<std::size_t>(row)].begin(), (*given)[static_cast<std::size_t>(row)].end());
  return out;
}

int loop_rows(const StepView& view) {
  if (view.before) return view.before->rows();
  const Rows* given = rows_of(*view.step);
  return given == nullptr ? 0 : static_cast<int>(given->size());
}

const char* status_word(Status status) {
  return status == Status::kOk ? "ok" : status == Status::kRefused ? "refused" : "failed";
}

std::string describe(const Report& report) {
  return report.status == Status::kOk ? "ok"
                                      : fmt::format("{} ({}: {})", status_word(report.status), report.kind, report.message);
}

/// The fed slices say whether two calls did the same work: `cached` where it is told, else the calls.
bool same_work(const Report& a, const Report& b, bool complete) {
  if (a.cached.has_value() != b.cached.has_value()) return false;
  if (a.cached) return *a.cached == *b.cached;
  if (!a.calls || !b.calls) return !complete;
  return std::equal(a.calls->begin(), a.calls->end(), b.calls->begin(), b.calls->end(),
                    [](const ModelCall& x, const ModelCall& y) { return x.tokens == y.tokens && x.shape == y.shape; });
}

bool same_but_budget(Loop a, const Loop& b) {
  a.new_tokens = b.new_tokens;
  return a == b;
}

/// Walks the pairs of one comparison.
class Comparer {
 public:
  Comparer(Lab& lab, const Observed& main, const Observed& twin, const Comparison& comparison)
      : lab_(lab), main_(main), twin_(twin), comparison_(comparison) {}

  Verdict run() {
    for (const auto& [i, j] : comparison_.pairs) {
      if (i < 0 || j < 0 || i >= static_cast<int>(main_.views.size()) || j >= static_cast<int>(twin_.views.size())) continue;
      if (gathered_.add(pair(main_.views[static_cast<std::size_t>(i)], twin_.views[static_cast<std::size_t>(j)]))) break;
    }
    return gathered_.verdict("the two runs have nothing in common that is observed and comparable");
  }

 private:
  Verdict fail(const StepView& view, const std::string& kind, const std::string& expected, const std::string& observed,
               const std::string& detail) const {
    Verdict verdict = fail_at(view, kind, expected, observed, detail);
    Trace trace;
    trace.events.push_back(Run{"m", twin_.steps});
    std::get<Fail>(verdict).divergence.twin = print_trace(trace);
    return verdict;
  }

  /// A session whose history parted after a tie is left alone until it is emptied; its copies too.
  bool parted(const StepView& main) {
    const std::string name = session_of(*main.step);
    const bool apart = parted_.count(name) > 0;
    const auto follow = [&](const std::string& copy) { apart ? (void)parted_.insert(copy) : (void)parted_.erase(copy); };
    if (const auto* fork = std::get_if<Fork>(main.step)) follow(fork->into);
    if (const auto* save = std::get_if<Save>(main.step)) follow("blob " + save->blob);
    if (const auto* restore = std::get_if<Restore>(main.step)) {
      if (parted_.count("blob " + restore->blob) > 0) parted_.insert(name);
    }
    if (std::holds_alternative<Reset>(*main.step) || std::holds_alternative<Close>(*main.step)) parted_.erase(name);
    return apart;
  }

  Verdict pair(const StepView& a, const StepView& b) {
    const auto settled = [](const StepView& v) {
      return v.judged && v.expected.demand != Demand::kUndefined && !(v.expected.demand == Demand::kRefuse && v.ok());
    };
    if (parted(a)) return Vacuous{"parted after a tie"};
    if (!settled(a) || !settled(b)) return Vacuous{"a step is not judged"};
    if (a.report->status != b.report->status)
      return fail(a, "status", describe(*b.report) + " in the other run", describe(*a.report), "");
    if (!a.ok()) return Vacuous{"refused in both runs"};
    Gathered here;
    if (const Loop* loop = loop_of(*a.step); loop != nullptr && here.add(tokens(a, b, *loop))) return here.verdict("");
    if (here.add(rows(a, b))) return here.verdict("");
    if (comparison_.lengths) here.add(lengths(a, b));
    return here.verdict("nothing observed in both runs");
  }

  /// The twin's row that a main step's row of `rows` corresponds to, -1 when none does.
  int row_in_twin(int r, int rows) const {
    if (!comparison_.row) return r;
    return r == *comparison_.row % std::max(rows, 1) ? 0 : -1;
  }

  /// A row alone may have reused another part of its prompt than beside others.
  static bool reused_alike(const StepView& a, const StepView& b, int r, int s) {
    const auto &x = a.report->cached, &y = b.report->cached;
    if (x.has_value() != y.has_value()) return false;
    if (!x) return !std::holds_alternative<Complete>(*a.step);
    const auto i = static_cast<std::size_t>(r), j = static_cast<std::size_t>(s);
    return i < x->size() && j < y->size() && (*x)[i] == (*y)[j];
  }

  bool bitwise(const StepView& a, const StepView& b, int r, int s) const {
    if (!lab_.bitwise(comparison_.relation)) return false;
    if (comparison_.relation == "batch") return reused_alike(a, b, r, s);
    return comparison_.relation != "repeat" || same_work(*a.report, *b.report, std::holds_alternative<Complete>(*a.step));
  }

  Verdict tokens(const StepView& a, const StepView& b, const Loop& loop) {
    const Loop* other = loop_of(*b.step);
    const int rows = loop_rows(a);
    const int theirs_expected = comparison_.row ? 1 : rows;
    if (!a.report->tokens || !b.report->tokens || other == nullptr || !same_but_budget(*other, loop) ||
        loop_rows(b) != theirs_expected)
      return Vacuous{"tokens not observed"};
    const Rows& mine = *a.report->tokens;
    const Rows& theirs = *b.report->tokens;
    if (!comparison_.row && mine.size() != theirs.size())
      return fail(a, "token_count", fmt::format("{} rows as in the other run", theirs.size()),
                  fmt::format("{} rows", mine.size()), "");
    Gathered here;
    for (int r = 0; r < std::min(rows, static_cast<int>(mine.size())); ++r) {
      const int s = row_in_twin(r, rows);
      if (s >= 0 && s < static_cast<int>(theirs.size()) && here.add(token_row(a, b, r, s))) break;
    }
    return here.verdict("no rows");
  }

  Verdict token_row(const StepView& a, const StepView& b, int r, int s) {
    Tokens mine = (*a.report->tokens)[static_cast<std::size_t>(r)];
    Tokens theirs = (*b.report->tokens)[static_cast<std::size_t>(s)];
    const Loop& loop = *loop_of(*a.step);
    const int budget = std::min(loop.new_tokens, loop_of(*b.step)->new_tokens);  // both reach as many tokens
    const bool same_budget = loop.new_tokens == loop_of(*b.step)->new_tokens;
    for (Tokens* row : {&mine, &theirs})
      if (!same_budget && static_cast<int>(row->size()) > budget) row->resize(static_cast<std::size_t>(budget));
    Tokens history = base_history(a, r);
    if (history != base_history(b, s)) return Vacuous{"another history"};
    if (!loop.extras.empty()) return Vacuous{"not greedy"};
    const auto [at, other] = std::mismatch(mine.begin(), mine.end(), theirs.begin(), theirs.end());
    const std::string where = fmt::format("row {}, new token {}, relation {}", r, at - mine.begin(), comparison_.relation);
    if (at == mine.end() && other == theirs.end()) return same_budget ? reasons(a, b, r, s) : Verdict(Pass{});
    const bool exact = bitwise(a, b, r, s);
    const bool comparable = exact || lab_.has_reference() || lab_.configuration().declarations.drift.has_value();
    if (!comparable) return Vacuous{"neither reference nor drift nor bits are declared"};
    if (at == mine.end() || other == theirs.end())
      return fail(a, "token_count", show(theirs) + " in the other run", show(mine), where);
    history.insert(history.end(), mine.begin(), at);
    if (!exact) {
      const OracleRow* row = reference_row(lab_, history);
      if (row == nullptr) return part(a, where + ": no reference for its margin");
      const OracleRow choices = suppressed(*row, loop, static_cast<int>(at - mine.begin()));
      if (judge_choice(choices, *at) != Choice::kDifferent && judge_choice(choices, *other) != Choice::kDifferent)
        return part(a, where);
    }
    return fail(a, "tokens", show(theirs) + " in the other run", show(mine), where + (exact ? ", bit for bit" : ""));
  }

  Verdict part(const StepView& a, const std::string& where) {
    if (const std::string name = session_of(*a.step); !name.empty()) parted_.insert(name);
    return Tie{fmt::format("{} at step {}: {}", op_name(*a.step), a.index, where)};
  }

  Verdict reasons(const StepView& a, const StepView& b, int r, int s) {
    const auto& x = a.report->stopped;
    const auto& y = b.report->stopped;
    const auto i = static_cast<std::size_t>(r), j = static_cast<std::size_t>(s);
    if (x && y && i < x->size() && j < y->size() && (*x)[i] != (*y)[j])
      return fail(a, "stop_reason", (*y)[j] + " in the other run", (*x)[i], fmt::format("row {}", r));
    return Pass{};
  }

  Verdict rows(const StepView& a, const StepView& b) {
    if (*a.step == *b.step && a.report->logits && b.report->logits) {
      const LogitsArray &x = *a.report->logits, &y = *b.report->logits;
      if (x.rows != y.rows || x.n != y.n || x.vocab != y.vocab)
        return fail(a, "logits_shape", fmt::format("({}, {}, {}) in the other run", y.rows, y.n, y.vocab),
                    fmt::format("({}, {}, {})", x.rows, x.n, x.vocab), "");
    }
    Gathered here;
    const std::vector<AskedRow> theirs = asked_rows(b);
    for (const AskedRow& mine : asked_rows(a))
      for (const AskedRow& other : theirs)
        if (row_in_twin(mine.row, a.before->rows()) == other.row && mine.history == other.history &&
            here.add(cell(a, mine, b, other)))
          return here.verdict("");
    return here.verdict("no rows over one history");
  }

  Verdict cell(const StepView& a, const AskedRow& x, const StepView& b, const AskedRow& y) {
    const std::vector<double> mine = a.report->logits->at(x.row, x.position);
    const std::vector<double> theirs = b.report->logits->at(y.row, y.position);
    const std::string where = fmt::format("row {}, after {}, relation {}", x.row, show(x.history), comparison_.relation);
    if (mine.size() != theirs.size())
      return fail(a, "logits_shape", fmt::format("{} logits", theirs.size()), fmt::format("{} logits", mine.size()), where);
    const bool exact = bitwise(a, b, x.row, y.row);
    const OracleRow* row = exact ? nullptr : reference_row(lab_, x.history);
    const std::optional<double> drift = lab_.configuration().declarations.drift;
    if (!exact && row == nullptr && !drift) return Vacuous{"neither reference nor drift nor bits are declared"};
    for (std::size_t i = 0; i < mine.size(); ++i) {
      const double allowed = exact ? 0 : row != nullptr ? 2 * (i < row->envelope.size() ? row->envelope[i] : 0) : *drift;
      const bool both_nan = std::isnan(mine[i]) && std::isnan(theirs[i]);  // finite rows are another law's matter
      const bool agree = same_bits(mine[i], theirs[i]) || (!exact && (both_nan || std::abs(mine[i] - theirs[i]) <= allowed));
      if (!agree)
        return fail(a, "logits", fmt::format("{} in the other run", theirs[i]), fmt::format("{}", mine[i]),
                    fmt::format("{}, logit {}: allowed {}", where, i, allowed));
    }
    return Pass{};
  }

  Verdict lengths(const StepView& a, const StepView& b) {
    if (!a.report->lengths || !b.report->lengths || !a.after || !b.after || std::holds_alternative<Complete>(*a.step))
      return Vacuous{"lengths not observed"};
    const ShadowSession &x = *a.after, &y = *b.after;
    const bool whole = comparison_.row || (x.history == y.history && x.pending == y.pending);
    if (!whole || x.pending_known != y.pending_known || x.moved || y.moved) return Vacuous{"another history"};
    const bool even =
        std::all_of(x.history.begin(), x.history.end(), [&](const Tokens& h) { return h.size() == x.history[0].size(); });
    if (comparison_.row && !a.report->lengths->per_row && !even) return Vacuous{"one length for uneven rows"};
    bool any = false;
    for (int r = 0; r < x.rows(); ++r) {
      const int s = row_in_twin(r, x.rows());
      const auto i = static_cast<std::size_t>(r), j = static_cast<std::size_t>(s);
      if (s < 0 || s >= y.rows() || x.history[i] != y.history[j] || x.pending[i] != y.pending[j]) continue;
      const auto mine = length_of_row(*a.report->lengths, r, x.rows()), theirs = length_of_row(*b.report->lengths, s, y.rows());
      if (!mine || !theirs) continue;
      any = true;
      if (*mine != *theirs)
        return fail(a, "length_value", fmt::format("{} in the other run", *theirs), fmt::format("{}", *mine),
                    fmt::format("row {}", r));
    }
    return any ? Verdict(Pass{}) : Vacuous{"no lengths over one history, or none that are numbers"};
  }

  Lab& lab_;
  const Observed& main_;
  const Observed& twin_;
  const Comparison& comparison_;
  Gathered gathered_;
  std::set<std::string> parted_;
};

}  // namespace

bool Gathered::add(Verdict verdict) {
  if (std::holds_alternative<Pass>(verdict)) passes_ = true;
  if (const auto* v = std::get_if<Vacuous>(&verdict); v != nullptr && reason_.empty()) reason_ = v->reason;
  if (std::holds_alternative<Tie>(verdict) && !tie_) tie_ = verdict;
  const bool failed = is_failure(verdict);
  if (failed && !failure_) failure_ = std::move(verdict);
  return failed;
}

Verdict Gathered::verdict(const std::string& reason) const {
  if (failure_) return *failure_;
  if (tie_) return *tie_;
  if (passes_) return Pass{};
  return Vacuous{reason.empty() ? reason_ : reason};
}

Verdict compare_runs(Lab& lab, const Observed& main, const Observed& twin, const Comparison& comparison) {
  return Comparer(lab, main, twin, comparison).run();
}

Verdict fail_at(const StepView& view, const std::string& kind, const std::string& expected, const std::string& observed,
                const std::string& detail) {
  Divergence d;
  d.kind = kind;
  d.op = op_name(*view.step);
  d.step = view.index;
  d.expected = expected;
  d.observed = observed;
  d.detail = detail;
  return Fail{std::move(d)};
}

const OracleRow* reference_row(Lab& lab, const Tokens& history) {
  const ModelPtr& model = lab.main().model;
  if (!lab.has_reference() || !model || history.empty() || static_cast<int>(history.size()) > model->spec.context) return nullptr;
  if (std::any_of(history.begin(), history.end(), [&](Token t) { return t < 0 || t >= model->spec.vocab; })) return nullptr;
  return &lab.expect(history);
}

OracleRow suppressed(OracleRow row, const Loop& loop, int emitted) {
  if (!loop.stop || emitted >= loop.min_new) return row;
  for (const Token t : *loop.stop)
    if (t >= 0 && t < static_cast<Token>(row.logits.size())) row.logits[static_cast<std::size_t>(t)] = -INFINITY;
  return row;
}

std::optional<double> length_of_row(const LengthReport& report, int row, int rows) {
  const Value* value = report.of_row(row);
  if (value == nullptr) return std::nullopt;
  if (const auto* integer = std::get_if<IntegerValue>(value)) return static_cast<double>(integer->value);
  if (const auto* real = std::get_if<RealValue>(value)) return real->value;
  const auto* array = std::get_if<ArrayValue>(value);
  if (array == nullptr) return std::nullopt;
  if (array->value.size() == 1) return array->value.front();
  if (!report.per_row && static_cast<int>(array->value.size()) == rows) return array->value[static_cast<std::size_t>(row)];
  return std::nullopt;
}

std::optional<Verdict> judge_against_reference(Lab& lab, const StepView& view, const AskedRow& asked) {
  const OracleRow* row = reference_row(lab, asked.history);
  if (row == nullptr || !view.report->logits) return std::nullopt;
  const LogitsArray& logits = *view.report->logits;
  const std::string where = fmt::format("row {}, position {}, after {}", asked.row, asked.position, show(asked.history));
  if (logits.vocab != static_cast<int>(row->logits.size()))
    return fail_at(view, "logits_shape", fmt::format("{} logits", row->logits.size()), fmt::format("{} logits", logits.vocab),
                   where);
  if (logits.is_absent(asked.row, asked.position)) return fail_at(view, "logits_absent", "a row", "an absent cell", where);
  const std::vector<double> observed = logits.at(asked.row, asked.position);
  const auto bad = std::find_if(observed.begin(), observed.end(), [](double x) { return !std::isfinite(x); });
  if (bad != observed.end())
    return fail_at(view, "not_finite", "finite logits", fmt::format("{} at logit {}", *bad, bad - observed.begin()), where);
  const RowJudgement judged = judge_row(*row, observed);
  if (judged.inside) return std::nullopt;
  const auto worst = static_cast<std::size_t>(judged.worst);
  return fail_at(
      view, "logits", fmt::format("{:.9g} at logit {}", row->logits[worst], worst), fmt::format("{:.9g}", observed[worst]),
      fmt::format("{}: error {:.3g}, envelope {:.3g}, {:.1f} sigma", where, judged.error, row->envelope[worst], judged.ratio));
}

namespace {

/// Where and why a row of a loop ended, by its own tokens. nullopt when nothing is wrong.
std::optional<Verdict> judge_ending_row(Lab& lab, const StepView& view, int r) {
  const Loop& loop = *loop_of(*view.step);
  const Declarations& d = lab.configuration().declarations;
  const Tokens& tokens = (*view.report->tokens)[static_cast<std::size_t>(r)];
  const Tokens base = base_history(view, r);
  const std::string asked = fmt::format("row {}, after {}", r, show(base));
  const int count = static_cast<int>(tokens.size());
  int n = 0;
  bool stopped = false;
  for (; n < count && !stopped; ++n) stopped = is_stop(loop, tokens[static_cast<std::size_t>(n)], n);
  const bool padded = d.pads_after_stop &&
                      (!d.pad_token || std::all_of(tokens.begin() + n, tokens.end(), [&](Token t) { return t == *d.pad_token; }));
  if (n < count && !padded)
    return fail_at(view, "token_count", fmt::format("nothing after the stop token, the {}. new one", n), show(tokens), asked);
  Fit room{loop.new_tokens, loop.new_tokens};
  if (d.overflow == "stop") {
    const auto* complete = std::get_if<Complete>(view.step);
    const std::optional<int> slots = complete == nullptr  ? std::optional<int>(view.before->capacity)
                                     : complete->capacity ? complete->capacity
                                                          : d.max_capacity;
    const int filled = static_cast<int>(base.size());
    if (slots) room = fit(filled, *slots, complete == nullptr ? d.last_token_cached : std::nullopt);
  }
  const int least = std::min(room.least, loop.new_tokens), most = std::min(room.most, loop.new_tokens);
  if ((n < least && !stopped) || n > most)
    return fail_at(view, "token_count",
                   least == most ? fmt::format("{} new tokens", most) : fmt::format("{} to {} new tokens", least, most),
                   show(tokens), asked);
  if (view.report->stopped && r < static_cast<int>(view.report->stopped->size())) {
    const std::string& reason = (*view.report->stopped)[static_cast<std::size_t>(r)];
    const bool full = d.overflow == "stop" && n >= least;
    const bool fits = (reason == "stop" && stopped) || (reason == "length" && n == loop.new_tokens) ||
                      (reason == "capacity" && full && !stopped);
    if (!fits)
      return fail_at(view, "stop_reason",
                     stopped               ? "stop"
                     : n < loop.new_tokens ? "capacity"
                                           : "length",
                     reason, asked + ", new " + show(tokens));
  }
  return std::nullopt;
}

/// One row of a loop: each token against the reference after the backend's own earlier ones, then where and why it ended.
Verdict judge_token_row(Lab& lab, const StepView& view, int r) {
  const Loop& loop = *loop_of(*view.step);
  const Tokens& tokens = (*view.report->tokens)[static_cast<std::size_t>(r)];
  Tokens history = base_history(view, r);
  const std::string asked = fmt::format("row {}, after {}", r, show(history));
  std::optional<Verdict> tie;
  bool stopped = false, judged = false;
  const int count = static_cast<int>(tokens.size());
  int n = 0;
  for (; n < count && !stopped; ++n) {
    const Token token = tokens[static_cast<std::size_t>(n)];
    const OracleRow* row = reference_row(lab, history);
    if (row == nullptr) break;  // past what the model itself can express
    const OracleRow choices = suppressed(*row, loop, n);
    const Choice choice = judge_choice(choices, token);
    if (choice == Choice::kDifferent) {
      const auto a = static_cast<std::size_t>(choices.argmax());
      const bool known = token >= 0 && token < static_cast<Token>(choices.logits.size());
      const double margin = known ? choices.logits[a] - choices.logits[static_cast<std::size_t>(token)] : INFINITY;
      return fail_at(view, "tokens", fmt::format("{} as new token {}", a, n), show(tokens),
                     fmt::format("{}: margin {:.3g}, a tie would need at most {:.3g}", asked, margin,
                                 known ? choices.envelope[a] + choices.envelope[static_cast<std::size_t>(token)] : 0.0));
    }
    if (choice == Choice::kTie && !tie)
      tie = Tie{fmt::format("{} at step {}, {}, new token {}", op_name(*view.step), view.index, asked, n)};
    judged = true;
    stopped = is_stop(loop, token, n);
    history.push_back(token);
  }
  if (n < count && !stopped) return tie.value_or(judged ? Verdict(Pass{}) : Vacuous{"outside the model's context"});
  if (const std::optional<Verdict> failure = judge_ending_row(lab, view, r)) return *failure;
  return tie.value_or(judged ? Verdict(Pass{}) : Vacuous{"no tokens"});
}

/// Why the tokens of a step are not judged, or what is wrong with their shape; nullopt when its rows can be judged.
std::optional<Verdict> unfit_tokens(const StepView& view) {
  const Loop* loop = loop_of(*view.step);
  if (loop == nullptr || !view.ok() || !view.report->tokens) return Vacuous{"tokens not observed"};
  if (!loop->extras.empty()) return Vacuous{"not greedy"};
  if (!view.judged || view.expected.demand != Demand::kAnswer) return Vacuous{"the call is not judged"};
  const int rows = loop_rows(view);
  if (static_cast<int>(view.report->tokens->size()) != rows)
    return fail_at(view, "tokens_shape", fmt::format("{} rows", rows), fmt::format("{} rows", view.report->tokens->size()));
  return std::nullopt;
}

}  // namespace

Verdict judge_tokens(Lab& lab, const StepView& view) {
  if (const std::optional<Verdict> unfit = unfit_tokens(view)) return *unfit;
  if (view.before && view.before->moved) return Vacuous{"the call is not judged"};
  Gathered gathered;
  for (int r = 0; r < loop_rows(view); ++r)
    if (gathered.add(judge_token_row(lab, view, r))) break;
  return gathered.verdict("");
}

Verdict judge_ending(Lab& lab, const StepView& view) {
  if (const std::optional<Verdict> unfit = unfit_tokens(view)) return *unfit;
  const Loop& loop = *loop_of(*view.step);
  for (int r = 0; r < loop_rows(view); ++r) {
    if (std::optional<Verdict> failure = judge_ending_row(lab, view, r)) return *failure;
    const Tokens& tokens = (*view.report->tokens)[static_cast<std::size_t>(r)];
    for (int n = 0; n < std::min(loop.min_new, static_cast<int>(tokens.size())); ++n)
      if (loop.stop && std::count(loop.stop->begin(), loop.stop->end(), tokens[static_cast<std::size_t>(n)]) > 0)
        return fail_at(view, "stop_before_min_new", fmt::format("no stop id among the first {} new tokens", loop.min_new),
                       show(tokens), fmt::format("row {}", r));
  }
  return Pass{};
}

}  // namespace cachet
