// How a model is run (eagerly, compiled, over one kind of cache or another) must not show in what it says. The twin is the same
// trace in another configuration of the backend.
#include <algorithm>

#include "harness/compare.h"
#include "properties/twins.h"

namespace cachet::properties {
namespace {

Verdict judge(const Case&, Lab& lab) {
  const Observed& main = lab.main();
  const Observed* other = lab.elsewhere(main.steps);
  if (other == nullptr) return Vacuous{"the backend has one configuration"};
  Comparison comparison;
  comparison.lengths = false;  // where a loop's last token is counted is each configuration's own
  for (std::size_t i = 0; i < std::min(main.views.size(), other->views.size()); ++i)
    if (main.views[i].expected == other->views[i].expected) comparison.pairs.emplace_back(i, i);
  return compare_runs(lab, main, *other, comparison);
}

}  // namespace

Property eager_equals_compiled() {
  Property law;
  law.name = "eager_equals_compiled";
  law.claim = "Two configurations of one backend, such as an eager and a compiled one, emit equal tokens on one trace.";
  law.needs = {{"append", "complete"}};
  law.aim.favour = {{"complete", 10}, {"append", 15}, {"generate", 15}};
  law.judge = judge;
  return law;
}

}  // namespace cachet::properties
