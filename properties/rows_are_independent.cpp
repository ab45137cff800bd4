// Rows of a batch share calls and nothing else: each must be as it is alone.
#include <algorithm>

#include "harness/compare.h"
#include "harness/step_parts.h"
#include "properties/twins.h"

namespace cachet::properties {
namespace {

/// The step with the one row `k` of those it has; nullopt for steps about rows as such.
std::optional<Step> narrowed(Step step, int k) {
  const auto keep = [&](auto& list) {
    if (list.empty()) return;
    const auto at = static_cast<std::size_t>(k) % list.size();
    list = {list[at]};
  };
  if (std::holds_alternative<Reorder>(step)) return std::nullopt;
  if (Rows* rows = rows_of(step)) keep(*rows);
  if (auto* open = std::get_if<Open>(&step)) open->rows = std::min(open->rows, 1);
  if (auto* append = std::get_if<Append>(&step)) keep(append->pad);
  if (auto* crop = std::get_if<Crop>(&step)) keep(crop->length);
  return step;
}

Verdict judge(const Case& value, Lab& lab) {
  const Observed& main = lab.main();
  int most = 1;
  for (const StepView& view : main.views) {
    if (!view.ok()) continue;
    if (view.after) most = std::max(most, view.after->rows());
    if (const auto* complete = std::get_if<Complete>(view.step)) most = std::max(most, static_cast<int>(complete->tokens.size()));
  }
  if (most < 2) return Vacuous{"nothing had more than one row"};
  const int row = choice(value, 0, most);
  std::vector<Step> twin;
  for (const StepView& view : main.views) {
    std::optional<Step> alone = narrowed(*view.step, row);
    if (!alone) break;
    twin.push_back(std::move(*alone));
  }
  const Observed& other = lab.fresh(twin);
  Comparison comparison{{}, "batch"};
  comparison.row = row;
  for (std::size_t i = 0; i < std::min(main.views.size(), other.views.size()); ++i)
    if (main.views[i].expected == other.views[i].expected) comparison.pairs.emplace_back(i, i);
  return compare_runs(lab, main, other, comparison);
}

}  // namespace

Property rows_are_independent() {
  Property law;
  law.name = "rows_are_independent";
  law.claim = "Row i of a batch equals row i alone, for any neighbours, order, lengths, idle and finished rows.";
  law.needs = {{"append", "complete"}, {"batch"}};
  law.aim.favour = {{"append", 15}, {"complete", 10}, {"generate", 6}};
  law.aim.many_rows = true;
  law.aim.vary = [](const std::vector<Step>&, const ModelSpec&, Draw& draw) { return choices(draw, 1, 5); };
  law.judge = judge;
  return law;
}

}  // namespace cachet::properties
