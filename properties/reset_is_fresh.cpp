// A reset that leaves something behind is worse than none: the caller believes it.
#include "harness/compare.h"
#include "properties/twins.h"

namespace cachet::properties {
namespace {

/// A reset of a session that had something to lose.
bool empties(const StepView& view) {
  return std::holds_alternative<Reset>(*view.step) && view.ok() && view.after && !view.after->torn &&
         (view.before->torn || view.before->longest() > 0);
}

Verdict judge(const Case& value, Lab& lab) {
  const Observed& main = lab.main();
  const std::optional<int> at = chosen_step(value, main, empties);
  if (!at) return Vacuous{"no session with content was reset"};
  const Restart twin = restart(main, session_of(main.steps[static_cast<std::size_t>(*at)]), *at, lab.configuration());
  return compare_runs(lab, main, lab.fresh(twin.steps), {twin.pairs, "reset"});
}

}  // namespace

Property reset_is_fresh() {
  Property law;
  law.name = "reset_is_fresh";
  law.claim = "After reset a session behaves, and reports, as a new one.";
  law.needs = {{"append"}};
  law.aim.favour = {{"reset", 15}};
  law.aim.must = {"reset"};
  law.aim.vary = [](const std::vector<Step>&, const ModelSpec&, Draw& draw) { return choices(draw, 1, 2); };
  law.judge = judge;
  return law;
}

}  // namespace cachet::properties
