// See twins.h.
#include "properties/twins.h"

#include <algorithm>

namespace cachet::properties {

int choice(const Case& value, std::size_t i, int count) {
  if (i >= value.vary.size() || count < 1) return 0;
  return static_cast<int>(((value.vary[i] % count) + count) % count);
}

std::vector<std::int64_t> choices(Draw& draw, int count, std::int64_t high) {
  std::vector<std::int64_t> out;
  for (int i = 0; i < count; ++i) out.push_back(draw.between(0, high));
  return out;
}

std::optional<int> chosen_step(const Case& value, const Observed& main, bool (*qualifies)(const StepView&)) {
  std::vector<int> last_first;
  for (const StepView& view : main.views)
    if (qualifies(view)) last_first.insert(last_first.begin(), view.index);
  if (last_first.empty()) return std::nullopt;
  return last_first[static_cast<std::size_t>(choice(value, 0, static_cast<int>(last_first.size())))];
}

Restart restart(const Observed& main, const std::string& session, int from, const Configuration& configuration) {
  Restart out;
  const ShadowSession& now = *main.views[static_cast<std::size_t>(from)].after;
  out.steps.push_back(Open{session, now.rows(), now.capacity});
  const int n = now.longest();
  const int most = configuration.declarations.append_max.value_or(std::max(n, 1));
  for (int at = 0; at < n; at += most) {
    Append piece{session, {}, {}, Want::kLast, true};
    for (const Tokens& row : now.history)
      piece.tokens.emplace_back(row.begin() + std::min<int>(at, static_cast<int>(row.size())),
                                row.begin() + std::min<int>(at + most, static_cast<int>(row.size())));
    out.steps.push_back(std::move(piece));
  }
  out.pairs.emplace_back(from, static_cast<int>(out.steps.size()) - 1);
  for (std::size_t i = static_cast<std::size_t>(from) + 1; i < main.views.size(); ++i) {
    const Step& step = main.steps[i];
    if (session_of(step) != session) continue;
    if (std::holds_alternative<Restore>(step) || std::holds_alternative<Rollback>(step)) break;
    if (std::holds_alternative<Fork>(step) || std::holds_alternative<Save>(step) || std::holds_alternative<Snapshot>(step))
      continue;
    out.pairs.emplace_back(static_cast<int>(i), static_cast<int>(out.steps.size()));
    out.steps.push_back(step);
    if (std::holds_alternative<Close>(step) || std::holds_alternative<Release>(step)) break;
  }
  return out;
}

}  // namespace cachet::properties
