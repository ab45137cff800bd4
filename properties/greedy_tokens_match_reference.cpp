// The backend's own loop is judged, not a loop of ours around its steps: most users only ever call that.
#include "harness/compare.h"
#include "harness/step_parts.h"

namespace cachet::properties {
namespace {

Verdict judge(const Case&, Lab& lab) {
  if (!lab.has_reference()) return Unsupported{"no numeric class with an envelope is declared"};
  Gathered gathered;
  for (const StepView& view : lab.main().views)
    if (loop_of(*view.step) != nullptr && gathered.add(judge_tokens(lab, view))) break;
  return gathered.verdict("no tokens were generated");
}

}  // namespace

Property greedy_tokens_match_reference() {
  Property law;
  law.name = "greedy_tokens_match_reference";
  law.claim = "The backend's own generate loop emits the reference's greedy tokens, ties aside.";
  law.needs = {{"generate", "complete"}, {"numeric"}};
  law.always = true;
  law.aim.favour = {{"generate", 25}, {"complete", 20}};
  law.judge = judge;
  return law;
}

}  // namespace cachet::properties
