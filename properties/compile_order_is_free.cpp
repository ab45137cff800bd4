// Which session's shapes were compiled first must not matter: a graph may keep nothing of the call that it was traced with. The
// twin serves the sessions in the opposite order, each of them whole.
#include <algorithm>

#include "harness/compare.h"
#include "properties/twins.h"

namespace cachet::properties {
namespace {

/// Sessions in the order in which they first appear.
std::vector<std::string> names_of(const Observed& main) {
  std::vector<std::string> out;
  for (const StepView& view : main.views) {
    const std::string name = session_of(*view.step);
    if (std::find(out.begin(), out.end(), name) == out.end()) out.push_back(name);
  }
  return out;
}

bool stands_alone(const Step& step) {
  return !session_of(step).empty() && !std::holds_alternative<Fork>(step) && !std::holds_alternative<Save>(step) &&
         !std::holds_alternative<Restore>(step) && !std::holds_alternative<Release>(step);
}

Verdict judge(const Case&, Lab& lab) {
  const Observed& main = lab.main();
  const bool alone = std::all_of(main.steps.begin(), main.steps.end(), stands_alone);
  if (!alone) return Vacuous{"a call concerns more than one session"};
  std::vector<std::string> names = names_of(main);
  if (names.size() < 2) return Vacuous{"there was one session"};
  std::reverse(names.begin(), names.end());
  std::vector<Step> twin;
  Comparison comparison;
  for (const std::string& name : names)
    for (const StepView& view : main.views) {
      if (session_of(*view.step) != name) continue;
      comparison.pairs.emplace_back(view.index, static_cast<int>(twin.size()));
      twin.push_back(*view.step);
    }
  std::sort(comparison.pairs.begin(), comparison.pairs.end());
  return compare_runs(lab, main, lab.fresh(twin), comparison);
}

}  // namespace

Property compile_order_is_free() {
  Property law;
  law.name = "compile_order_is_free";
  law.claim = "Compiling on one session and then running another equals the other way round.";
  law.needs = {{"append"}, {"compilations"}};
  law.aim.favour = {{"open", 20}, {"append", 25}, {"complete", -1000}, {"recompile", -1000}};
  law.aim.must = {"open"};
  law.judge = judge;
  return law;
}

}  // namespace cachet::properties
