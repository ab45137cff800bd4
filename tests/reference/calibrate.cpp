// Measures the envelope: how far correct float32 decoders come, and how often three wrong ones are found. Run by hand; the
// figures stand in .decisions/0001-envelope.md.
//
//     cachet_calibrate [ROWS [FIRST-SEED [WIDTH [FAMILY]]]]      WIDTH 0: any
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include "harness/oracle.h"
#include "tests/reference/float_decoder.h"

namespace {

using namespace cachet;
using cachet::testing::FloatWays;

/// How a kind of decoder did over all its rows.
struct Tally {
  const char* name;
  long rows = 0, outside = 0, cases = 0, cases_outside = 0;
  double worst = 0;  ///< largest error / envelope
  std::string where = {};
  std::array<long, 6> beyond{};  ///< rows with an error above 2, 4, 6, 8, 12, 16 estimated deviations

  bool add(const OracleRow& expected, const std::vector<double>& observed, const std::string& place) {
    double ratio = 0;
    for (std::size_t j = 0; j < observed.size(); ++j)
      ratio = std::max(ratio, std::abs(observed[j] - expected.logits[j]) / expected.envelope[j]);
    ++rows;
    const bool out = !judge_row(expected, observed).inside;
    outside += out;
    if (ratio > worst) {
      worst = ratio;
      where = place;
    }
    constexpr std::array<double, 6> kMarks = {2, 4, 6, 8, 12, 16};
    for (std::size_t i = 0; i < kMarks.size(); ++i) beyond[i] += ratio * Oracle::kFactor > kMarks[i];
    return out;
  }

  void print() const {
    std::printf("%-16s rows %9ld  outside %8ld  cases %7ld  found %.4f  worst %.3f envelopes  rows beyond 2 4 6 8 12 16 sigma:",
                name, rows, outside, cases, cases ? static_cast<double>(cases_outside) / static_cast<double>(cases) : 0, worst);
    for (const long count : beyond) std::printf(" %.2e", rows ? static_cast<double>(count) / static_cast<double>(rows) : 0);
    std::printf("\n    %s\n", where.c_str());
  }
};

/// A Llama on the sizes of `spec`, its heads of an even size.
ModelSpec draw_llama(reference::SplitMix64& random, const ModelSpec& sizes) {
  const auto below = [&](int n) { return static_cast<int>(random.next() % static_cast<std::uint64_t>(n)); };
  ModelSpec spec = sizes;
  spec.family = "llama";
  spec.activation = "silu";
  if (spec.width / spec.heads % 2 != 0 || below(8) == 0) spec.head_dim = 2 * (1 + below(4));
  do spec.kv_heads = below(spec.heads);
  while (spec.kv_heads > 0 && spec.heads % spec.kv_heads != 0);
  const double thetas[] = {10000, 10000, 100, 500000, 2};
  spec.rope_theta = thetas[below(5)];
  spec.tie_word_embeddings = below(2) == 0;
  return spec;
}

ModelSpec draw_spec(reference::SplitMix64& random, int width, const std::string& family) {
  const auto below = [&](int n) { return static_cast<int>(random.next() % static_cast<std::uint64_t>(n)); };
  ModelSpec spec;
  spec.layers = 1 + below(3);
  spec.width = width > 0 ? width : 2 + below(15);
  do spec.heads = 1 + below(4);
  while (spec.width % spec.heads != 0);
  spec.vocab = 2 + below(31);
  spec.context = 32;
  if (below(4) == 0) spec.activation = "gelu";
  if (below(8) == 0) spec.inner = 1 + below(32);
  spec.weights.seed = random.next() % 100000;
  const int patterns = static_cast<int>(weight_patterns().size());
  if (const int pattern = below(8 * patterns); pattern < patterns)
    spec.weights = {WeightRecipe::Kind::kPattern, weight_patterns()[pattern], 0};
  if (family == "llama") return draw_llama(random, spec);
  return spec;
}

FloatWays draw_ways(reference::SplitMix64& random) {
  FloatWays ways;
  ways.order = static_cast<FloatWays::Order>(random.next() % 5);
  ways.norm = static_cast<FloatWays::Norm>(random.next() % 3);
  ways.bias_first = random.next() % 2 == 0;
  ways.logistic_gelu = random.next() % 2 == 0;
  ways.online_softmax = random.next() % 2 == 0;
  ways.angles = static_cast<FloatWays::Angles>(random.next() % 4);
  return ways;
}

void judge(Tally& tally, Oracle& oracle, const ModelPtr& model, const Tokens& history, const FloatWays& ways) {
  const auto rows = testing::float_rows(*model, ways, history);
  bool found = false;
  for (std::size_t t = 0; t < rows.size(); ++t) {
    const OracleRow& expected =
        oracle.row(model, Tokens(history.begin(), history.begin() + static_cast<std::ptrdiff_t>(t) + 1), {});
    found |= tally.add(expected, rows[t], to_string(model->spec) + " position " + std::to_string(t));
  }
  ++tally.cases;
  tally.cases_outside += found;
}

}  // namespace

int main(int argc, char** argv) {
  const long rows = argc > 1 ? std::atol(argv[1]) : 100000;
  reference::SplitMix64 random{argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1};
  const int width = argc > 3 ? std::atoi(argv[3]) : 0;
  const std::string family = argc > 4 ? argv[4] : "gpt2";
  Tally correct{"correct"}, epsilon{"epsilon 1e-6"}, gelu{"other activation"}, half{"float16 cache"};
  Oracle oracle;
  while (correct.rows < rows) {
    const auto model = build_model(draw_spec(random, width, family));
    if (!model) return 2;
    Tokens history(1 + random.next() % 32);
    for (Token& token : history) token = static_cast<Token>(random.next() % static_cast<std::uint64_t>((*model)->spec.vocab));
    oracle.prepare(*model, history, {});
    for (int way = 0; way < 4; ++way) judge(correct, oracle, *model, history, draw_ways(random));
    FloatWays wrong = draw_ways(random);
    wrong.epsilon = 1e-6;
    judge(epsilon, oracle, *model, history, wrong);
    wrong = draw_ways(random);
    wrong.other_gelu = true;
    judge(gelu, oracle, *model, history, wrong);
    wrong = draw_ways(random);
    wrong.half_cache = true;
    judge(half, oracle, *model, history, wrong);
  }
  for (const Tally* tally : {&correct, &epsilon, &gelu, &half}) tally->print();
  std::printf("%.3f ms a row in the reference\n", 1e3 * oracle.seconds() / (static_cast<double>(correct.rows) / 4));
}
