// Prefill and decode are the same append at other sizes, so any split of the tokens must give the same rows.
#include <algorithm>

#include "harness/compare.h"
#include "properties/twins.h"

namespace cachet::properties {
namespace {

constexpr int kMostGaps = 16;

/// Lengths of the pieces of n >= 2 tokens: the k-th choice is a nonempty set of the first gaps, bit by bit.
std::vector<int> pieces(const Case& value, std::size_t k, int n, int least) {
  const int gaps = std::min(n - 1, kMostGaps);
  const int set = 1 + choice(value, value.vary.empty() ? 0 : k % value.vary.size(), (1 << gaps) - 1);
  std::vector<int> out = {0};
  for (int i = 0; i < n; ++i) {
    ++out.back();
    if (i < gaps && ((set >> i) & 1) != 0 && out.back() >= least && n - 1 - i >= least) out.push_back(0);
  }
  return out;
}

/// The length of an append that can be split, 0 when it cannot.
int splittable(const StepView& view) {
  const auto* append = std::get_if<Append>(view.step);
  if (append == nullptr || !view.ok() || !view.judged || view.expected.demand != Demand::kAnswer || !append->keep ||
      !append->pad.empty())
    return 0;
  const std::size_t n = append->tokens.front().size();
  const bool even = std::all_of(append->tokens.begin(), append->tokens.end(), [&](const Tokens& row) { return row.size() == n; });
  return even && n >= 2 ? static_cast<int>(n) : 0;
}

Verdict judge(const Case& value, Lab& lab) {
  const Observed& main = lab.main();
  std::vector<Step> twin;
  Comparison comparison{{}, "chunk"};
  std::size_t splits = 0, k = 0;
  for (const StepView& view : main.views) {
    const int n = splittable(view);
    const std::vector<int> sizes =
        n > 0 ? pieces(value, k++, n, lab.configuration().declarations.append_min.value_or(1)) : std::vector<int>{n};
    splits += sizes.size() - 1;
    int at = 0;
    for (const int size : sizes) {
      comparison.pairs.emplace_back(view.index, static_cast<int>(twin.size()));
      twin.push_back(*view.step);
      if (sizes.size() == 1) break;
      Rows& rows = std::get<Append>(twin.back()).tokens;
      for (Tokens& row : rows) row = Tokens(row.begin() + at, row.begin() + at + size);
      at += size;
    }
  }
  if (splits == 0) return Vacuous{"no append could be split"};
  return compare_runs(lab, main, lab.fresh(twin), comparison);
}

}  // namespace

Property chunked_append() {
  Property law;
  law.name = "chunked_append";
  law.claim = "Any split of the tokens into appends gives the same rows, lengths and state.";
  law.needs = {{"append"}};
  law.aim.favour = {{"append", 30}};
  law.aim.vary = [](const std::vector<Step>&, const ModelSpec&, Draw& draw) { return choices(draw, 2, 255); };
  law.judge = judge;
  return law;
}

}  // namespace cachet::properties
