// Perturbed passes: what noise must be a function of, how large it must be, and what it must not touch.
#include "reference/forward.h"

#include <cmath>

#include "tests/reference/goldens.h"

namespace cachet {
namespace {

using reference::Rounding;
using testing::model_of;

constexpr Rounding kFloat32{0x1p-24, 0x1p-24, 0x1p-24};
const Tokens kHistory = {3, 1, 4, 1, 5, 2, 6, 5};

ModelPtr model() { return model_of("gpt2 layers=2 heads=2 width=8 vocab=9 context=16 weights=seed:5"); }

double largest_difference(const reference::Rows& a, const reference::Rows& b, int t) {
  double largest = 0;
  for (int j = 0; j < a.vocab; ++j) largest = std::max(largest, std::abs(a.row(t)[j] - b.row(t)[j]));
  return largest;
}

/// Root mean square over passes of the noise of the last row.
double spread(const Model& of, const Tokens& history, const Rounding& rounding) {
  const auto exact = reference::forward(of, history);
  double sum = 0;
  for (std::uint64_t pass = 0; pass < 64; ++pass) {
    const double largest = largest_difference(exact, reference::perturbed(of, history, rounding, pass), exact.tokens - 1);
    sum += largest * largest / 64;
  }
  return std::sqrt(sum);
}

TEST(Perturbed, NoiseOfARowDependsOnItsOwnPrefixOnly) {
  const auto whole = reference::perturbed(*model(), kHistory, kFloat32, 3);
  for (int n = 1; n <= whole.tokens; ++n) {
    Tokens prefix(kHistory.begin(), kHistory.begin() + n);
    EXPECT_EQ(largest_difference(whole, reference::perturbed(*model(), prefix, kFloat32, 3), n - 1), 0) << n;
    prefix.insert(prefix.end(), {8, 8, 0});
    EXPECT_EQ(largest_difference(whole, reference::perturbed(*model(), prefix, kFloat32, 3), n - 1), 0) << n;
  }
}

TEST(Perturbed, PassesAndModelsHaveNoiseOfTheirOwn) {
  const auto one = reference::perturbed(*model(), kHistory, kFloat32, 0);
  EXPECT_NE(one.logits, reference::perturbed(*model(), kHistory, kFloat32, 1).logits);
  Model renamed = *model();
  renamed.digest += 1;
  EXPECT_NE(one.logits, reference::perturbed(renamed, kHistory, kFloat32, 0).logits);
  EXPECT_EQ(one.logits, reference::perturbed(*model(), kHistory, kFloat32, 0).logits);
}

TEST(Perturbed, NoiseIsOfTheSizeOfTheClass) {
  const double single = spread(*model(), kHistory, kFloat32);
  EXPECT_GT(single, 1e-8);
  EXPECT_LT(single, 1e-4);
  for (const double roundoff : {0x1p-53, 0x1p-34})
    EXPECT_NEAR(spread(*model(), kHistory, {roundoff, 0, 0}) / roundoff, single / 0x1p-24, 0.5 * single / 0x1p-24);
}

TEST(Perturbed, EachPartOfTheClassCounts) {
  const double compute = spread(*model(), kHistory, {0x1p-24, 0, 0});
  EXPECT_GT(spread(*model(), kHistory, {0x1p-24, 0, 0x1p-11}), 20 * compute);
  // The weights of a recipe are exact in bfloat16: a class that rounds to it moves nothing. Others do move.
  EXPECT_LT(spread(*model(), kHistory, {0, 0x1p-8, 0}), 1e-13);
  Model uneven = *model();
  for (auto& [name, tensor] : uneven.tensors) {
    for (double& value : tensor.data) value *= 1.0 / 3;
  }
  uneven.digest = digest_of(uneven);
  EXPECT_GT(spread(uneven, kHistory, {0, 0x1p-8, 0}), 1e-4);
  EXPECT_LT(spread(uneven, kHistory, {0, 0x1p-24, 0}), 1e-4);
}

TEST(Perturbed, WithoutRoundingOnlyTheOrderOfSumsIsLeft) {
  const auto exact = reference::forward(*model(), kHistory), noisy = reference::perturbed(*model(), kHistory, {}, 0);
  for (int t = 0; t < exact.tokens; ++t) EXPECT_LT(largest_difference(exact, noisy, t), 1e-13);
}

TEST(ErrorFloor, GrowsWithTheClassAndStaysBelowWhatTheProductCanDo) {
  const auto floor = reference::error_floor(*model(), kHistory, kFloat32);
  const auto exact = reference::forward(*model(), kHistory);
  ASSERT_EQ(floor.logits.size(), exact.logits.size());
  for (std::size_t i = 0; i < floor.logits.size(); ++i) {
    EXPECT_GT(floor.logits[i], 0);
    EXPECT_GE(floor.logits[i], 0x1p-24 * std::abs(exact.logits[i]));
    EXPECT_LT(floor.logits[i], 1e-5);
  }
  const auto coarse = reference::error_floor(*model(), kHistory, {0x1p-8, 0, 0});
  for (std::size_t i = 0; i < floor.logits.size(); ++i) EXPECT_DOUBLE_EQ(coarse.logits[i], floor.logits[i] * 0x1p16);
}

TEST(ForwardDeathTest, AHistoryOutsideTheModelAborts) {
  for (const Tokens& bad : {Tokens{}, Tokens{9}, Tokens{-1}, Tokens(17, 0)})
    EXPECT_DEATH(reference::forward(*model(), bad), "outside the model's vocabulary");
}

}  // namespace
}  // namespace cachet
