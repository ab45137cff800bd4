// How much room a call was given must not show in what it says: no position may come from the shape of a padded cache.
#include <algorithm>
#include <map>

#include "harness/compare.h"
#include "harness/step_parts.h"
#include "properties/twins.h"

namespace cachet::properties {
namespace {

/// The slots that the session opened at step `from` needs at most until its name ends.
int needed(const Observed& main, std::size_t from) {
  const std::string name = session_of(main.steps[from]);
  int most = 1;
  for (std::size_t i = from; i < main.views.size(); ++i) {
    const StepView& view = main.views[i];
    const auto* fork = std::get_if<Fork>(view.step);  // the copy keeps the capacity
    if (i > from && std::holds_alternative<Open>(*view.step) && session_of(*view.step) == name && view.ok()) break;
    if (session_of(*view.step) != name && fork == nullptr) continue;
    if (view.after) most = std::max(most, view.after->longest());
    if (!view.before) continue;
    const Rows* fed = rows_of(*view.step);
    const Loop* loop = loop_of(*view.step);
    for (int r = 0; r < view.before->rows(); ++r) {
      const auto row = static_cast<std::size_t>(r);
      const std::size_t more = fed != nullptr && row < fed->size() ? (*fed)[row].size() : 0;
      most = std::max(most, static_cast<int>(view.before->history[row].size() + more) + (loop != nullptr ? loop->new_tokens : 0));
    }
  }
  return most;
}

/// Another size from `least` to `most`: boundaries of the declared buckets and of the range, by the case's k-th choice.
int other_size(const Case& value, std::size_t k, int now, int least, int most, const Declarations& d) {
  std::vector<int> sizes = {least, most, now + 1, now - 1, least + 1, 2 * now};
  for (const int b : d.capacity_buckets) sizes.insert(sizes.end(), {b - 1, b, b + 1});
  if (d.block) sizes.insert(sizes.end(), {now - now % *d.block, now - now % *d.block + *d.block});
  std::erase_if(sizes, [&](int n) { return n < least || n > most || n == now; });
  if (sizes.empty()) return now;
  return sizes[static_cast<std::size_t>(
      choice(value, value.vary.empty() ? 0 : k % value.vary.size(), static_cast<int>(sizes.size())))];
}

Verdict judge(const Case& value, Lab& lab) {
  const Observed& main = lab.main();
  const Declarations& d = lab.configuration().declarations;
  const int largest = std::min(main.model->spec.context, d.max_capacity.value_or(main.model->spec.context));
  std::vector<Step> twin(main.steps.begin(), main.steps.begin() + static_cast<std::ptrdiff_t>(main.views.size()));
  std::size_t k = 0;
  bool changed = false;
  for (std::size_t i = 0; i < twin.size(); ++i) {
    if (main.views[i].expected.demand != Demand::kAnswer || !main.views[i].ok()) continue;
    if (auto* open = std::get_if<Open>(&twin[i])) {
      const int least = needed(main, i);
      if (least > open->capacity) continue;  // a run into the end is another law's matter
      open->capacity = other_size(value, k++, open->capacity, least, std::max(largest, open->capacity), d);
    } else if (auto* complete = std::get_if<Complete>(&twin[i])) {
      const int prompt =
          static_cast<int>(std::max_element(complete->tokens.begin(), complete->tokens.end(), [](const auto& a, const auto& b) {
                             return a.size() < b.size();
                           })->size());
      const int least = prompt + complete->loop.new_tokens;
      if (least > complete->capacity.value_or(largest)) continue;
      complete->capacity = other_size(value, k++, complete->capacity.value_or(0), least, largest, d);
      if (*complete->capacity < least) complete->capacity.reset();
      if (complete->loop.new_tokens > 1 && choice(value, 0, 2) == 1)  // a prefix of the tokens, then
        complete->loop.new_tokens = 1 + choice(value, value.vary.size() - 1, complete->loop.new_tokens - 1);
    }
    changed = changed || twin[i] != main.steps[i];
  }
  if (!changed) return Vacuous{"no capacity or budget could be another"};
  const Observed& other = lab.fresh(twin);
  Comparison comparison;
  for (std::size_t i = 0; i < std::min(main.views.size(), other.views.size()); ++i)
    if (main.views[i].expected == other.views[i].expected) comparison.pairs.emplace_back(i, i);
  return compare_runs(lab, main, other, comparison);
}

}  // namespace

Property capacity_is_invisible() {
  Property law;
  law.name = "capacity_is_invisible";
  law.claim = "Capacity, bucket and token budget do not change the tokens they both reach.";
  law.needs = {{"append", "complete"}};
  law.aim.favour = {{"complete", 15}, {"append", 10}, {"generate", 10}};
  law.aim.vary = [](const std::vector<Step>&, const ModelSpec&, Draw& draw) { return choices(draw, 3, 63); };
  law.judge = judge;
  return law;
}

}  // namespace cachet::properties
