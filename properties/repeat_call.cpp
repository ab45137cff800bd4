// What an engine keeps between calls must never show: each one-shot call equals the same call as the first of a life, and the
// whole run equals itself in a life that has seen nothing else.
#include "harness/compare.h"
#include "properties/twins.h"

namespace cachet::properties {
namespace {

constexpr int kMostCompletes = 4;

Verdict judge(const Case& value, Lab& lab) {
  const Observed& main = lab.main();
  Gathered gathered;
  int completes = 0;
  for (int i = static_cast<int>(main.views.size()) - 1; i >= 0 && completes < kMostCompletes; --i) {
    const Step& step = main.steps[static_cast<std::size_t>(i)];
    if (!std::holds_alternative<Complete>(step) || (i == 0 && value.trace.runs() < 2)) continue;
    ++completes;
    if (gathered.add(compare_runs(lab, main, lab.fresh({step}), {{{i, 0}}, "repeat"}))) return gathered.verdict("");
  }
  Comparison whole{{}, "repeat"};
  for (int i = 0; i < static_cast<int>(main.views.size()); ++i) whole.pairs.emplace_back(i, i);
  gathered.add(compare_runs(lab, main, lab.fresh(main.steps), whole));
  return gathered.verdict("");
}

}  // namespace

Property repeat_call() {
  Property law;
  law.name = "repeat_call";
  law.claim =
      "A call's result does not depend on the calls before it: same prompt, other prompt, shorter after longer, larger budget, "
      "other batch size.";
  law.needs = {{"append", "complete"}};
  law.aim.favour = {{"complete", 30}};
  law.aim.must = {"complete"};
  law.judge = judge;
  return law;
}

}  // namespace cachet::properties
