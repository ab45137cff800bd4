// The rules of the protocol, op by op. Where PROTOCOL.md leaves a case open the demand is kUndefined, with a word that says why:
// a law that judged there would cry wolf.
#include "harness/shadow.h"

#include <algorithm>

#include "harness/json.h"

namespace cachet {
namespace {

int size_of(const Tokens& row) { return static_cast<int>(row.size()); }

bool contains(const std::vector<std::string>& list, const std::string& word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

/// The step in a raw object, when it is one after all.
std::optional<Step> step_in(const Raw& raw) {
  const Json object = Json::parse(raw.json, nullptr, false);
  if (object.is_discarded()) return std::nullopt;
  Result<Step> step = step_from_json(object);
  if (!step) return std::nullopt;
  return *step;
}

}  // namespace

int ShadowSession::longest() const {
  int n = 0;
  for (const Tokens& row : history) n = std::max(n, size_of(row));
  return n;
}

bool may_stop_early(const Loop& loop, int vocab) {
  if (!loop.stop || loop.min_new >= loop.new_tokens) return false;
  return std::any_of(loop.stop->begin(), loop.stop->end(), [&](Token t) { return t >= 0 && t < vocab; });
}

Fit fit(int filled, int slots, std::optional<bool> last_token_cached) {
  const int room = std::max(0, slots - filled);
  const int with_last = filled > slots ? 0 : room + 1;  // the last token needs no slot
  if (!last_token_cached) return {room, with_last};
  return *last_token_cached ? Fit{room, room} : Fit{with_last, with_last};
}

std::optional<Rows> emitted_rows(const Report& report, const Loop& loop, int rows, int vocab, const Declarations& declarations) {
  if (!report.tokens || static_cast<int>(report.tokens->size()) != rows) return std::nullopt;
  Rows out = *report.tokens;
  for (Tokens& row : out) {
    if (size_of(row) > loop.new_tokens) return std::nullopt;
    for (std::size_t i = static_cast<std::size_t>(std::max(loop.min_new, 0)); i < row.size(); ++i) {
      if (!loop.stop || std::find(loop.stop->begin(), loop.stop->end(), row[i]) == loop.stop->end()) continue;
      const bool pads = std::all_of(row.begin() + static_cast<std::ptrdiff_t>(i) + 1, row.end(),
                                    [&](Token t) { return !declarations.pad_token || t == *declarations.pad_token; });
      if (i + 1 < row.size() && !(declarations.pads_after_stop && pads)) return std::nullopt;
      row.resize(i + 1);
    }
    if (std::any_of(row.begin(), row.end(), [&](Token t) { return t < 0 || t >= vocab; })) return std::nullopt;
  }
  return out;
}

/// Collects what is wrong with one call, and what is not settled about it.
class ShadowRules {
 public:
  explicit ShadowRules(const Shadow& shadow) : shadow_(shadow), d_(shadow.configuration_.declarations) {}

  /// A fault demands a refusal, unless it or another fault of the call is declared undefined.
  Expectation expectation() const {
    for (const std::string& fault : faults_)
      if (contains(d_.undefined_calls, fault)) return {Demand::kUndefined, fault};
    if (!faults_.empty()) return {Demand::kRefuse, faults_.front()};
    if (!question_.empty()) return {Demand::kUndefined, question_};
    return {};
  }

  void check(const Open& s) {
    need("append");
    const ShadowSession* there = shadow_.find(s.session);
    if (there != nullptr && there->doubtful) return ask("doubtful");
    if (there != nullptr) bad("session_open");
    if (s.rows < 1 || s.capacity < 1) bad("bad_open");
    check_limits(s.rows, s.capacity);
  }

  void check(const Append& s) {
    need("append");
    if (!s.keep) need("peek");
    if (s.want == Want::kAll) need("all_rows");
    const ShadowSession* session = live(s.session);
    if (session == nullptr) return;
    check_tokens(s.tokens, session->rows());
    check_pad(s.pad, session->rows());
    check_append_size(s.tokens, *session, false);
    for (int r = 0; r < std::min(session->rows(), static_cast<int>(s.tokens.size())); ++r) {
      const int filled = size_of(session->history[r]) + size_of(s.tokens[r]);
      if (filled > session->capacity) s.keep ? past_capacity() : ask("peek_past_capacity");
      if (filled > shadow_.spec_.context) past_context();
    }
    check_pad_room(*session, s.tokens, s.pad);
  }

  void check(const Generate& s) {
    need("append");
    need("generate");
    check_loop(s.loop);
    const ShadowSession* session = live(s.session);
    if (session == nullptr) return;
    if (s.tokens) {
      check_tokens(*s.tokens, session->rows());
      check_append_size(*s.tokens, *session, true);
      check_pad_room(*session, *s.tokens, {});
    } else if (session->longest() == 0) {
      bad("nothing_to_continue");
    }
    const bool may_stop = may_stop_early(s.loop, shadow_.spec_.vocab);
    if (may_stop && session->rows() > 1 && !d_.pad_side) ask("ragged_generate");
    for (int r = 0; r < session->rows(); ++r) {
      const int more = s.tokens && r < static_cast<int>(s.tokens->size()) ? size_of((*s.tokens)[r]) : 0;
      const int filled = size_of(session->history[r]) + more;
      if (filled == 0 && session->longest() > 0) ask("idle_row_in_generate");
      check_room(filled, s.loop, session->capacity, d_.last_token_cached);
    }
  }

  void check(const Complete& s) {
    need("complete");
    check_loop(s.loop);
    if (s.tokens.empty()) bad("wrong_rows");
    check_tokens(s.tokens, static_cast<int>(s.tokens.size()));
    if (s.capacity && *s.capacity < 1) bad("bad_count");
    check_limits(static_cast<int>(s.tokens.size()), s.capacity.value_or(1));
    const std::optional<int> slots = s.capacity ? s.capacity : d_.max_capacity;
    for (const Tokens& row : s.tokens) check_room(size_of(row), s.loop, slots, std::nullopt);
  }

  void check(const Crop& s) {
    need("crop");
    const ShadowSession* session = live(s.session);
    if (session == nullptr) return;
    if (static_cast<int>(s.length.size()) != session->rows()) return bad("wrong_rows");
    for (int r = 0; r < session->rows(); ++r) {
      if (s.length[r] < 0) bad("crop_negative");
      if (s.length[r] > size_of(session->history[r])) bad("crop_beyond");
    }
    if (!session->pending_known) ask("pending_unknown");
    if (!d_.pad_side && std::any_of(s.length.begin(), s.length.end(), [&](int n) { return n != s.length.front(); }))
      ask("ragged_crop");
  }

  void check(const Remove& s) {
    need("remove");
    const ShadowSession* session = range(s.session, s.begin, s.end);
    if (session != nullptr && s.begin < 0) bad("bad_range");
  }

  void check(const Shift& s) {
    need("shift");
    const ShadowSession* session = range(s.session, s.begin, s.end);
    if (session == nullptr) return;
    const int n = session->longest();
    const int end = s.end.value_or(n);
    const bool collides = s.delta > 0 ? end < n : s.delta < 0;  // positions are 0, 1 ... n - 1: below there is never room
    if (s.begin < 0 || (collides && s.begin < end && end <= n)) bad("bad_range");
  }

  void check(const Fork& s) {
    need("fork");
    const ShadowSession* into = shadow_.find(s.into);
    if (live(s.session) == nullptr) return;
    if (into != nullptr && into->doubtful) return ask("doubtful");
    if (into != nullptr) bad("session_open");
  }

  void check(const Reorder& s) {
    need("reorder");
    const ShadowSession* session = live(s.session);
    if (session == nullptr) return;
    const int n = static_cast<int>(s.rows.size());
    if (n == 0) return bad("wrong_rows");
    if (std::any_of(s.rows.begin(), s.rows.end(), [&](int r) { return r < 0 || r >= session->rows(); })) bad("bad_rows");
    check_limits(n, 1);
    if (!d_.max_rows && n > session->rows()) ask("more_rows");
  }

  void check(const Save& s) {
    need("save");
    live(s.session);
  }

  void check(const Restore& s) {
    need("save");
    const ShadowSession* session = live(s.session);
    if (session == nullptr) return;
    const auto blob = shadow_.blobs_.find(s.blob);
    if (blob == shadow_.blobs_.end()) return bad("unknown_blob");
    check_fits(blob->second, *session);
  }

  void check(const Snapshot& s) {
    need("snapshot");
    live(s.session);
  }

  void check(const Rollback& s) {
    need("snapshot");
    const ShadowSession* session = live(s.session);
    if (session == nullptr) return;
    const auto marks = shadow_.marks_.find(s.session);
    if (marks == shadow_.marks_.end() || marks->second.count(s.mark) == 0) return bad("unknown_mark");
    if (marks->second.at(s.mark).rows() != session->rows()) bad("wrong_rows");
  }

  void check(const Length& s) {
    need("append");
    live(s.session);
  }
  void check(const Reset& s) {
    need("append");
    open_or_torn(s.session);
  }
  void check(const Close& s) {
    need("append");
    open_or_torn(s.session);
  }
  void check(const Release& s) {
    need("release");
    live(s.session);
  }
  void check(const Poison& s) {
    need("poison");
    live(s.session);
  }
  void check(const Recompile&) { need("recompile"); }

  void check(const Raw& s) {
    if (step_in(s)) return ask("well_formed");
    bad("malformed");
  }

 private:
  void bad(const std::string& fault) { faults_.push_back(fault); }
  void ask(const std::string& question) {
    if (question_.empty()) question_ = question;
  }
  void need(const std::string& capability) {
    if (!shadow_.configuration_.can(capability)) bad("undeclared");
  }
  void past_capacity() { d_.overflow == "slide" ? ask("slide") : bad("past_capacity"); }
  void past_context() { d_.context == "refuse" ? bad("past_context") : ask("past_context"); }

  const ShadowSession* open_or_torn(const std::string& name) {
    const ShadowSession* session = shadow_.find(name);
    if (session == nullptr) bad("unknown_session");
    if (session != nullptr && session->doubtful) ask("torn");
    return session;
  }

  /// nullptr when nothing more can be said: the session is not open, or torn.
  const ShadowSession* live(const std::string& name) {
    const ShadowSession* session = open_or_torn(name);
    if (session == nullptr || !session->torn) return session;
    ask("torn");
    return nullptr;
  }

  /// The session of remove and shift, where the range is one that the protocol speaks of.
  const ShadowSession* range(const std::string& name, int begin, std::optional<int> end) {
    const ShadowSession* session = live(name);
    if (session == nullptr) return nullptr;
    const bool ragged = std::any_of(session->history.begin(), session->history.end(),
                                    [&](const Tokens& row) { return size_of(row) != session->longest(); });
    const bool pending = std::any_of(session->pending.begin(), session->pending.end(), [](int p) { return p != 0; });
    if (session->moved || ragged || pending || !session->pending_known) ask("positions_unknown");
    if (begin >= end.value_or(session->longest()) || end.value_or(0) > session->longest()) ask("range_beyond");
    return session;
  }

  void check_limits(int rows, int capacity) {
    if (rows > 1) need("batch");
    if (d_.max_rows && rows > *d_.max_rows) bad("undeclared");
    if (d_.max_capacity && capacity > *d_.max_capacity) bad("undeclared");
  }

  void check_tokens(const Rows& tokens, int rows) {
    if (static_cast<int>(tokens.size()) != rows) bad("wrong_rows");
    std::size_t empty = 0;
    bool ragged = false;
    for (const Tokens& row : tokens) {
      empty += row.empty();
      ragged = ragged || row.size() != tokens.front().size();
      if (std::any_of(row.begin(), row.end(), [&](Token t) { return t < 0 || t >= shadow_.spec_.vocab; }))
        bad("token_outside_vocabulary");
    }
    if (empty > 0 && (empty == tokens.size() || !d_.idle_rows)) return bad("empty_append");
    if (empty > 0 && !d_.pad_side) return ask("idle_rows_without_pad_side");
    if (ragged && !d_.pad_side) bad("undeclared");
  }

  void check_pad(const std::vector<int>& pad, int rows) {
    if (pad.empty()) return;
    if (!d_.pad_side) bad("undeclared");
    if (static_cast<int>(pad.size()) != rows) bad("wrong_rows");
    if (std::any_of(pad.begin(), pad.end(), [](int n) { return n < 0; })) bad("bad_count");
  }

  /// The limits on an append. Whether they bind the tokens of generate, and count a pending token, is not settled.
  void check_append_size(const Rows& tokens, const ShadowSession& session, bool in_generate) {
    int longest = 0, shortest = tokens.empty() ? 0 : size_of(tokens.front());
    for (const Tokens& row : tokens) longest = std::max(longest, size_of(row)), shortest = std::min(shortest, size_of(row));
    const bool beyond =
        (d_.append_max && longest > *d_.append_max) || (d_.append_min && shortest > 0 && shortest < *d_.append_min);
    const bool pending =
        !session.pending_known || std::count(session.pending.begin(), session.pending.end(), 0) != session.rows();
    if (beyond) in_generate ? ask("append_limits_in_generate") : bad("undeclared");
    if (pending && d_.append_max && longest == *d_.append_max) ask("append_max_with_pending");
  }

  /// How many slots pads take is the engine's affair; near the end of the capacity nothing is judged.
  void check_pad_room(const ShadowSession& session, const Rows& tokens, const std::vector<int>& pad) {
    if (!d_.pads_use_capacity) return;
    int more = 0;
    for (const Tokens& row : tokens) more = std::max(more, size_of(row));
    for (const int n : pad) more = std::max(more, n + session.longest());
    if (session.pads + session.longest() + 2 * more > session.capacity &&
        (session.pads > 0 || !pad.empty() || session.rows() > 1))
      ask("pads_use_capacity");
  }

  void check_loop(const Loop& loop) {
    if (loop.new_tokens < 1 || loop.min_new < 0) bad("bad_count");
    for (const auto& [name, value] : loop.extras) need(name);
    if (loop.min_new <= 0 || !loop.stop) return;
    bool all = true;
    for (Token t = 0; t < shadow_.spec_.vocab; ++t)
      all = all && std::find(loop.stop->begin(), loop.stop->end(), t) != loop.stop->end();
    if (all) ask("all_suppressed");
  }

  /// Room for a loop after `filled` tokens: in the capacity, where there is one, and in the model's own context.
  void check_room(int filled, const Loop& loop, std::optional<int> slots, std::optional<bool> cached) {
    const bool may_stop = may_stop_early(loop, shadow_.spec_.vocab);
    if (slots) {
      const Fit room = fit(filled, *slots, cached);
      if (filled > *slots) {
        past_capacity();
      } else if (loop.new_tokens > room.most && d_.overflow != "stop") {
        may_stop&& d_.overflow != "slide" ? ask("stop_may_come_first") : past_capacity();
      } else if (loop.new_tokens > room.least && d_.overflow != "stop") {
        ask("last_slot");
      }
    }
    const Fit room = fit(filled, shadow_.spec_.context, cached);
    if (filled > shadow_.spec_.context) {
      past_context();
    } else if (loop.new_tokens > room.most) {
      may_stop || d_.overflow == "stop" ? ask("past_context") : past_context();
    } else if (loop.new_tokens > room.least) {
      ask("last_position");
    }
  }

  void check_fits(const ShadowSession& content, const ShadowSession& into) {
    for (int r = 0; r < content.rows(); ++r) {
      if (content.committed(r) > into.capacity)
        past_capacity();
      else if (size_of(content.history[r]) > into.capacity)
        ask("pending_past_capacity");
    }
  }

  const Shadow& shadow_;
  const Declarations& d_;
  std::vector<std::string> faults_;
  std::string question_;
};

Shadow::Shadow(ModelSpec spec, Configuration configuration) : spec_(std::move(spec)), configuration_(std::move(configuration)) {}

const ShadowSession* Shadow::find(const std::string& session) const {
  const auto at = sessions_.find(session);
  return at == sessions_.end() ? nullptr : &at->second;
}

Expectation Shadow::expect(const Step& step) const {
  ShadowRules rules(*this);
  std::visit([&](const auto& s) { rules.check(s); }, step);
  return rules.expectation();
}

void Shadow::apply(const Step& step, const Report& report) {
  if (const auto* raw = std::get_if<Raw>(&step)) {
    if (const std::optional<Step> inner = step_in(*raw)) return apply(*inner, report);
    return;
  }
  if (report.status == Status::kRefused) return;
  const Expectation e = expect(step);
  if (report.status == Status::kOk && (std::holds_alternative<Close>(step) || std::holds_alternative<Release>(step)))
    return commit(step, {});
  if (report.status == Status::kFailed || (e.demand != Demand::kAnswer && e.fault != "doubtful")) return tear(step);
  Rows emitted;
  if (const auto* generate = std::get_if<Generate>(&step)) {
    const std::optional<Rows> rows =
        emitted_rows(report, generate->loop, find(generate->session)->rows(), spec_.vocab, configuration_.declarations);
    if (!rows) return tear(step);
    emitted = *rows;
  }
  commit(step, emitted);
}

void Shadow::assume(const Step& step, const Rows& emitted) {
  Rows rows = emitted;
  if (const auto* generate = std::get_if<Generate>(&step)) {
    const ShadowSession& session = sessions_.at(generate->session);
    rows.resize(static_cast<std::size_t>(session.rows()));
    for (int r = 0; r < session.rows(); ++r) {
      const int filled = size_of(session.history[r]) + (generate->tokens ? size_of((*generate->tokens)[r]) : 0);
      const int most = fit(filled, session.capacity, configuration_.declarations.last_token_cached).most;
      if (size_of(rows[r]) > most) rows[r].resize(static_cast<std::size_t>(most));
    }
  }
  commit(step, rows);
}

void Shadow::tear(const Step& step) {
  const std::string name = session_of(step);
  const auto doubt = [this](const std::string& session) {
    sessions_[session].torn = true;
    sessions_[session].doubtful = true;
  };
  if (const auto* fork = std::get_if<Fork>(&step)) doubt(fork->into);
  const bool ends = std::holds_alternative<Close>(step) || std::holds_alternative<Release>(step);
  if (const auto at = sessions_.find(name); at != sessions_.end() && !ends) {
    at->second.torn = true;
  } else if (!name.empty()) {
    doubt(name);
  }
}

void Shadow::feed(ShadowSession& session, const Rows& tokens) {
  for (int r = 0; r < session.rows(); ++r) {
    session.history[r].insert(session.history[r].end(), tokens[r].begin(), tokens[r].end());
    session.pending[r] = 0;
  }
  session.pending_known = true;
}

void Shadow::commit(const Step& step, const Rows& emitted) {
  const std::string name = session_of(step);
  const auto at = sessions_.find(name);
  ShadowSession* session = at == sessions_.end() ? nullptr : &at->second;
  const auto empty = [](int rows, int capacity) {
    ShadowSession s;
    s.capacity = capacity;
    s.history.resize(static_cast<std::size_t>(rows));
    s.pending.assign(static_cast<std::size_t>(rows), 0);
    return s;
  };
  if (const auto* open = std::get_if<Open>(&step)) {
    sessions_[name] = empty(open->rows, open->capacity);
    marks_.erase(name);
  } else if (const auto* append = std::get_if<Append>(&step)) {
    if (append->keep) {
      int longest = 0;
      for (const Tokens& row : append->tokens) longest = std::max(longest, size_of(row));
      for (int r = 0; r < session->rows(); ++r)
        session->pads = std::max(
            session->pads, session->pads + longest - size_of(append->tokens[r]) + (append->pad.empty() ? 0 : append->pad[r]));
      feed(*session, append->tokens);
    } else if (std::count(session->pending.begin(), session->pending.end(), 0) != session->rows()) {
      session->pending_known = false;  // whether a look commits the pending token is not settled
    }
  } else if (const auto* generate = std::get_if<Generate>(&step)) {
    feed(*session, generate->tokens.value_or(Rows(session->history.size())));
    feed(*session, emitted);
    const std::optional<bool> cached = configuration_.declarations.last_token_cached;
    for (int r = 0; r < session->rows(); ++r) {
      session->pending[r] = cached == false && !emitted[r].empty() ? 1 : 0;
      // A row that ended before the others may have had its stop token fed beside their next ones.
      if (!cached || emitted[r].size() != emitted[0].size()) session->pending_known = false;
    }
  } else if (const auto* crop = std::get_if<Crop>(&step)) {
    for (int r = 0; r < session->rows(); ++r) {
      if (crop->length[r] < size_of(session->history[r])) session->pending[r] = 0;
      session->history[r].resize(static_cast<std::size_t>(crop->length[r]));
    }
  } else if (const auto* remove = std::get_if<Remove>(&step)) {
    const int end = remove->end.value_or(session->longest());
    session->moved = session->moved || end < session->longest();
    for (Tokens& row : session->history) row.erase(row.begin() + remove->begin, row.begin() + end);
  } else if (std::holds_alternative<Shift>(step)) {
    session->moved = true;
  } else if (const auto* fork = std::get_if<Fork>(&step)) {
    ShadowSession child = *session;
    sessions_[fork->into] = std::move(child);
    marks_.erase(fork->into);
  } else if (const auto* reorder = std::get_if<Reorder>(&step)) {
    ShadowSession next = *session;
    next.history.clear();
    next.pending.clear();
    for (const int r : reorder->rows) {
      next.history.push_back(session->history[r]);
      next.pending.push_back(session->pending[r]);
    }
    *session = std::move(next);
  } else if (const auto* save = std::get_if<Save>(&step)) {
    blobs_[save->blob] = *session;
  } else if (const auto* restore = std::get_if<Restore>(&step)) {
    const int capacity = session->capacity;
    *session = blobs_.at(restore->blob);
    session->capacity = capacity;
  } else if (const auto* snapshot = std::get_if<Snapshot>(&step)) {
    marks_[name][snapshot->mark] = *session;
  } else if (const auto* rollback = std::get_if<Rollback>(&step)) {
    *session = marks_.at(name).at(rollback->mark);
  } else if (std::holds_alternative<Reset>(step)) {
    *session = empty(session->rows(), session->capacity);
  } else if (std::holds_alternative<Close>(step) || std::holds_alternative<Release>(step)) {
    sessions_.erase(name);
    marks_.erase(name);
  }
}

std::vector<StepView> walk(const std::vector<Step>& steps, const RunRecord& record, const ModelSpec& spec,
                           const Configuration& configuration) {
  Shadow shadow(spec, configuration);
  std::vector<StepView> views;
  for (std::size_t i = 0; i < std::min(steps.size(), record.reports.size()); ++i) {
    StepView view;
    view.index = static_cast<int>(i);
    view.step = &steps[i];
    view.report = &record.reports[i];
    view.expected = shadow.expect(steps[i]);
    const std::string name = session_of(steps[i]);
    if (const ShadowSession* s = shadow.find(name)) view.before = *s;
    view.judged = !view.before || !view.before->torn;
    shadow.apply(steps[i], record.reports[i]);
    const auto* fork = std::get_if<Fork>(&steps[i]);
    if (const ShadowSession* s = shadow.find(fork != nullptr && view.ok() ? fork->into : name)) view.after = *s;
    views.push_back(std::move(view));
  }
  return views;
}

std::vector<AskedRow> asked_rows(const StepView& view) {
  const auto* append = std::get_if<Append>(view.step);
  if (append == nullptr || !view.ok() || !view.before || view.before->torn || view.before->moved) return {};
  if (!view.report->logits || view.expected.demand != Demand::kAnswer) return {};
  const LogitsArray& logits = *view.report->logits;
  int longest = 0;
  for (const Tokens& row : append->tokens) longest = std::max(longest, size_of(row));
  const bool all = append->want == Want::kAll;
  if (logits.rows != view.before->rows() || logits.n != (all ? longest : 1)) return {};
  std::vector<AskedRow> out;
  for (int r = 0; r < logits.rows; ++r) {
    const Tokens& fed = append->tokens[r];
    const auto& cached = view.report->cached;
    const std::int64_t reused = cached && r < static_cast<int>(cached->size()) ? (*cached)[r] : 0;
    for (int i = all ? 0 : size_of(fed) - 1; i >= 0 && i < size_of(fed); ++i) {
      const int position = logits.n - size_of(fed) + i;  // right-aligned
      const int cell = all ? position : 0;
      if (all && i < reused && logits.is_absent(r, cell)) continue;
      AskedRow asked{r, cell, view.before->history[r]};
      asked.history.insert(asked.history.end(), fed.begin(), fed.begin() + i + 1);
      out.push_back(std::move(asked));
    }
  }
  return out;
}

}  // namespace cachet
