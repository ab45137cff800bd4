// A length counts committed tokens and nothing else: not slots, pads, calls or the tokens of an earlier life.
#include <fmt/format.h>

#include "harness/compare.h"

namespace cachet::properties {
namespace {

/// One report of lengths against the shadow's session; nullopt when nothing in it could be judged.
std::optional<Verdict> judge_report(const StepView& view, const LengthReport& report, const std::string& kind,
                                    const std::string& what) {
  const ShadowSession& session = *view.after;
  bool any = false;
  for (int r = 0; r < session.rows(); ++r) {
    const int expected = session.committed(r);
    if (report.of_row(r) == nullptr)
      return fail_at(view, "length_rows", fmt::format("{} rows", session.rows()), fmt::format("{} rows", report.values.size()),
                     what);
    if (!report.per_row && expected != session.committed(0)) return std::nullopt;  // one value cannot speak for ragged rows
    const std::optional<double> observed = length_of_row(report, r, session.rows());
    if (!observed) continue;  // what is no number at all is the other length law's matter
    any = true;
    if (*observed != expected)
      return fail_at(view, kind, std::to_string(expected), to_string(*report.of_row(r)), fmt::format("{} of row {}", what, r));
  }
  return any ? std::optional<Verdict>(Pass{}) : std::nullopt;
}

Verdict judge(const Case&, Lab& lab) {
  Gathered gathered;
  for (const StepView& view : lab.main().views) {
    const bool settled =
        view.judged && view.after && !view.after->torn && view.after->pending_known && view.report->status != Status::kFailed;
    if (!settled || view.expected.demand == Demand::kUndefined) continue;
    if (view.after->moved && lab.configuration().declarations.length_counts == "positions") continue;
    const auto add = [&](const LengthReport& report, const char* kind, const std::string& what) {
      const std::optional<Verdict> verdict = judge_report(view, report, kind, what);
      return verdict && gathered.add(*verdict);
    };
    if (view.report->lengths && add(*view.report->lengths, "length_value", "length")) break;
    if (!view.report->layer_lengths) continue;
    bool failed = false;
    for (std::size_t l = 0; l < view.report->layer_lengths->size() && !failed; ++l)
      failed = add((*view.report->layer_lengths)[l], "layer_length", fmt::format("length in layer {}", l));
    if (failed) break;
  }
  return gathered.verdict("no length of a session was reported");
}

}  // namespace

Property seq_length_counts_tokens() {
  Property law;
  law.name = "seq_length_counts_tokens";
  law.claim =
      "Length is 0 when fresh and afterwards exactly the committed tokens of that row, in every layer, after every step; reading "
      "it changes nothing.";
  law.needs = {{"append"}};
  law.always = true;
  law.aim.favour = {{"length", 8}, {"crop", 8}, {"reset", 4}, {"generate", 6}};
  law.judge = judge;
  return law;
}

}  // namespace cachet::properties
