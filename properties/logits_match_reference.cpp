// The strongest thing that can be said of one row: it is the reference's, up to the rounding of the declared class.
#include <fmt/format.h>

#include "harness/compare.h"

namespace cachet::properties {
namespace {

Verdict judge(const Case&, Lab& lab) {
  if (!lab.has_reference()) return Unsupported{"no numeric class with an envelope is declared"};
  bool any = false;
  for (const StepView& view : lab.main().views) {
    const auto* append = std::get_if<Append>(view.step);
    if (append == nullptr || !view.ok() || !view.judged || view.expected.demand != Demand::kAnswer || !view.report->logits ||
        view.before->moved)
      continue;
    const std::vector<AskedRow> asked = asked_rows(view);
    const LogitsArray& got = *view.report->logits;
    if (asked.empty() && got.rows * got.n != 0)
      return fail_at(view, "logits_shape",
                     fmt::format("{} rows, {}", view.before->rows(),
                                 append->want == Want::kAll ? "one row of logits a token" : "the last row of logits"),
                     fmt::format("shape ({}, {}, {})", got.rows, got.n, got.vocab));
    if (asked.empty()) return fail_at(view, "logits_shape", "logits", "an empty array");
    for (const AskedRow& row : asked) {
      if (reference_row(lab, row.history) == nullptr) continue;
      any = true;
      if (const std::optional<Verdict> failure = judge_against_reference(lab, view, row)) return *failure;
    }
  }
  return any ? Verdict(Pass{}) : Vacuous{"no logits were returned"};
}

}  // namespace

Property logits_match_reference() {
  Property law;
  law.name = "logits_match_reference";
  law.claim = "Under teacher forcing every returned row lies in the reference's envelope.";
  law.needs = {{"append"}, {"numeric"}};
  law.always = true;
  law.aim.favour = {{"append", 20}, {"crop", 4}};
  law.judge = judge;
  return law;
}

}  // namespace cachet::properties
