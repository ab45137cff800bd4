// A backend that refuses what it declares would satisfy every other law by silence.
#include "harness/compare.h"

namespace cachet::properties {
namespace {

Verdict judge(const Case&, Lab& lab) {
  bool any = false;
  for (const StepView& view : lab.main().views) {
    if (!view.judged || view.expected.demand != Demand::kAnswer) continue;
    any = true;
    if (view.ok()) continue;
    const char* kind = view.report->status == Status::kRefused ? "refused" : "failed";
    return fail_at(view, kind, "an answer: the call is legal and within the declarations",
                   view.report->kind + ": " + view.report->message);
  }
  return any ? Verdict(Pass{}) : Vacuous{"no valid call was made"};
}

}  // namespace

Property valid_calls_are_answered() {
  Property law;
  law.name = "valid_calls_are_answered";
  law.claim = "Every call that is legal and within what the backend declares is answered, neither refused nor failed.";
  law.needs = {{"append", "complete"}};
  law.always = true;
  law.judge = judge;
  return law;
}

}  // namespace cachet::properties
