// The last slot is usable and the one after it does not exist: neither clamped nor wrapped nor silently wrong.
#include <fmt/format.h>

#include "harness/compare.h"
#include "harness/step_parts.h"

namespace cachet::properties {
namespace {

bool is_overflow(const std::string& fault) { return fault == "past_capacity" || fault == "past_context"; }

/// Does this legal call fill its session to the last slot?
bool fills(const StepView& view, const ModelSpec& spec) {
  const auto* append = std::get_if<Append>(view.step);
  const bool commits = (append != nullptr && append->keep) || std::holds_alternative<Generate>(*view.step);
  if (!commits || view.expected.demand != Demand::kAnswer || !view.before) return false;
  const Rows* fed = rows_of(*view.step);
  int longest = view.before->longest();
  for (std::size_t r = 0; fed != nullptr && r < fed->size(); ++r)
    longest = std::max(longest, static_cast<int>(view.before->history[r].size() + (*fed)[r].size()));
  const Loop* loop = loop_of(*view.step);
  return longest + (loop != nullptr ? loop->new_tokens : 0) >= std::min(view.before->capacity, spec.context);
}

Verdict judge(const Case&, Lab& lab) {
  const Observed& main = lab.main();
  bool any = false;
  for (const StepView& view : main.views) {
    if (!view.judged) continue;
    const std::string& fault = view.expected.fault;
    if (view.expected.demand == Demand::kRefuse && is_overflow(fault)) {
      any = true;
      if (view.ok()) return fail_at(view, "answered:" + fault, "a refusal: " + fault, "an answer");
      if (view.report->status == Status::kFailed)
        return fail_at(view, "failed:" + fault, "a refusal before anything is done: " + fault,
                       view.report->kind + ": " + view.report->message);
      const bool fed = view.report->calls && !view.report->calls->empty();
      if (fed && lab.configuration().declarations.overflow == "refuse")
        return fail_at(view, "fed_before_refusal", "refused before anything is done",
                       fmt::format("{} model calls", view.report->calls->size()), "attested by calls");
    } else if (main.model && fills(view, main.model->spec)) {
      any = true;
      if (!view.ok())
        return fail_at(view, "exact_fill", "an answer: the tokens fit exactly", view.report->kind + ": " + view.report->message);
    }
  }
  return any ? Verdict(Pass{}) : Vacuous{"no call reached the capacity"};
}

}  // namespace

Property overflow_is_refused() {
  Property law;
  law.name = "overflow_is_refused";
  law.claim = "At capacity exact; beyond it refused (or the declared policy): never clamped, wrapped or silently wrong.";
  law.needs = {{"append", "complete"}};
  law.always = true;
  law.aim.favour = {{"append", 15}, {"generate", 8}, {"complete", 4}};
  law.aim.overflow = true;
  law.judge = judge;
  return law;
}

}  // namespace cachet::properties
