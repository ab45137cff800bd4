// The founding report's law: each step feeds the model exactly what the cache has not got. Attested: rests on `calls`.
#include <fmt/format.h>

#include <algorithm>

#include "harness/compare.h"
#include "harness/step_parts.h"

namespace cachet::properties {
namespace {

std::string show(const Tokens& tokens) { return fmt::format("[{}]", fmt::join(tokens, " ")); }

/// What a row may legally be fed before any emitted token, the most expected first.
std::vector<Tokens> legal_prompts(const StepView& view, int r, const Configuration& configuration) {
  const auto row = static_cast<std::size_t>(r);
  const Rows* given = rows_of(*view.step);
  const Tokens fed = given != nullptr && row < given->size() ? (*given)[row] : Tokens{};
  const bool complete = std::holds_alternative<Complete>(*view.step);
  const auto n = static_cast<std::int64_t>(fed.size());
  std::vector<Tokens> out;
  if (complete || (configuration.can("release") && view.before && view.before->history[row].empty())) {
    const auto suffix = [&](std::int64_t from) { out.emplace_back(fed.begin() + from, fed.end()); };
    const auto& cached = view.report->cached;
    if (cached && row < cached->size()) {
      suffix(std::clamp<std::int64_t>((*cached)[row], 0,
                                      std::max<std::int64_t>(n - 1, 0)));  // of a fully cached prompt the last token
    } else {
      for (std::int64_t from = 0; from < n; ++from) suffix(from);
    }
    return out;
  }
  const Tokens& history = view.before->history[row];
  Tokens with_last = history.empty() ? Tokens{} : Tokens{history.back()};
  with_last.insert(with_last.end(), fed.begin(), fed.end());
  const bool pending = view.before->pending[row] != 0;
  if (!view.before->pending_known) return {with_last, fed};
  if (given == nullptr && !pending) return {fed, with_last};  // feeding exactly the last token again is legal here
  return {pending ? with_last : fed};
}

/// All that a row may legally be fed in the step.
std::vector<Tokens> legal_feeds(const StepView& view, int r, const Configuration& configuration) {
  std::vector<Tokens> prompts = legal_prompts(view, r, configuration);
  const Loop* loop = loop_of(*view.step);
  if (loop == nullptr) return prompts;
  const int rows = static_cast<int>(view.report->tokens->size());
  const std::optional<Rows> emitted = emitted_rows(*view.report, *loop, rows, INT32_MAX, configuration.declarations);
  if (!emitted) return {};
  const Tokens& row = (*emitted)[static_cast<std::size_t>(r)];
  const bool known = view.after && view.after->pending_known;
  const bool last_fed = known && view.after->pending[static_cast<std::size_t>(r)] == 0;
  std::vector<Tokens> out;
  for (const Tokens& prompt : prompts)
    for (const bool whole : {false, true}) {
      if (known && whole != last_fed && !row.empty()) continue;
      Tokens feed = prompt;
      feed.insert(feed.end(), row.begin(), row.end() - (whole || row.empty() ? 0 : 1));
      out.push_back(std::move(feed));
    }
  return out;
}

Verdict judge_row(const StepView& view, int r, const Configuration& configuration) {
  const std::vector<Tokens> legal = legal_feeds(view, r, configuration);
  if (legal.empty()) return Vacuous{"what was emitted is not known"};
  Tokens fed;
  for (const ModelCall& call : *view.report->calls)
    fed.insert(fed.end(), call.tokens[static_cast<std::size_t>(r)].begin(), call.tokens[static_cast<std::size_t>(r)].end());
  if (std::find(legal.begin(), legal.end(), fed) != legal.end()) return Pass{};
  const std::size_t expected = legal.front().size();
  const char* kind = fed.size() < expected ? "gap" : fed.size() > expected ? "overlap" : "fed_wrong";
  return fail_at(view, kind, show(legal.front()), show(fed), fmt::format("tokens fed in row {}; attested by calls", r));
}

/// A call that broke the engine was made all the same: the founding report's empty slice ends in an exception.
Verdict judge_failed(const StepView& view) {
  for (const ModelCall& call : *view.report->calls)
    if (std::all_of(call.tokens.begin(), call.tokens.end(), [](const Tokens& row) { return row.empty(); }))
      return fail_at(view, "empty_slice", "at least one token in every model call", "the call that failed feeds none",
                     "attested by calls");
  return Vacuous{"the step failed"};
}

Verdict judge_step(const StepView& view, const Configuration& configuration) {
  const bool feeds = std::holds_alternative<Append>(*view.step) || loop_of(*view.step) != nullptr;
  if (!feeds || !view.judged || view.expected.demand != Demand::kAnswer || !view.report->calls) return Vacuous{"no calls"};
  if (view.report->status == Status::kFailed) return judge_failed(view);
  if (!view.ok()) return Vacuous{"no calls"};
  const Loop* loop = loop_of(*view.step);
  if (loop != nullptr && (!loop->extras.empty() || !view.report->tokens || (view.after && view.after->torn)))
    return Vacuous{"not a plain loop"};
  const Rows* given = rows_of(*view.step);
  const int rows = view.before ? view.before->rows() : static_cast<int>(given->size());
  bool by_rows = loop == nullptr || static_cast<int>(view.report->tokens->size()) == rows;
  std::size_t first = 0;  // a loop of fixed length may go on, all pads, after every row has met its stop
  for (const ModelCall& call : *view.report->calls) {
    const bool empty = std::all_of(call.tokens.begin(), call.tokens.end(), [](const Tokens& row) { return row.empty(); });
    const bool no_width = call.shape.size() > 1 && call.shape[1] == 0;
    if (empty && (no_width || loop == nullptr || !loop->stop || first == 0))
      return fail_at(view, "empty_slice", "at least one token in every model call",
                     fmt::format("call {} of {} feeds none", first, view.report->calls->size()), "attested by calls");
    by_rows = by_rows && static_cast<int>(call.tokens.size()) == rows;
    ++first;
  }
  if (!by_rows) return Vacuous{"calls are not reported by rows"};
  Gathered gathered;
  for (int r = 0; r < rows; ++r)
    if (gathered.add(judge_row(view, r, configuration))) break;
  return gathered.verdict("");
}

Verdict judge(const Case&, Lab& lab) {
  Gathered gathered;
  for (const StepView& view : lab.main().views)
    if (gathered.add(judge_step(view, lab.configuration()))) break;
  return gathered.verdict("no step reported what it fed");
}

}  // namespace

Property tail_slice_is_exact() {
  Property law;
  law.name = "tail_slice_is_exact";
  law.claim =
      "Each step feeds the model exactly the part of the history that it had not yet cached: never empty, no gap, no overlap.";
  law.needs = {{"append", "complete"}, {"calls"}};
  law.always = true;
  law.aim.favour = {{"complete", 25}, {"generate", 10}, {"crop", 4}};
  law.judge = judge;
  return law;
}

}  // namespace cachet::properties
