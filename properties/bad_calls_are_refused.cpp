// A bad call must end as an error that names its cause; an answer to it hides a bug of the caller.
#include "harness/compare.h"

namespace cachet::properties {
namespace {

Verdict judge(const Case&, Lab& lab) {
  bool any = false;
  for (const StepView& view : lab.main().views) {
    const std::string& fault = view.expected.fault;
    if (!view.judged || view.expected.demand != Demand::kRefuse || fault == "past_capacity" || fault == "past_context") continue;
    any = true;
    if (view.ok()) return fail_at(view, "answered:" + fault, "a refusal: " + fault, "an answer");
    if (view.report->status == Status::kFailed)
      return fail_at(view, "failed:" + fault, "a refusal: " + fault, view.report->kind + ": " + view.report->message);
    if (view.report->kind.empty() && view.report->message.empty())
      return fail_at(view, "unnamed:" + fault, "an error that names the cause: " + fault, "a refusal without a word");
  }
  return any ? Verdict(Pass{}) : Vacuous{"no bad call was made"};
}

}  // namespace

Property bad_calls_are_refused() {
  Property law;
  law.name = "bad_calls_are_refused";
  law.claim =
      "Empty append, unknown token, negative or over-long crop, dead session, wrong row count: an error that names the cause, "
      "never a crash, a hang or an answer.";
  law.needs = {{"append", "complete"}};
  law.always = true;
  law.aim.bad_calls = true;
  law.judge = judge;
  return law;
}

}  // namespace cachet::properties
