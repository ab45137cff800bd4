// Every call is checked as a whole before anything is changed; then it is performed; then lengths are told.
#include "backends/sessions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace cachet::backends {
namespace {

int size_of(const Tokens& row) { return static_cast<int>(row.size()); }

bool contains(const Tokens& ids, Token id) { return std::find(ids.begin(), ids.end(), id) != ids.end(); }

Refusal invalid(const std::string& message) { return {"invalid", message}; }
Refusal unsupported(const std::string& message) { return {"unsupported", message}; }

void refuse(Report& report, const Refusal& refusal) {
  report.status = Status::kRefused;
  report.kind = refusal.kind;
  report.message = refusal.message;
}

void append_to(Rows& rows, const Rows& more) {
  for (std::size_t r = 0; r < rows.size(); ++r) rows[r].insert(rows[r].end(), more[r].begin(), more[r].end());
}

/// The capability behind each op; what is not here is unknown to these backends.
const char* capability_of(const Step& step) {
  static const std::map<std::string, const char*> needs = {
      {"open", "append"},       {"append", "append"},     {"length", "append"}, {"reset", "append"},  {"close", "append"},
      {"generate", "generate"}, {"complete", "complete"}, {"crop", "crop"},     {"poison", "poison"}, {"recompile", "recompile"}};
  const auto at = needs.find(op_name(step));
  return at == needs.end() ? nullptr : at->second;
}

}  // namespace

Session* SessionEngine::find(const std::string& name) {
  const auto at = sessions_.find(name);
  return at == sessions_.end() ? nullptr : &at->second;
}

Report SessionEngine::execute(const Step& step) {
  Report report;
  const std::string name = session_of(step);
  if (const std::optional<Refusal> refusal = check(step)) {
    refuse(report, *refusal);
    const auto* append = std::get_if<Append>(&step);
    Session* session = find(name);
    if (append != nullptr && session != nullptr && refusal->kind == "capacity") {
      write_what_fits(*session, *append, report);
      for (int r = 0; r < session->rows(); ++r) session->cache->note_refused(r, size_of(append->tokens[r]));
    }
  } else if (const auto* open = std::get_if<Open>(&step)) {
    perform(*open, report);
  } else if (const auto* append = std::get_if<Append>(&step)) {
    perform(*append, report);
  } else if (const auto* generate = std::get_if<Generate>(&step)) {
    perform(*generate, report);
  } else if (const auto* crop = std::get_if<Crop>(&step)) {
    perform(*crop, report);
  } else if (const auto* reset = std::get_if<Reset>(&step)) {
    perform(*reset, report);
  } else if (const auto* one_shot = std::get_if<Complete>(&step)) {
    report.calls.emplace();
    complete(*one_shot, report);
  } else if (std::holds_alternative<Close>(step)) {
    close(*find(name)->cache);
    sessions_.erase(name);
  } else if (std::holds_alternative<Length>(step)) {
    find(name)->facts.length_read = true;
  } else if (std::holds_alternative<Recompile>(step)) {
    recompile();
  } else if (std::holds_alternative<Poison>(step)) {
    for (int r = 0; r < find(name)->rows(); ++r) find(name)->cache->poison(r);
    find(name)->facts.poisoned = true;
  }
  if (Session* session = find(name)) {
    tell_lengths(*session->cache, session->rows(), report);
    if (report.status == Status::kFailed) session->dead = true;
  }
  return report;
}

void SessionEngine::end_run() {
  if (!seams().end_run_closes_sessions) return;
  for (auto& [name, session] : sessions_) close(*session.cache);
  sessions_.clear();
}

// -- what is let in

std::optional<Refusal> SessionEngine::check(const Step& step) {
  const char* capability = capability_of(step);
  if (capability == nullptr || !configuration_.can(capability))
    return unsupported(fmt::format("{} is not offered here", op_name(step)));
  if (const auto* open = std::get_if<Open>(&step)) return check_step(*open);
  if (const auto* complete = std::get_if<Complete>(&step)) return check_step(*complete);
  if (std::holds_alternative<Recompile>(step)) return std::nullopt;
  const std::string name = session_of(step);
  const Session* session = find(name);
  if (session == nullptr) return invalid(fmt::format("no session \"{}\" is open", name));
  const bool revives = std::holds_alternative<Reset>(step) || std::holds_alternative<Close>(step);
  if (session->dead && !revives) return Refusal{"dead", fmt::format("session \"{}\" was torn by an earlier failure", name)};
  if (const auto* append = std::get_if<Append>(&step)) return check_step(*append);
  if (const auto* generate = std::get_if<Generate>(&step)) return check_step(*generate);
  if (const auto* crop = std::get_if<Crop>(&step)) return check_step(*crop);
  return std::nullopt;
}

std::optional<Refusal> SessionEngine::check_tokens(const Rows& tokens, int rows) const {
  if (static_cast<int>(tokens.size()) != rows) return invalid(fmt::format("{} rows of tokens; expected {}", tokens.size(), rows));
  for (const Tokens& row : tokens) {
    if (row.empty()) return invalid("a row without a token; expected at least one");
    for (const Token id : row)
      if (!seams().embedding_row(id, spec().vocab))
        return invalid(fmt::format("token {} is outside the vocabulary of {}", id, spec().vocab));
    if (row.size() != tokens.front().size()) return unsupported("rows differ in length; ragged rows are not offered here");
  }
  return std::nullopt;
}

std::optional<Refusal> SessionEngine::check_loop(const Loop& loop, bool one_shot) const {
  if (loop.new_tokens < 1 || loop.min_new < 0) return invalid("new must be at least 1 and min_new at least 0");
  if (!seams().offers(loop, one_shot))
    return unsupported(fmt::format("{} is not offered here", loop.extras.empty() ? "stop" : loop.extras.begin()->first));
  return std::nullopt;
}

/// Slots that a call needs at most: pending and given tokens, and of `new_tokens` emitted ones all, or all but the last.
std::optional<Refusal> SessionEngine::check_room(Session& session, const Rows& tokens, int new_tokens) {
  const int limit = std::min(session.capacity, spec().context);
  for (int r = 0; r < session.rows(); ++r) {
    const int fed = size_of(session.pending[r]) + (tokens.empty() ? 0 : size_of(tokens[r]));
    const int more = fed + new_tokens - (new_tokens > 0 && !last_token_cached() ? 1 : 0);
    const RowFacts facts = session.cache->row(r).facts();
    if (seams().over(facts, more, limit))
      return Refusal{"capacity", fmt::format("{} more tokens do not fit after {} of {}", more, facts.length, limit)};
    if (auto growing = check_shapes(facts.length, fed, more - fed)) return growing;
  }
  return std::nullopt;
}

std::optional<Refusal> SessionEngine::check_step(const Open& step) {
  if (find(step.session) != nullptr) return invalid(fmt::format("session \"{}\" is open", step.session));
  if (step.rows < 1 || step.capacity < 1) return invalid("rows and capacity must be at least 1");
  if (step.rows > kMaxRows) return Refusal{"capacity", fmt::format("{} rows; at most {}", step.rows, kMaxRows)};
  if (step.capacity > max_capacity())
    return Refusal{"capacity", fmt::format("capacity {}; at most {}", step.capacity, max_capacity())};
  return std::nullopt;
}

std::optional<Refusal> SessionEngine::check_step(const Append& step) {
  Session& session = *find(step.session);
  if (!step.pad.empty()) return unsupported("pads are not offered here");
  auto refusal = check_tokens(step.tokens, session.rows());
  if (!refusal) refusal = check_room(session, step.tokens, 0);
  if (refusal && seams().append_takes_pending_before_checks) session.pending.assign(session.pending.size(), {});
  return refusal;
}

std::optional<Refusal> SessionEngine::check_step(const Generate& step) {
  Session& session = *find(step.session);
  if (auto refusal = check_loop(step.loop, false)) return refusal;
  if (step.tokens) {
    if (auto refusal = check_tokens(*step.tokens, session.rows())) return refusal;
  } else if (std::any_of(session.history.begin(), session.history.end(), [](const Tokens& row) { return row.empty(); })) {
    return invalid("nothing to continue; expected tokens, or a session with content");
  }
  return check_room(session, step.tokens.value_or(Rows{}), step.loop.new_tokens);
}

std::optional<Refusal> SessionEngine::check_step(const Complete& step) {
  if (auto refusal = check_loop(step.loop, true)) return refusal;
  const int rows = static_cast<int>(step.tokens.size());
  if (rows == 0) return invalid("no rows of tokens; expected at least one");
  if (rows > kMaxRows) return Refusal{"capacity", fmt::format("{} rows; at most {}", rows, kMaxRows)};
  if (auto refusal = check_tokens(step.tokens, rows)) return refusal;
  if (step.capacity && *step.capacity < 1) return invalid("capacity must be at least 1");
  if (step.capacity.value_or(1) > max_capacity())
    return Refusal{"capacity", fmt::format("capacity {}; at most {}", *step.capacity, max_capacity())};
  const int need = size_of(step.tokens.front()) + step.loop.new_tokens - (last_token_cached() ? 0 : 1);
  const int limit = complete_limit(step);
  if (need > limit) return Refusal{"capacity", fmt::format("{} tokens do not fit into {}", need, limit)};
  const int prompt = size_of(step.tokens.front());
  return check_shapes(0, prompt, need - prompt);
}

std::optional<Refusal> SessionEngine::check_step(const Crop& step) {
  const Session& session = *find(step.session);
  if (static_cast<int>(step.length.size()) != session.rows())
    return invalid(fmt::format("{} lengths; expected {}", step.length.size(), session.rows()));
  for (int r = 0; r < session.rows(); ++r) {
    const int most = size_of(session.history[r]);
    if (step.length[r] < 0 || step.length[r] > most)
      return invalid(fmt::format("length {} is outside 0 to {}", step.length[r], most));
    if (step.length[r] != step.length.front()) return unsupported("lengths differ; ragged rows are not offered here");
  }
  return std::nullopt;
}

// -- what calls do

void SessionEngine::perform(const Open& step, Report&) {
  Session& session = sessions_[step.session];
  const auto rows = static_cast<std::size_t>(step.rows);
  session.capacity = step.capacity;
  session.history.resize(rows);
  session.pending.resize(rows);
  session.cache = make_cache(step.rows, step.capacity);
  session.facts.others = static_cast<int>(sessions_.size()) - 1;
}

void SessionEngine::perform(const Append& step, Report& report) {
  Session& session = *find(step.session);
  Rows tail = seams().append_feeds_pending ? session.pending : Rows(session.pending.size());
  append_to(tail, step.tokens);
  report.calls.emplace();
  std::vector<std::vector<float>> rows;  // (rows) of (tail, vocab)
  if (!feed(*session.cache, tail, rows, report)) return;
  const int vocab = spec().vocab, n = step.want == Want::kAll ? size_of(step.tokens.front()) : 1;
  LogitsArray logits{session.rows(), n, vocab, {}, {}};
  for (int r = 0; r < session.rows(); ++r) {
    logits.data.insert(logits.data.end(), rows[r].end() - static_cast<std::ptrdiff_t>(n) * vocab, rows[r].end());
    if (!step.keep) session.cache->rewind(r, size_of(tail[r]));
  }
  session.facts.rows = session.rows();
  session.facts.tokens = size_of(step.tokens.front());
  for (double& logit : logits.data) logit = seams().returned(static_cast<float>(logit), session.facts);
  report.logits = std::move(logits);
  if (!step.keep) return;
  append_to(session.history, step.tokens);
  session.pending.assign(session.pending.size(), {});
}

/// Only where the room is checked while writing, not before.
void SessionEngine::write_what_fits(Session& session, const Append& step, Report& report) {
  if (!seams().append_writes_what_fits) return;
  Rows tail = session.pending;
  append_to(tail, step.tokens);
  const int limit = std::min(session.capacity, spec().context);
  for (int r = 0; r < session.rows(); ++r)
    tail[r].resize(std::max(0, std::min(size_of(tail[r]), limit - session.cache->row(r).facts().length)));
  if (tail.front().empty()) return;
  Report unseen;
  unseen.calls.emplace();
  std::vector<std::vector<float>> logits;
  feed(*session.cache, tail, logits, unseen);
  report.calls = unseen.calls;
}

void SessionEngine::perform(const Generate& step, Report& report) {
  Session& session = *find(step.session);
  const auto rows = static_cast<std::size_t>(session.rows());
  Rows tail = session.pending;
  if (step.tokens) append_to(tail, *step.tokens);
  report.calls.emplace();
  const bool idle = tail.front().empty();  // rows are never ragged
  for (std::size_t r = 0; idle && r < rows; ++r) {
    session.cache->rewind(static_cast<int>(r), 1);
    tail[r] = {session.history[r].back()};
  }
  std::vector<std::vector<float>> logits;
  if (!feed(*session.cache, tail, logits, report)) return;
  for (std::vector<float>& row : logits) row.erase(row.begin(), row.end() - spec().vocab);
  if (step.tokens) append_to(session.history, *step.tokens);
  if (!continue_rows(*session.cache, step.loop, logits, report)) return;
  append_to(session.history, *report.tokens);
  for (std::size_t r = 0; r < rows; ++r) session.pending[r] = last_token_cached() ? Tokens{} : Tokens{(*report.tokens)[r].back()};
}

void SessionEngine::perform(const Crop& step, Report&) {
  Session& session = *find(step.session);
  for (int r = 0; r < session.rows(); ++r) {
    const int asked = step.length[r], held = session.cache->row(r).facts().length;
    if (asked < size_of(session.history[r]) && seams().crop_drops_pending) session.pending[r].clear();
    if (asked <= held) session.cache->crop(r, seams().crop_target(asked, held));
    session.history[r].resize(static_cast<std::size_t>(asked));
  }
  session.facts = SessionFacts{};
  session.facts.cut = true;
  if (seams().crop_refeeds) refeed(session);
}

void SessionEngine::refeed(Session& session) {
  const int n = session.cache->row(0).facts().length;  // rows are never ragged
  if (n == 0) return;
  Rows kept = session.history;
  for (int r = 0; r < session.rows(); ++r) {
    kept[r].resize(static_cast<std::size_t>(n));
    session.cache->rewind(r, n);
  }
  Report unseen;
  unseen.calls.emplace();
  std::vector<std::vector<float>> logits;
  feed(*session.cache, kept, logits, unseen);
}

void SessionEngine::perform(const Reset& step, Report&) {
  Session& session = *find(step.session);
  session.dead = false;
  session.facts = SessionFacts{};
  session.facts.cut = true;
  for (int r = 0; r < session.rows(); ++r) {
    session.cache->reset(r);
    session.history[r].clear();
    if (seams().reset_drops_pending) session.pending[r].clear();
  }
}

// -- model calls

bool SessionEngine::feed(Cache& cache, const Rows& tokens, std::vector<std::vector<float>>& logits, Report& report) {
  return feed_eagerly(cache, tokens, logits, report);
}

bool SessionEngine::feed_eagerly(Cache& cache, const Rows& tokens, std::vector<std::vector<float>>& logits, Report& report) {
  std::int64_t width = 0;
  for (const Tokens& row : tokens) width = std::max<std::int64_t>(width, size_of(row));
  report.calls->push_back({tokens, std::nullopt, {static_cast<std::int64_t>(tokens.size()), width}});
  logits.resize(tokens.size());
  for (std::size_t r = 0; r < tokens.size(); ++r) {
    if (tokens[r].empty() && width > 0) continue;  // the row has ended
    if (const std::optional<Failure> failure = decoder_->feed(cache.row(static_cast<int>(r)), tokens[r], logits[r])) {
      report.status = Status::kFailed;
      report.kind = failure->kind;
      report.message = failure->message;
      return false;
    }
    cache.advance(static_cast<int>(r), size_of(tokens[r]));
  }
  return true;
}

Token SessionEngine::pick(const std::vector<float>& logits, const Loop& loop, const Tokens& stop, int emitted) const {
  const bool suppress = seams().suppresses_stop(emitted, loop.min_new);
  Token best = -1;
  for (Token id = 0; id < spec().vocab; ++id) {
    if (suppress && contains(stop, id)) continue;
    if (best < 0 || logits[static_cast<std::size_t>(id)] > logits[static_cast<std::size_t>(best)]) best = id;
  }
  return std::max<Token>(best, 0);
}

bool SessionEngine::continue_rows(Cache& cache, const Loop& loop, std::vector<std::vector<float>>& logits, Report& report) {
  const std::size_t rows = logits.size();
  const Tokens stop = seams().stop_ids(loop, stop_of_last_call_);
  Rows emitted(rows);
  std::vector<std::string> reasons(rows);
  for (bool going = true; going;) {
    going = false;
    Rows next(rows), told(rows);
    bool feeds = false;
    for (std::size_t r = 0; r < rows; ++r) {
      if (!reasons[r].empty()) continue;
      const int count = size_of(emitted[r]);
      const Token token = pick(logits[r], loop, stop, count);
      emitted[r].push_back(token);
      if (count >= loop.min_new && seams().ended(emitted[r], stop))
        reasons[r] = "stop";
      else if (count + 1 >= loop.new_tokens)
        reasons[r] = "length";
      else
        going = true;
      if (reasons[r].empty() || (last_token_cached() && seams().loop_feeds_last_token))
        next[r] = {seams().loop_feeds(token, !reasons[r].empty())}, told[r] = {token};
      else if (last_token_cached())
        cache.advance(static_cast<int>(r), 1);
      feeds = feeds || !next[r].empty();
    }
    if (feeds && !feed(cache, next, logits, report)) return false;
    if (feeds) report.calls->back().tokens = told;
  }
  report.tokens = std::move(emitted);
  report.stopped = std::move(reasons);
  return true;
}

void SessionEngine::tell_lengths(Cache& cache, int rows, Report& report) const {
  LengthReport lengths{rows > 1, {}};
  for (int r = 0; r < rows; ++r) lengths.values.push_back(seams().told_length(cache.row(r).facts()));
  report.lengths = std::move(lengths);
  report.layer_lengths.emplace();
  for (int l = 0; l < spec().layers; ++l) {
    LengthReport layer{rows > 1, {}};
    for (int r = 0; r < rows; ++r) layer.values.push_back(IntegerValue{cache.layer_length(l, r)});
    report.layer_lengths->push_back(std::move(layer));
  }
}

}  // namespace cachet::backends
