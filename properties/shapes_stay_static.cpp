// A compiled model sees the shapes of its buckets and no others: what is smaller is padded, what is larger refused or split.
#include <fmt/format.h>

#include <algorithm>

#include "harness/compare.h"

namespace cachet::properties {
namespace {

bool known(const std::vector<int>& buckets, std::int64_t n) {
  return buckets.empty() || std::find(buckets.begin(), buckets.end(), n) != buckets.end();
}

Verdict judge(const Case&, Lab& lab) {
  const Declarations& d = lab.configuration().declarations;
  const bool compiles_all = !d.compile_budget.empty() && std::all_of(d.compile_budget.begin(), d.compile_budget.end(),
                                                                     [](const auto& entry) { return entry.second > 0; });
  if (!compiles_all) return Vacuous{"some calls are not compiled"};
  if (d.append_buckets.empty()) return Vacuous{"no buckets are declared"};
  bool any = false;
  for (const StepView& view : lab.main().views) {
    if (!view.judged) continue;
    for (const ModelCall& call : view.report->calls.value_or(std::vector<ModelCall>{})) {
      if (call.shape.size() < 2) continue;
      any = true;
      if (!known(d.row_buckets, call.shape[0]) || !known(d.append_buckets, call.shape[1]))
        return fail_at(
            view, "shape",
            fmt::format("rows of {} and tokens of {}", fmt::join(d.row_buckets, ", "), fmt::join(d.append_buckets, ", ")),
            fmt::format("a call of shape ({}, {})", call.shape[0], call.shape[1]));
    }
  }
  return any ? Verdict(Pass{}) : Vacuous{"no call told its shape"};
}

}  // namespace

Property shapes_stay_static() {
  Property law;
  law.name = "shapes_stay_static";
  law.claim = "A fixed-shape backend sees one shape signature per declared bucket; others are padded to one or refused.";
  law.tier = Tier::kDeclared;
  law.needs = {{"calls"}, {"compilations"}};
  law.always = true;
  law.aim.favour = {{"append", 25}, {"complete", 8}, {"generate", 8}};
  law.judge = judge;
  return law;
}

}  // namespace cachet::properties
