// The law against laws that hold by ignorance: a backend that ignores its cache repeats, resets and crops flawlessly.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/compare.h"
#include "properties/twins.h"

namespace cachet::properties {
namespace {

constexpr double kMoved = 0.01;  // of what a correct backend must move; far below it is not rounding but ignorance

/// Rows of one step after two histories that differ before their last token. Pass when the backend followed, Vacuous when the
/// reference does not move by more than both envelopes.
Verdict judge_cells(Lab& lab, const StepView& a, const AskedRow& x, const StepView& b, const AskedRow& y) {
  const OracleRow* asked = reference_row(lab, x.history);
  if (asked == nullptr) return Vacuous{"the reference cannot say"};
  const OracleRow before = *asked;  // the next question may move it
  const OracleRow* after = reference_row(lab, y.history);
  const std::vector<double> mine = a.report->logits->at(x.row, x.position), theirs = b.report->logits->at(y.row, y.position);
  if (after == nullptr || mine.size() != before.logits.size() || theirs.size() != mine.size())
    return Vacuous{"the reference cannot say"};
  double least = 0, moved = 0;
  for (std::size_t i = 0; i < mine.size(); ++i) {
    const double must = std::abs(before.logits[i] - after->logits[i]) - before.envelope[i] - after->envelope[i];
    if (must <= least) continue;
    least = must;
    moved = std::abs(mine[i] - theirs[i]);
  }
  if (least <= 0) return Vacuous{"the reference does not move beyond the envelopes"};
  if (!(moved < kMoved * least)) return Pass{};
  return fail_at(a, "ignored", fmt::format("a move of at least {:.3g} when an earlier token changes", least),
                 fmt::format("{:.3g}", moved),
                 fmt::format("row {} after [{}] and after [{}]", x.row, fmt::join(x.history, " "), fmt::join(y.history, " ")));
}

bool differ_before_last(const Tokens& a, const Tokens& b) {
  return a.size() == b.size() && a.size() > 1 && a.back() == b.back() && a != b;
}

Verdict judge(const Case& value, Lab& lab) {
  if (!lab.has_reference()) return Unsupported{"no numeric class with an envelope is declared"};
  const Observed& main = lab.main();
  std::vector<int> appends;
  for (const StepView& view : main.views) {
    const auto* append = std::get_if<Append>(view.step);
    if (append != nullptr && append->keep && view.ok() && view.judged && view.expected.demand == Demand::kAnswer)
      appends.push_back(view.index);
  }
  if (appends.empty() || main.model->spec.vocab < 2) return Vacuous{"no token can be changed"};
  std::vector<Step> twin(main.steps.begin(), main.steps.begin() + static_cast<std::ptrdiff_t>(main.views.size()));
  const int at = appends[static_cast<std::size_t>(choice(value, 0, static_cast<int>(appends.size())))];
  Rows& rows = std::get<Append>(twin[static_cast<std::size_t>(at)]).tokens;
  Tokens& row = rows[static_cast<std::size_t>(choice(value, 1, static_cast<int>(rows.size())))];
  if (row.empty()) return Vacuous{"an idle row"};
  Token& token = row[static_cast<std::size_t>(choice(value, 2, static_cast<int>(row.size())))];
  token = (token + 1 + choice(value, 3, main.model->spec.vocab - 1)) % main.model->spec.vocab;
  const Observed& other = lab.fresh(twin);
  Gathered gathered;
  for (std::size_t i = static_cast<std::size_t>(at); i < std::min(main.views.size(), other.views.size()); ++i) {
    const std::vector<AskedRow> theirs = asked_rows(other.views[i]);
    for (const AskedRow& x : asked_rows(main.views[i]))
      for (const AskedRow& y : theirs)
        if (x.row == y.row && x.position == y.position && differ_before_last(x.history, y.history) &&
            gathered.add(judge_cells(lab, main.views[i], x, other.views[i], y)))
          return gathered.verdict("");
  }
  return gathered.verdict("no row after the changed token moves in the reference");
}

}  // namespace

Property context_matters() {
  Property law;
  law.name = "context_matters";
  law.claim =
      "Where changing a token in reach moves the reference's next row by more than both envelopes, it moves the backend's too.";
  law.needs = {{"append"}, {"numeric"}};
  law.aim.favour = {{"append", 30}};
  law.aim.vary = [](const std::vector<Step>&, const ModelSpec&, Draw& draw) { return choices(draw, 4, 31); };
  law.judge = judge;
  return law;
}

}  // namespace cachet::properties
