// Where a loop ends is a contract of its own: it can be judged by the tokens that the backend itself emitted.
#include "harness/compare.h"
#include "harness/step_parts.h"

namespace cachet::properties {
namespace {

Verdict judge(const Case&, Lab& lab) {
  Gathered gathered;
  for (const StepView& view : lab.main().views)
    if (loop_of(*view.step) != nullptr && gathered.add(judge_ending(lab, view))) break;
  return gathered.verdict("no loop was judged");
}

}  // namespace

Property stops_where_it_should() {
  Property law;
  law.name = "stops_where_it_should";
  law.claim =
      "EOS (any of several ids, pad equal to EOS, EOS in the prompt), stop reason, per-row finish, pads afterwards, min/max new "
      "tokens, max length: as the reference loop does.";
  law.needs = {{"generate", "complete"}};
  law.always = true;
  law.aim.favour = {{"generate", 25}, {"complete", 20}};
  law.aim.must = {"generate", "complete"};
  law.judge = judge;
  return law;
}

}  // namespace cachet::properties
