// A refusal is atomic when the session goes on as a twin that never got the call, whatever the backend says of its state.
#include "harness/compare.h"

namespace cachet::properties {
namespace {

Verdict judge(const Case&, Lab& lab) {
  const Observed& main = lab.main();
  std::vector<Step> twin;
  Comparison comparison;
  bool refused = false, exercised = false;
  for (const StepView& view : main.views) {
    if (view.report->status != Status::kOk) {
      refused = refused || (view.judged && view.report->status == Status::kRefused && view.expected.demand == Demand::kRefuse);
      continue;
    }
    exercised = exercised || refused;
    comparison.pairs.emplace_back(view.index, static_cast<int>(twin.size()));
    twin.push_back(*view.step);
  }
  if (!exercised) return Vacuous{refused ? "nothing was done after a refusal" : "no call was refused"};
  return compare_runs(lab, main, lab.fresh(twin), comparison);
}

}  // namespace

Property refusals_are_atomic() {
  Property law;
  law.name = "refusals_are_atomic";
  law.claim = "After a refused call a session continues exactly as a twin that never got it.";
  law.needs = {{"append", "complete"}};
  law.aim.favour = {{"append", 10}};
  law.aim.bad_calls = true;
  law.aim.overflow = true;
  law.judge = judge;
  return law;
}

}  // namespace cachet::properties
