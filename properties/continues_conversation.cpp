// A conversation is generate, append, generate: what the loop emitted must be in the cache once, as if it had been fed.
#include <algorithm>

#include "harness/compare.h"
#include "harness/step_parts.h"
#include "properties/twins.h"

namespace cachet::properties {
namespace {

/// What a generate added to each row, when all rows got equally many and an append could have fed it.
std::optional<Rows> added(const StepView& view, const ModelSpec& spec) {
  const auto* generate = std::get_if<Generate>(view.step);
  const bool fits = generate != nullptr && generate->loop.extras.empty() && view.ok() && view.judged && view.before &&
                    view.expected.demand == Demand::kAnswer && view.after && !view.after->torn && !view.after->moved &&
                    view.after->longest() <= std::min(view.after->capacity, spec.context);
  if (!fits) return std::nullopt;
  Rows out;
  for (int r = 0; r < view.after->rows(); ++r) {
    const Tokens &then = view.before->history[static_cast<std::size_t>(r)],
                 &now = view.after->history[static_cast<std::size_t>(r)];
    out.emplace_back(now.begin() + std::ssize(then), now.end());
    if (out.back().empty() || out.back().size() != out.front().size()) return std::nullopt;
  }
  return out;
}

/// The generates that the session goes on after, the latest first.
std::vector<int> turns(const Observed& main) {
  std::vector<int> out;
  for (std::size_t i = 0; i < main.views.size(); ++i) {
    if (!added(main.views[i], main.model->spec)) continue;
    const std::string name = session_of(main.steps[i]);
    const bool goes_on =
        std::any_of(main.views.begin() + static_cast<std::ptrdiff_t>(i) + 1, main.views.end(), [&](const StepView& v) {
          const bool feeds = std::holds_alternative<Append>(*v.step) || loop_of(*v.step) != nullptr;
          return feeds && v.ok() && session_of(*v.step) == name;
        });
    if (goes_on) out.insert(out.begin(), static_cast<int>(i));
  }
  return out;
}

Verdict judge(const Case& value, Lab& lab) {
  const Observed& main = lab.main();
  const Declarations& d = lab.configuration().declarations;
  const std::vector<int> all = turns(main);
  if (all.empty()) {
    bool any = false;
    for (const StepView& v : main.views) any = any || added(v, main.model->spec).has_value();
    return Vacuous{any ? "no session went on after its loop" : "no loop emitted what an append could have fed"};
  }
  const int turn = all[static_cast<std::size_t>(choice(value, 0, static_cast<int>(all.size())))];
  const StepView& view = main.views[static_cast<std::size_t>(turn)];
  const Rows tokens = *added(view, main.model->spec);
  const int n = static_cast<int>(tokens.front().size()), most = d.append_max.value_or(n);
  if (d.append_min.value_or(1) > 1) return Vacuous{"what was emitted may not be appended"};
  std::vector<Step> twin;
  Comparison comparison;
  for (const StepView& v : main.views) {
    if (v.index != turn) {
      twin.push_back(*v.step);
    } else {
      for (int at = 0; at < n; at += most) {
        Append piece{session_of(*v.step), {}, {}, Want::kLast, true};
        for (const Tokens& row : tokens) piece.tokens.emplace_back(row.begin() + at, row.begin() + std::min(at + most, n));
        twin.push_back(std::move(piece));
      }
    }
    comparison.pairs.emplace_back(v.index, static_cast<int>(twin.size()) - 1);
  }
  return compare_runs(lab, main, lab.fresh(twin), comparison);
}

}  // namespace

Property continues_conversation() {
  Property law;
  law.name = "continues_conversation";
  law.claim =
      "generate, append the next turn, generate: equals one run over the whole history; the pending token is in the cache "
      "exactly "
      "once.";
  law.needs = {{"append"}, {"generate"}};
  law.aim.favour = {{"generate", 20}, {"append", 40}, {"complete", -1000}, {"open", -10},
                    {"close", -1000}, {"reset", -4},  {"poison", -10},     {"length", -10}};
  law.aim.must = {"generate"};
  law.aim.vary = [](const std::vector<Step>&, const ModelSpec&, Draw& draw) { return choices(draw, 1, 2); };
  law.judge = judge;
  return law;
}

}  // namespace cachet::properties
