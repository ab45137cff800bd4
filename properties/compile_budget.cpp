// Compiling is paid once for a shape: not at each step, not at each call, and not again for what is compiled. The second run in
// the same life is the warm one; after `recompile` everything is compiled anew, or it would be computed by something else.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "harness/compare.h"
#include "properties/twins.h"

namespace cachet::properties {
namespace {

/// Signatures that static shapes can have; at least one.
std::size_t most_signatures(const Declarations& d, std::size_t row_counts) {
  const auto of = [](const std::vector<int>& buckets, std::size_t otherwise) {
    return buckets.empty() ? otherwise : buckets.size();
  };
  return of(d.append_buckets, 1) * of(d.capacity_buckets, 1) * of(d.row_buckets, std::max<std::size_t>(row_counts, 1));
}

/// What was compiled since the graphs were dropped last.
class Count {
 public:
  explicit Count(const Declarations& d) : declared_(d) {}

  /// The failure at this step, if any. `known` are the events of a view that a failure is reported at.
  std::optional<Verdict> add(const StepView& view, const StepView& reported) {
    if (std::holds_alternative<Recompile>(*view.step) && view.ok()) {
      compiled_.clear();
      signatures_.clear();
    }
    for (const ModelCall& call : view.report->calls.value_or(std::vector<ModelCall>{})) rows_.insert(call.tokens.size());
    for (const Compilation& c : view.report->compilations.value_or(std::vector<Compilation>{})) {
      any_ = true;
      const int n = ++compiled_[{c.what, c.signature}];
      signatures_.insert(c.signature);
      const auto budget = declared_.compile_budget.find(c.what);
      if (budget != declared_.compile_budget.end() && n > budget->second)
        return fail_at(reported, "compiled_again",
                       fmt::format("{} compiled at most {} times for a signature", c.what, budget->second),
                       fmt::format("compilation {} of {} for \"{}\"", n, c.what, c.signature));
    }
    const std::size_t most = most_signatures(declared_, rows_.size());
    if (signatures_.size() > most)
      return fail_at(reported, "signatures", fmt::format("at most {} signatures: one a bucket", most),
                     fmt::format("{} signatures", signatures_.size()));
    return std::nullopt;
  }
  bool any() const { return any_; }

 private:
  const Declarations& declared_;
  std::map<std::pair<std::string, std::string>, int> compiled_;
  std::set<std::string> signatures_;
  std::set<std::size_t> rows_;
  bool any_ = false;
};

/// What each step of a fresh life compiled is compiled again somewhere in the run after `recompile`.
std::optional<Verdict> compiled_anew(const Observed& main, Lab& lab) {
  const bool retains = std::any_of(main.steps.begin(), main.steps.end(), [](const Step& s) {
    return std::holds_alternative<Complete>(s) || std::holds_alternative<Recompile>(s);
  });
  if (!lab.configuration().can("recompile") || retains) return std::nullopt;  // a retained prefix feeds other shapes
  const Observed& fresh = lab.fresh(main.steps);
  std::vector<Step> again = {Recompile{}};
  again.insert(again.end(), main.steps.begin(), main.steps.end());
  const Observed& anew = lab.same(again);
  std::set<std::pair<std::string, std::string>> seen;
  for (const StepView& view : anew.views)
    for (const Compilation& c : view.report->compilations.value_or(std::vector<Compilation>{}))
      seen.insert({c.what, c.signature});
  for (std::size_t i = 0; i < std::min(fresh.views.size(), main.views.size()); ++i)
    for (const Compilation& c : fresh.views[i].report->compilations.value_or(std::vector<Compilation>{}))
      if (seen.count({c.what, c.signature}) == 0)
        return fail_at(main.views[i], "not_compiled",
                       fmt::format("{} compiled anew for \"{}\" after recompile", c.what, c.signature),
                       "no compilation: something else computed it");
  return std::nullopt;
}

Verdict judge(const Case&, Lab& lab) {
  const Declarations& d = lab.configuration().declarations;
  if (d.compile_budget.empty()) return Vacuous{"no budget is declared"};
  const Observed& main = lab.main();
  Count count(d);
  for (const StepView& view : main.views)
    if (auto failure = count.add(view, view)) return *failure;
  const Observed& warm = lab.same(main.steps);
  if (&warm != &main) {
    for (std::size_t i = 0; i < std::min(warm.views.size(), main.views.size()); ++i)
      if (auto failure = count.add(warm.views[i], main.views[i])) return *failure;
    if (auto failure = compiled_anew(main, lab)) return *failure;
  }
  return count.any() ? Verdict(Pass{}) : Vacuous{"nothing was compiled"};
}

}  // namespace

Property compile_budget() {
  Property law;
  law.name = "compile_budget";
  law.claim =
      "Compilations stay within the declared budget: none after warm-up, none per step or per call, no silent fall to eager.";
  law.tier = Tier::kDeclared;
  law.needs = {{"compilations"}};
  law.always = true;
  law.aim.favour = {{"append", 20}, {"generate", 15}, {"recompile", 4}};
  law.judge = judge;
  return law;
}

}  // namespace cachet::properties
