// Envelopes and the cache behind them, and the two judgements, on rows whose answer is known.
#include "harness/oracle.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/reference/float_decoder.h"

namespace cachet {
namespace {

using testing::float_rows;
using testing::FloatWays;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

ModelPtr model(std::uint64_t seed, int layers = 2, int width = 8, int vocab = 9) {
  ModelSpec spec;
  spec.layers = layers;
  spec.heads = 1;
  spec.width = width;
  spec.vocab = vocab;
  spec.context = 16;
  spec.weights.seed = seed;
  return *build_model(spec);
}

/// One of the models on which correct and wrong decoders are tried: of both families, all sizes small.
ModelPtr varied(std::uint64_t seed, bool llama) {
  const int layers = 1 + static_cast<int>(seed % 3), width = 2 + static_cast<int>(seed % 9);
  if (!llama) return model(seed, layers, width, 12);
  ModelSpec spec = standard_spec("llama");
  spec.layers = layers;
  spec.heads = 1 + static_cast<int>(seed % 4);
  spec.kv_heads = spec.heads == 4 ? 2 : 1;
  spec.head_dim = 2 + 2 * static_cast<int>(seed % 3);
  spec.width = width * spec.heads;
  spec.vocab = 12;
  spec.context = 16;
  spec.rope_theta = seed % 2 == 0 ? 10000 : 50;
  spec.tie_word_embeddings = seed % 5 == 0;
  spec.weights.seed = seed;
  return *build_model(spec);
}

Tokens history(int n, int vocab, int salt) {
  Tokens out;
  for (int t = 0; t < n; ++t) out.push_back((t * t * 5 + t * salt + salt) % vocab);
  return out;
}

OracleRow row_of(std::vector<double> logits, double envelope) {
  OracleRow row;
  row.envelope.assign(logits.size(), envelope);
  row.logits = std::move(logits);
  row.sigma = envelope / 16;
  return row;
}

bool same(const OracleRow& a, const OracleRow& b) {
  return a.logits == b.logits && a.envelope == b.envelope && a.sigma == b.sigma;
}

TEST(Oracle, ResultsDoNotDependOnWhatWasAskedBefore) {
  const ModelPtr m = model(1), other = model(2);
  const Tokens whole = history(12, 9, 3);
  Oracle long_first, short_first, mixed;
  long_first.prepare(m, whole, {});
  for (int n = 12; n >= 1; --n) {
    const Tokens prefix(whole.begin(), whole.begin() + n);
    mixed.greedy(other, prefix, 3, {});
    mixed.row(m, prefix, {"float16", "float16", "float16"});
    mixed.greedy(m, history(n, 9, 4), 4, {});
    Oracle alone;
    EXPECT_TRUE(same(long_first.row(m, prefix, {}), alone.row(m, prefix, {}))) << n;
    EXPECT_TRUE(same(mixed.row(m, prefix, {}), alone.row(m, prefix, {}))) << n;
  }
  for (int n = 1; n <= 12; ++n) {
    const Tokens prefix(whole.begin(), whole.begin() + n);
    EXPECT_TRUE(same(short_first.row(m, prefix, {}), long_first.row(m, prefix, {}))) << n;
  }
}

TEST(Oracle, ARowOutlivesTheNextCallsEvenWhenTheCacheIsFull) {
  Oracle oracle;
  std::vector<ModelPtr> models;
  for (std::uint64_t seed = 0; seed < 3; ++seed) models.push_back(model(seed, 1, 2, 4096));
  for (int salt = 0; salt < 6; ++salt) oracle.row(models[salt % 3], history(16, 4096, salt), {});  // 2 MB each
  const OracleRow& kept = oracle.row(models[0], history(2, 4096, 1), {});
  const OracleRow copy = kept;
  for (int call = 0; call < Oracle::kKept; ++call) {
    if (call % 2 == 0) {
      oracle.row(models[1], history(16, 4096, 200 + call), {});
    } else {
      oracle.greedy(models[2], history(3, 4096, 200 + call), 6, {});
    }
  }
  EXPECT_TRUE(same(kept, copy));
  EXPECT_TRUE(same(oracle.row(models[0], history(2, 4096, 1), {}), copy));
}

TEST(Oracle, MemoryIsBounded) {
  Oracle oracle;
  for (int salt = 0; salt < 40; ++salt) oracle.greedy(model(1, 1, 2, 4096), history(16, 4096, salt), 1, {});  // 1 MB each
  const std::size_t bytes = oracle.remembered_bytes();
  EXPECT_GT(bytes, Oracle::kMostBytes / 2);
  EXPECT_LT(bytes, Oracle::kMostBytes + (2u << 20));
}

TEST(Oracle, EnvelopesHaveNoZeroAndGrowWithTheClass) {
  Oracle oracle;
  const ModelPtr m = model(3);
  const Tokens h = history(6, 9, 2);
  double before = 0;
  for (const std::string name : {"float64", "float32", "float16", "bfloat16"}) {
    const OracleRow& row = oracle.row(m, h, {name, name, name});
    const double least = *std::min_element(row.envelope.begin(), row.envelope.end());
    EXPECT_GT(least, 3 * before) << name;
    before = least;
  }
  EXPECT_GT(*std::min_element(oracle.row(m, h, {"exact", "exact", "exact"}).envelope.begin(),
                              oracle.row(m, h, {"exact", "exact", "exact"}).envelope.end()),
            0);
}

TEST(Oracle, UnknownAndQuantisedPartsHaveNoEnvelope) {
  EXPECT_TRUE(rounding_of({}));
  EXPECT_FALSE(rounding_of({"float32", "float32", "quantised"}));
  EXPECT_FALSE(rounding_of({"float32", "int3", "float32"}));
  EXPECT_EQ(rounding_of({"exact", "exact", "exact"}), (reference::Rounding{0x1p-53, 0, 0}));
  EXPECT_EQ(rounding_of({"float32", "bfloat16", "float16"}), (reference::Rounding{0x1p-24, 0x1p-8, 0x1p-11}));
}

class OracleOfFamily : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Llama, OracleOfFamily, ::testing::Bool());

TEST_P(OracleOfFamily, CorrectFloat32InAnyOrderIsInsideAndWrongDecodersAreOutside) {
  Oracle oracle;
  int epsilon = 0, gelu = 0, half = 0, cases = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const ModelPtr m = varied(seed, GetParam());
    const Tokens h = history(10, 12, static_cast<int>(seed));
    const auto outside = [&](const FloatWays& ways) {
      const auto rows = float_rows(*m, ways, h);
      for (int t = 0; t < 10; ++t) {
        if (!judge_row(oracle.row(m, Tokens(h.begin(), h.begin() + t + 1), {}), rows[t]).inside) return true;
      }
      return false;
    };
    for (int order = 0; order < 5; ++order) {
      for (int norm = 0; norm < 3; ++norm) {
        FloatWays ways;
        ways.order = static_cast<FloatWays::Order>(order);
        ways.norm = static_cast<FloatWays::Norm>(norm);
        ways.bias_first = order % 2 == 0;
        ways.online_softmax = norm == 1;
        ways.logistic_gelu = norm == 2;
        ways.angles = static_cast<FloatWays::Angles>((order + norm) % 4);
        EXPECT_FALSE(outside(ways)) << "seed " << seed << " order " << order << " norm " << norm;
      }
    }
    FloatWays wrong;
    wrong.epsilon = 1e-6;
    epsilon += outside(wrong);
    wrong = {};
    wrong.other_gelu = true;
    gelu += outside(wrong);
    wrong = {};
    wrong.half_cache = true;
    half += outside(wrong);
    ++cases;
  }
  EXPECT_GT(epsilon, cases * 8 / 10);
  EXPECT_GT(gelu, cases * 8 / 10);
  EXPECT_GT(half, cases * 8 / 10);
}

TEST_P(OracleOfFamily, AFloat16CacheIsInsideWhereItIsDeclared) {
  Oracle oracle;
  FloatWays ways;
  ways.half_cache = true;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const ModelPtr m = varied(seed, GetParam());
    const Tokens h = history(10, 12, static_cast<int>(seed));
    const auto rows = float_rows(*m, ways, h);
    for (int t = 0; t < 10; ++t) {
      EXPECT_TRUE(
          judge_row(oracle.row(m, Tokens(h.begin(), h.begin() + t + 1), {"float32", "float32", "float16"}), rows[t]).inside)
          << seed << " " << t;
    }
  }
}

TEST(JudgeRow, TheEdgeOfTheEnvelopeIsInside) {
  const OracleRow row = row_of({1, 2, 3}, 0.5);
  EXPECT_TRUE(judge_row(row, {1.5, 2, 2.5}).inside);
  const RowJudgement out = judge_row(row, {1.5, 2.75, 3});
  EXPECT_FALSE(out.inside);
  EXPECT_EQ(out.worst, 1);
  EXPECT_DOUBLE_EQ(out.error, 0.75);
  EXPECT_DOUBLE_EQ(out.ratio, 24);
}

TEST(JudgeRow, WhatIsNotANumberOrNotARowIsOutside) {
  const OracleRow row = row_of({1, 2, 3}, 0.5);
  for (const double bad : {kNan, kInfinity, -kInfinity}) {
    const RowJudgement judgement = judge_row(row, {1, bad, 3});
    EXPECT_FALSE(judgement.inside);
    EXPECT_EQ(judgement.worst, 1);
  }
  EXPECT_FALSE(judge_row(row, {}).inside);
  EXPECT_FALSE(judge_row(row, {1, 2}).inside);
  EXPECT_FALSE(judge_row(row, {1, 2, 3, 4}).inside);
  OracleRow broken = row;
  broken.envelope[0] = kNan;
  EXPECT_FALSE(judge_row(broken, {1, 2, 3}).inside);
}

TEST(JudgeChoice, ATieIsAMarginWithinBothEnvelopes) {
  OracleRow row = row_of({1, 2, 2, 1.5}, 0.125);
  EXPECT_EQ(row.argmax(), 1);
  EXPECT_EQ(judge_choice(row, 1), Choice::kSame);
  EXPECT_EQ(judge_choice(row, 2), Choice::kTie);
  EXPECT_EQ(judge_choice(row, 3), Choice::kDifferent);
  row.envelope[3] = 0.375;
  EXPECT_EQ(judge_choice(row, 3), Choice::kTie);
  for (const Token outside : {Token{-1}, Token{4}, std::numeric_limits<Token>::max(), std::numeric_limits<Token>::min()}) {
    EXPECT_EQ(judge_choice(row, outside), Choice::kDifferent);
  }
}

TEST(Greedy, FollowsTheArgmaxAndStopsAfterAStopToken) {
  Oracle oracle;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const ModelPtr m = model(seed);
    const Tokens prompt = history(3, 9, static_cast<int>(seed));
    Tokens all = prompt;
    for (int i = 0; i < 6; ++i) all.push_back(oracle.row(m, all, {}).argmax());
    const Tokens plain(all.begin() + 3, all.end());
    EXPECT_EQ(oracle.greedy(m, prompt, 6, {}), plain);
    EXPECT_EQ(oracle.greedy(m, prompt, 0, {}), Tokens{});
    const Tokens stopped = oracle.greedy(m, prompt, 6, {plain[2], 100});
    const auto first = std::find(plain.begin(), plain.end(), plain[2]);
    EXPECT_EQ(stopped, Tokens(plain.begin(), first + 1));
  }
}

TEST(Greedy, StopIdsAreNeverChosenAmongTheFirstMinNewTokens) {
  Oracle oracle;
  int differs = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const ModelPtr m = model(seed);
    const Tokens prompt = history(3, 9, static_cast<int>(seed));
    const Token stop = oracle.greedy(m, prompt, 1, {})[0];
    EXPECT_EQ(oracle.greedy(m, prompt, 6, {stop}).size(), 1U);
    for (const int min_new : {1, 3, 6, 99}) {
      const Tokens tokens = oracle.greedy(m, prompt, 6, {stop}, min_new);
      Tokens all = prompt;
      for (std::size_t i = 0; i < tokens.size(); ++i) {
        OracleRow row = oracle.row(m, all, {});
        if (static_cast<int>(i) < min_new) row.logits[stop] = -kInfinity;
        EXPECT_EQ(tokens[i], row.argmax());
        all.push_back(tokens[i]);
      }
      EXPECT_TRUE(tokens.size() == 6 || (tokens.back() == stop && static_cast<int>(tokens.size()) > min_new));
      differs += tokens.size() < 6;
    }
  }
  EXPECT_GT(differs, 0);
}

TEST(Greedy, EndsAtTheModelsContext) {
  Oracle oracle;
  EXPECT_EQ(oracle.greedy(model(1), history(14, 9, 1), 10, {}).size(), 3U);  // rows after 14, 15 and 16 tokens
  EXPECT_EQ(oracle.greedy(model(1), history(17, 9, 1), 10, {}).size(), 0U);
}

TEST(Greedy, WhereEveryIdIsAStopIdTheSuppressedArgmaxIsZero) {
  Oracle oracle;
  EXPECT_EQ(oracle.greedy(model(1), {1}, 3, {0, 1, 2, 3, 4, 5, 6, 7, 8}, 3), Tokens{0});
}

}  // namespace
}  // namespace cachet
