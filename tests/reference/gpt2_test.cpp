// GPT-2 against the published implementation, and against a second formulation written from the paper without our layers.
#include <cmath>

#include "tests/reference/goldens.h"

namespace cachet {
namespace {

using testing::model_of;

class Gpt2Goldens : public ::testing::TestWithParam<int> {};

TEST_P(Gpt2Goldens, LogitsAreThoseOfThePublishedImplementation) {
  const auto golden =
      testing::read_golden(std::string(CACHET_TESTS_DIR) + "/../reference/goldens/model_" + std::to_string(GetParam()) + ".json");
  testing::expect_golden(golden, *model_of(golden.model));
}

INSTANTIATE_TEST_SUITE_P(Models, Gpt2Goldens, ::testing::Range(0, 8));

using Matrix = std::vector<std::vector<double>>;

/// One position at a time, recursively: the key and value of a position are computed again whenever somebody looks at them.
class Naive {
 public:
  Naive(const Model& model, const Tokens& tokens) : model_(model), tokens_(tokens), head_(model.spec.width / model.spec.heads) {}

  std::vector<double> logits(int t) const {
    const auto y = norm(stream(model_.spec.layers, t), "ln_f");
    std::vector<double> out;
    for (int j = 0; j < model_.spec.vocab; ++j) {
      double sum = 0;
      for (int i = 0; i < model_.spec.width; ++i) sum += y[i] * at("wte.weight", j, i, model_.spec.width);
      out.push_back(sum);
    }
    return out;
  }

 private:
  double at(const std::string& name, int row, int column, int columns) const {
    return model_.tensors.at("transformer." + name).data[row * columns + column];
  }

  std::vector<double> norm(const std::vector<double>& x, const std::string& name) const {
    const double n = static_cast<double>(x.size());
    double first = 0, second = 0;
    for (const double v : x) first += v / n;
    for (const double v : x) second += v * v / n;
    std::vector<double> out;
    for (std::size_t i = 0; i < x.size(); ++i) {
      out.push_back((x[i] - first) * std::pow(second - first * first + model_.spec.norm_epsilon, -0.5) *
                        at(name + ".weight", 0, static_cast<int>(i), 0) +
                    at(name + ".bias", 0, static_cast<int>(i), 0));
    }
    return out;
  }

  /// Column `column` of x W + b.
  double linear(const std::vector<double>& x, const std::string& name, int column, int columns) const {
    double sum = at(name + ".bias", 0, column, 0);
    for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * at(name + ".weight", static_cast<int>(i), column, columns);
    return sum;
  }

  double activation(double x) const {
    if (model_.spec.activation == "gelu") return x * 0.5 * std::erfc(-x * std::sqrt(0.5));
    // 0.5 (1 + tanh z) is the logistic function of 2 z.
    return x / (1 + std::exp(-2 * std::sqrt(2 / M_PI) * (x + 0.044715 * std::pow(x, 3))));
  }

  /// The residual stream at position t before block `layer`.
  std::vector<double> stream(int layer, int t) const {
    const int width = model_.spec.width;
    std::vector<double> x(width);
    if (layer == 0) {
      for (int i = 0; i < width; ++i)
        x[i] = at("wte.weight", static_cast<int>(tokens_[t]), i, width) + at("wpe.weight", t, i, width);
      return x;
    }
    const std::string block = "h." + std::to_string(layer - 1) + ".";
    x = stream(layer - 1, t);
    const auto mine = norm(x, block + "ln_1");
    Matrix seen;  // (t + 1, width), normed streams
    for (int s = 0; s <= t; ++s) seen.push_back(norm(stream(layer - 1, s), block + "ln_1"));
    std::vector<double> mixed(width);
    for (int i = 0; i < width; ++i) {
      const int first = i / head_ * head_;  // of the head that dimension i lies in
      double total = 0, sum = 0;
      for (int s = 0; s <= t; ++s) {
        double score = 0;
        for (int d = first; d < first + head_; ++d)
          score +=
              linear(mine, block + "attn.c_attn", d, 3 * width) * linear(seen[s], block + "attn.c_attn", width + d, 3 * width);
        const double weight = std::exp(score / std::sqrt(head_));
        total += weight;
        sum += weight * linear(seen[s], block + "attn.c_attn", 2 * width + i, 3 * width);
      }
      mixed[i] = sum / total;
    }
    for (int i = 0; i < width; ++i) x[i] += linear(mixed, block + "attn.c_proj", i, width);
    const auto normed = norm(x, block + "ln_2");
    const int inner = model_.spec.inner > 0 ? model_.spec.inner : 4 * width;
    std::vector<double> hidden(inner);
    for (int j = 0; j < inner; ++j) hidden[j] = activation(linear(normed, block + "mlp.c_fc", j, inner));
    for (int i = 0; i < width; ++i) x[i] += linear(hidden, block + "mlp.c_proj", i, width);
    return x;
  }

  const Model& model_;
  const Tokens& tokens_;
  int head_;
};

TEST(Gpt2, ASecondFormulationAgrees) {
  for (const std::string sizes :
       {"layers=1 heads=1 width=2 vocab=3 context=6", "layers=1 heads=2 width=4 vocab=5 context=6 activation=gelu",
        "layers=2 heads=2 width=6 vocab=4 context=6 inner=3", "layers=2 heads=4 width=8 vocab=9 context=6 norm_epsilon=0.125"}) {
    for (const std::string recipe : {"seed:11", "seed:12", "pattern:ramp", "pattern:biased_ramp"}) {
      const ModelPtr model = model_of("gpt2 " + sizes + " weights=" + recipe);
      const Tokens history = {1, 0, 2, 2, 1, 0};
      const auto rows = reference::forward(*model, history);
      const Naive naive(*model, history);
      for (int t = 0; t < rows.tokens; ++t) {
        const auto expected = naive.logits(t);
        for (int j = 0; j < rows.vocab; ++j)
          ASSERT_NEAR(rows.row(t)[j], expected[j], 1e-10) << sizes << " " << recipe << ", position " << t;
      }
    }
  }
}

TEST(Gpt2, ARowIsTheSameToTheLastBitWhateverFollows) {
  const ModelPtr model = model_of("gpt2 layers=2 heads=2 width=8 vocab=9 context=16 weights=seed:5");
  const Tokens whole = {3, 1, 4, 1, 5, 2, 6, 5, 3, 5, 8, 7};
  const auto rows = reference::forward(*model, whole);
  for (int n = 1; n <= rows.tokens; ++n) {
    const auto prefix = reference::forward(*model, Tokens(whole.begin(), whole.begin() + n));
    for (int j = 0; j < rows.vocab; ++j) ASSERT_EQ(prefix.row(n - 1)[j], rows.row(n - 1)[j]);
  }
}

TEST(Gpt2, EveryTensorMovesTheLogits) {
  const ModelPtr model = model_of("gpt2 layers=2 heads=2 width=8 vocab=9 context=12 weights=seed:5");
  const Tokens history = {3, 1, 4, 1, 5, 2};
  const auto before = reference::forward(*model, history);
  for (const auto& [name, tensor] : model->tensors) {
    Model changed = *model;
    for (double& value : changed.tensors.at(name).data)
      value += 0.25 * std::sin(static_cast<double>(&value - changed.tensors.at(name).data.data()) + 1);
    const auto after = reference::forward(changed, history);
    double moved = 0;
    for (std::size_t i = 0; i < before.logits.size(); ++i) moved = std::max(moved, std::abs(after.logits[i] - before.logits[i]));
    EXPECT_GT(moved, 1e-3) << name;
  }
}

}  // namespace
}  // namespace cachet
