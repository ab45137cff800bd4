// Finds the weights of standard models (harness/shrink_search.h: telling_weights): of the first N seeds the one under which the
// greedy token tells most histories apart. Usage: cachet_telling_weights FAMILY FIRST-SEED LAST-SEED
//
// Counted are the pairs of short histories of zeros and ones of which one is the other with a token more, at the front or at the
// back, or with one token changed: what a cache that loses, keeps or misreads one token makes of a history.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <string>

#include "harness/shrink_search.h"
#include "reference/forward.h"

namespace cachet {
namespace {

constexpr int kLongest = 4;

std::vector<Tokens> histories() {
  std::vector<Tokens> out;
  for (int n = 1; n <= kLongest; ++n)
    for (int bits = 0; bits < (1 << n); ++bits) {
      Tokens h;
      for (int i = n - 1; i >= 0; --i) h.push_back((bits >> i) & 1);
      out.push_back(std::move(h));
    }
  return out;
}

bool one_apart(const Tokens& shorter, const Tokens& longer) {
  if (shorter.size() == longer.size())
    return std::inner_product(shorter.begin(), shorter.end(), longer.begin(), 0, std::plus<>(), std::not_equal_to<>()) == 1;
  return shorter.size() + 1 == longer.size() && (std::equal(shorter.begin(), shorter.end(), longer.begin()) ||
                                                 std::equal(shorter.begin(), shorter.end(), longer.begin() + 1));
}

std::vector<std::pair<Tokens, Tokens>> pairs() {
  std::vector<std::pair<Tokens, Tokens>> out;
  const std::vector<Tokens> all = histories();
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t j = i + 1; j < all.size(); ++j)
      if (one_apart(all[i], all[j])) out.emplace_back(all[i], all[j]);
  return out;
}

/// How many of the pairs the model's greedy token tells apart.
long told_apart(const Model& model, const std::vector<std::pair<Tokens, Tokens>>& all) {
  std::map<Tokens, std::ptrdiff_t> choice;
  for (const Tokens& h : histories()) {
    if (static_cast<int>(h.size()) < kLongest) continue;  // causal: the longest histories hold all others as prefixes
    const auto rows = reference::forward(model, h);
    for (int t = 0; t < rows.tokens; ++t)
      choice[Tokens(h.begin(), h.begin() + t + 1)] = std::max_element(rows.row(t), rows.row(t) + rows.vocab) - rows.row(t);
  }
  return std::count_if(all.begin(), all.end(), [&](const auto& pair) { return choice[pair.first] != choice[pair.second]; });
}

int search(const std::string& family, std::uint64_t first, std::uint64_t last) {
  const auto all = pairs();
  long most = -1;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    ModelSpec spec = standard_model(standard_spec(family));
    spec.weights = {WeightRecipe::Kind::kSeed, "", seed};
    const Result<ModelPtr> model = build_model(spec);
    if (!model) return fmt::print(stderr, "{}\n", model.error().message), 2;
    if (const long n = told_apart(**model, all); n > most)
      fmt::print("seed:{} tells {} of {} pairs apart\n", seed, most = n, all.size());
  }
  return 0;
}

}  // namespace
}  // namespace cachet

int main(int argc, char** argv) {
  if (argc != 4) return fmt::print(stderr, "usage: {} FAMILY FIRST-SEED LAST-SEED\n", argv[0]), 2;
  return cachet::search(argv[1], std::stoull(argv[2]), std::stoull(argv[3]));
}
