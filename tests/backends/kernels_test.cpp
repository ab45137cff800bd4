// The float32 kernels against the formulas they claim, in double precision.
#include "backends/kernels.h"

#include <gtest/gtest.h>

#include <cmath>

namespace cachet::kernels {
namespace {

constexpr Summation kOrders[] = {Summation::kForward, Summation::kReversed, Summation::kPairwise};

/// Uneven numbers without a pattern that a wrong order could hide in.
std::vector<float> numbers(int n, int phase) {
  std::vector<float> out;
  for (int i = 0; i < n; ++i) out.push_back(static_cast<float>(std::sin(1.7 * i * i + phase) * (1 + i % 3)));
  return out;
}

TEST(Kernels, EveryOrderSumsEveryTermOnce) {
  for (const Summation order : kOrders)
    for (int n = 0; n <= 9; ++n) {
      std::vector<float> powers;
      for (int i = 0; i < n; ++i) powers.push_back(static_cast<float>(1 << i));  // exact, so that any order gives the same
      EXPECT_EQ(sum(powers.data(), n, order), static_cast<float>((1 << n) - 1)) << n;
    }
}

TEST(Kernels, OrdersDifferInTheirRounding) {
  const std::vector<float> x = {1e8F, 1, -1e8F, 1};
  EXPECT_EQ(sum(x.data(), 4, Summation::kForward), 1);
  EXPECT_EQ(sum(x.data(), 4, Summation::kReversed), 0);
  EXPECT_EQ(sum(x.data(), 4, Summation::kPairwise), 0);
}

TEST(Kernels, LinearReadsWeightsByOutput) {
  const std::vector<float> w = {1, 2, 3, 4, 5, 6}, bias = {10, 20}, x = {1, 10, 100};  // w: (2, 3)
  float y[2];
  for (const Summation order : kOrders) {
    linear(w.data(), bias.data(), x.data(), 3, 2, order, y);
    EXPECT_EQ(y[0], 331);
    EXPECT_EQ(y[1], 674);
    linear(w.data(), nullptr, x.data(), 3, 2, order, y);
    EXPECT_EQ(y[0], 321);
  }
}

TEST(Kernels, LayerNormFollowsItsFormula) {
  const int n = 7;
  const std::vector<float> x = numbers(n, 0), gain = numbers(n, 1), bias = numbers(n, 2);
  double mean = 0, variance = 0;
  for (const float v : x) mean += v / n;
  for (const float v : x) variance += (v - mean) * (v - mean) / n;
  for (const Summation order : kOrders) {
    std::vector<float> y(n);
    layer_norm(x.data(), gain.data(), bias.data(), n, 0.5F, order, y.data());
    for (int i = 0; i < n; ++i) EXPECT_NEAR(y[i], (x[i] - mean) / std::sqrt(variance + 0.5) * gain[i] + bias[i], 1e-5);
  }
}

TEST(Kernels, RmsNormFollowsItsFormula) {
  const int n = 7;
  const std::vector<float> x = numbers(n, 0), gain = numbers(n, 1);
  double mean = 0;
  for (const float v : x) mean += static_cast<double>(v) * v / n;
  for (const Summation order : kOrders) {
    std::vector<float> y(n);
    rms_norm(x.data(), gain.data(), n, 0.5F, order, y.data());
    for (int i = 0; i < n; ++i) EXPECT_NEAR(y[i], x[i] / std::sqrt(mean + 0.5) * gain[i], 1e-5);
  }
}

TEST(Kernels, RotationsTurnEachPairByItsOwnAngle) {
  const int head = 6, position = 5;
  const std::vector<float> frequencies = rotary_frequencies(head, 100.0F);
  ASSERT_EQ(frequencies.size(), 3u);
  for (const Pairs pairs : {Pairs::kHalves, Pairs::kNeighbours}) {
    const std::vector<float> before = numbers(head, 2);
    std::vector<float> x = before, still = before;
    rotate(x.data(), head, position, frequencies.data(), pairs);
    for (int i = 0; i < 3; ++i) {
      EXPECT_NEAR(frequencies[i], std::pow(100.0, -2.0 * i / head), 1e-6);
      const double angle = position * std::pow(100.0, -2.0 * i / head), c = std::cos(angle), s = std::sin(angle);
      const int first = pairs == Pairs::kHalves ? i : 2 * i, second = pairs == Pairs::kHalves ? i + 3 : 2 * i + 1;
      EXPECT_NEAR(x[first], before[first] * c - before[second] * s, 1e-5);
      EXPECT_NEAR(x[second], before[first] * s + before[second] * c, 1e-5);
    }
    rotate(still.data(), head, 0, frequencies.data(), pairs);
    EXPECT_EQ(still, before);
  }
}

TEST(Kernels, ActivationsFollowTheirFormulas) {
  for (const float x : {-3.0F, -0.7F, 0.0F, 0.3F, 2.0F}) {
    EXPECT_NEAR(silu(x), x / (1 + std::exp(-static_cast<double>(x))), 1e-6);
    EXPECT_NEAR(gelu_erf(x), x * 0.5 * (1 + std::erf(x / std::sqrt(2.0))), 1e-6);
    EXPECT_NEAR(gelu_tanh(x), 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * std::pow(x, 3)))), 1e-6);
  }
  EXPECT_GT(std::abs(gelu_erf(1.5F) - gelu_tanh(1.5F)), 1e-5);
}

TEST(Kernels, AttentionIsASoftmaxOfVisibleSlotsInEveryForm) {
  const int head = 4, slots = 6;
  const std::vector<float> query = numbers(head, 3), keys = numbers(slots * head, 4), values = numbers(slots * head, 5);
  for (const Softmax softmax : {Softmax::kTwoPass, Softmax::kOnline})
    for (const Summation order : kOrders)
      for (int visible = 1; visible <= slots; ++visible) {
        Attended attended;
        attended.visible = visible;
        for (int s = 0; s < slots; ++s) {
          attended.keys.push_back(&keys[s * head]);
          attended.values.push_back(&values[s * head]);
        }
        std::vector<float> out(head);
        attend(query.data(), attended, head, softmax, order, out.data());
        std::vector<double> expected(head);
        double total = 0;
        for (int s = 0; s < visible; ++s) {
          double score = 0;
          for (int d = 0; d < head; ++d) score += static_cast<double>(query[d]) * keys[s * head + d];
          const double weight = std::exp(score / 2);
          total += weight;
          for (int d = 0; d < head; ++d) expected[d] += weight * values[s * head + d];
        }
        for (int d = 0; d < head; ++d) EXPECT_NEAR(out[d], expected[d] / total, 1e-5) << visible;
      }
}

TEST(Kernels, HalfPrecisionRoundsToElevenBits) {
  EXPECT_EQ(to_half(1.0F), 1.0F);
  EXPECT_EQ(to_half(2049.0F), 2048.0F);  // a tie goes to the even one
  EXPECT_EQ(to_half(2051.0F), 2052.0F);
  EXPECT_EQ(to_half(-0.1F), -0.0999755859375F);
  EXPECT_EQ(to_half(std::ldexp(1.0F, -24)), std::ldexp(1.0F, -24));  // the smallest subnormal number
  EXPECT_EQ(to_half(std::ldexp(1.0F, -26)), 0.0F);
}

}  // namespace
}  // namespace cachet::kernels
