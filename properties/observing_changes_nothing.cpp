// Whoever looks must not disturb: lengths are read by caches, schedulers and debuggers in the middle of everything.
#include "harness/compare.h"
#include "properties/twins.h"

namespace cachet::properties {
namespace {

/// A step that only looks: a length that is read, an answer without advancing.
bool looks(const Step& step) {
  const auto* append = std::get_if<Append>(&step);
  return std::holds_alternative<Length>(step) || (append != nullptr && !append->keep);
}

Verdict judge(const Case&, Lab& lab) {
  const Observed& main = lab.main();
  std::vector<Step> twin;
  Comparison comparison;
  bool looked = false, exercised = false;
  for (const StepView& view : main.views) {
    if (looks(*view.step)) {
      looked = looked || (view.ok() && view.judged && view.expected.demand == Demand::kAnswer);
      continue;
    }
    exercised = exercised || looked;
    comparison.pairs.emplace_back(view.index, static_cast<int>(twin.size()));
    twin.push_back(*view.step);
    auto* append = std::get_if<Append>(&twin.back());
    if (append == nullptr || append->want == Want::kLast) continue;
    append->want = Want::kLast;  // fewer rows are read, so what follows must be the same
    looked = true;
  }
  if (!exercised) return Vacuous{looked ? "nothing was done after a look" : "nothing was looked at"};
  return compare_runs(lab, main, lab.fresh(twin), comparison);
}

}  // namespace

Property observing_changes_nothing() {
  Property law;
  law.name = "observing_changes_nothing";
  law.claim = "Reading lengths or logits anywhere in a trace changes nothing later.";
  law.needs = {{"append"}};
  law.aim.favour = {{"length", 15}, {"peek", 15}, {"append", 10}};
  law.aim.must = {"length", "peek"};
  law.judge = judge;
  return law;
}

}  // namespace cachet::properties
