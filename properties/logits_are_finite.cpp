// A row of NaN compares as unequal to everything and as larger than nothing, so a loop over it goes on quietly with token 0.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/compare.h"

namespace cachet::properties {
namespace {

Verdict judge(const Case&, Lab& lab) {
  bool any = false;
  for (const StepView& view : lab.main().views) {
    if (!view.judged) continue;
    for (const AskedRow& asked : asked_rows(view)) {
      const LogitsArray& logits = *view.report->logits;
      if (logits.is_absent(asked.row, asked.position)) continue;
      any = true;
      const std::vector<double> row = logits.at(asked.row, asked.position);
      const auto bad = std::find_if(row.begin(), row.end(), [](double x) { return !std::isfinite(x); });
      if (bad != row.end())
        return fail_at(view, "not_finite", "finite logits", fmt::format("{} at logit {}", *bad, bad - row.begin()),
                       fmt::format("row {}, position {}", asked.row, asked.position));
    }
  }
  return any ? Verdict(Pass{}) : Vacuous{"no logits were returned"};
}

}  // namespace

Property logits_are_finite() {
  Property law;
  law.name = "logits_are_finite";
  law.claim = "No NaN or infinity in any returned row.";
  law.needs = {{"append"}};
  law.always = true;
  law.aim.favour = {{"append", 15}, {"poison", 8}, {"close", 4}};
  law.aim.must = {"append"};
  law.judge = judge;
  return law;
}

}  // namespace cachet::properties
