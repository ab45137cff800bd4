// What no token owns may hold anything: the twin never had its unused slots overwritten.
#include "harness/compare.h"

namespace cachet::properties {
namespace {

Verdict judge(const Case&, Lab& lab) {
  const Observed& main = lab.main();
  std::vector<Step> twin;
  Comparison comparison;
  bool poisoned = false, exercised = false;
  for (const StepView& view : main.views) {
    if (std::holds_alternative<Poison>(*view.step)) {
      poisoned = poisoned || view.ok();
      continue;
    }
    exercised = exercised || poisoned;
    comparison.pairs.emplace_back(view.index, static_cast<int>(twin.size()));
    twin.push_back(*view.step);
  }
  if (!exercised) return Vacuous{poisoned ? "nothing was done after it" : "nothing was poisoned"};
  return compare_runs(lab, main, lab.fresh(twin), comparison);
}

}  // namespace

Property poison_is_unread() {
  Property law;
  law.name = "poison_is_unread";
  law.claim = "NaN or huge values in unused slots, pads, freed blocks and idle rows change nothing.";
  law.needs = {{"append"}, {"poison"}};
  law.aim.favour = {{"append", 15}, {"poison", 10}, {"close", 6}};
  law.aim.must = {"poison"};
  law.judge = judge;
  return law;
}

}  // namespace cachet::properties
