// Sessions share a model, a pool and often a batch; none of it may show. The twin has one of them alone.
#include <algorithm>

#include "harness/compare.h"
#include "properties/twins.h"

namespace cachet::properties {
namespace {

/// The sessions that begin empty in this run and answer with something while others are at work: the latest first.
std::vector<std::string> with_company(const Observed& main) {
  std::vector<std::string> out, copies;
  for (const StepView& view : main.views)
    if (const auto* fork = std::get_if<Fork>(view.step)) copies.push_back(fork->into);
  const auto has = [](const std::vector<std::string>& names, const std::string& name) {
    return std::count(names.begin(), names.end(), name) > 0;
  };
  bool others = false;  // since the session's first step
  for (auto view = main.views.rbegin(); view != main.views.rend(); ++view) {
    const std::string name = session_of(*view->step);
    const bool feeds = std::holds_alternative<Append>(*view->step) || std::holds_alternative<Generate>(*view->step);
    if (name.empty() || !feeds || !view->ok() || has(out, name) || has(copies, name)) continue;
    others = std::any_of(main.views.begin(), main.views.begin() + view->index,
                         [&](const StepView& v) { return v.ok() && session_of(*v.step) != name; });
    if (others) out.push_back(name);
  }
  return out;
}

Verdict judge(const Case& value, Lab& lab) {
  const Observed& main = lab.main();
  const std::vector<std::string> names = with_company(main);
  if (names.empty()) return Vacuous{"no session had others beside it"};
  const std::string name = names[static_cast<std::size_t>(choice(value, 0, static_cast<int>(names.size())))];
  std::vector<Step> twin;
  Comparison comparison;
  for (const StepView& view : main.views) {
    if (session_of(*view.step) != name) continue;
    if (std::holds_alternative<Restore>(*view.step)) break;  // the blob may be another session's
    comparison.pairs.emplace_back(view.index, static_cast<int>(twin.size()));
    twin.push_back(*view.step);
  }
  return compare_runs(lab, main, lab.fresh(twin), comparison);
}

}  // namespace

Property sessions_are_isolated() {
  Property law;
  law.name = "sessions_are_isolated";
  law.claim = "Steps on one session leave all others unchanged, wherever they lie in memory.";
  law.needs = {{"append"}};
  law.aim.favour = {{"open", 15}, {"append", 25}, {"close", 4}};
  law.aim.must = {"open"};
  law.aim.vary = [](const std::vector<Step>&, const ModelSpec&, Draw& draw) { return choices(draw, 1, 2); };
  law.judge = judge;
  return law;
}

}  // namespace cachet::properties
