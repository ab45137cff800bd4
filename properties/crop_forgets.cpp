// What a crop cuts off must be gone, and what it keeps must be all there.
#include "harness/compare.h"
#include "properties/twins.h"

namespace cachet::properties {
namespace {

/// A crop that removed something and left rows that a fresh session can be fed.
bool cuts(const StepView& view) {
  if (!std::holds_alternative<Crop>(*view.step) || !view.ok() || !view.judged || !view.after || view.after->torn ||
      view.after->moved)
    return false;
  const ShadowSession& after = *view.after;
  for (int r = 0; r < after.rows(); ++r)
    if (after.pending[static_cast<std::size_t>(r)] != 0 ||
        after.history[static_cast<std::size_t>(r)].size() != after.history[0].size())
      return false;
  return after.history != view.before->history;
}

Verdict judge(const Case& value, Lab& lab) {
  const Observed& main = lab.main();
  const std::optional<int> at = chosen_step(value, main, cuts);
  if (!at) return Vacuous{"no crop removed anything"};
  const int left = main.views[static_cast<std::size_t>(*at)].after->longest();
  if (left > 0 && lab.configuration().declarations.append_min.value_or(1) > 1)
    return Vacuous{"a fresh session may not be fed what is left"};
  const Restart twin = restart(main, session_of(main.steps[static_cast<std::size_t>(*at)]), *at, lab.configuration());
  return compare_runs(lab, main, lab.fresh(twin.steps), {twin.pairs, "crop"});
}

}  // namespace

Property crop_forgets() {
  Property law;
  law.name = "crop_forgets";
  law.claim = "After crop(n) everything equals a fresh run of the first n tokens; long crop/append walks included.";
  law.needs = {{"crop"}};
  law.aim.favour = {{"crop", 15}, {"append", 10}};
  law.aim.must = {"crop"};
  law.aim.vary = [](const std::vector<Step>&, const ModelSpec&, Draw& draw) { return choices(draw, 1, 2); };
  law.judge = judge;
  return law;
}

}  // namespace cachet::properties
