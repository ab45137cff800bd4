// Llama against the published implementation, and against a second formulation written from the papers without our layers.
#include <cmath>
#include <complex>

#include "tests/reference/goldens.h"

namespace cachet {
namespace {

using testing::model_of;

class LlamaGoldens : public ::testing::TestWithParam<int> {};

TEST_P(LlamaGoldens, LogitsAreThoseOfThePublishedImplementation) {
  const auto golden =
      testing::read_golden(std::string(CACHET_TESTS_DIR) + "/../reference/goldens/llama_" + std::to_string(GetParam()) + ".json");
  testing::expect_golden(golden, *model_of(golden.model));
}

INSTANTIATE_TEST_SUITE_P(Models, LlamaGoldens, ::testing::Range(0, 8));

using Row = std::vector<double>;

/// One position at a time, recursively; rotations as products of complex numbers, whose angles enter as differences only.
class Naive {
 public:
  Naive(const Model& model, const Tokens& tokens)
      : model_(model),
        spec_(model.spec),
        tokens_(tokens),
        head_(spec_.head_dim > 0 ? spec_.head_dim : spec_.width / spec_.heads),
        group_(spec_.kv_heads > 0 ? spec_.heads / spec_.kv_heads : 1) {}

  Row logits(int t) const {
    const Row y = norm(stream(spec_.layers, t), "model.norm");
    return product(y, spec_.tie_word_embeddings ? "model.embed_tokens" : "lm_head");
  }

 private:
  const Tensor& at(const std::string& name) const { return model_.tensors.at(name + ".weight"); }

  Row product(const Row& x, const std::string& name) const {
    const Tensor& w = at(name);
    Row out(w.shape[0]);
    for (std::size_t o = 0; o < out.size(); ++o)
      for (std::size_t i = 0; i < x.size(); ++i) out[o] += w.data[o * x.size() + i] * x[i];
    return out;
  }

  Row norm(const Row& x, const std::string& name) const {
    double length = 0;
    for (const double v : x) length = std::hypot(length, v);
    const double scale = std::hypot(length / std::sqrt(static_cast<double>(x.size())), std::sqrt(spec_.norm_epsilon));
    Row out;
    for (std::size_t i = 0; i < x.size(); ++i) out.push_back(x[i] / scale * at(name).data[i]);
    return out;
  }

  /// The score of two unrotated heads that lie `apart` positions from each other: the real part of a sum over pairs of
  /// q conj(k) e^(i apart theta^(-2 pair / head)).
  double score(const double* query, const double* key, int apart) const {
    std::complex<double> sum = 0;
    for (int pair = 0; pair < head_ / 2; ++pair) {
      const std::complex<double> q(query[pair], query[pair + head_ / 2]), k(key[pair], key[pair + head_ / 2]);
      const double angle = apart / std::exp(std::log(spec_.rope_theta) * 2 * pair / head_);
      sum += q * std::conj(k) * std::polar(1.0, angle);
    }
    return sum.real() / std::sqrt(head_);
  }

  /// The residual stream at position t before block `layer`.
  Row stream(int layer, int t) const {
    if (layer == 0) {
      const auto first = at("model.embed_tokens").data.begin() + tokens_[t] * spec_.width;
      return {first, first + spec_.width};
    }
    const std::string block = "model.layers." + std::to_string(layer - 1) + ".";
    Row x = stream(layer - 1, t);
    const Row query = product(norm(x, block + "input_layernorm"), block + "self_attn.q_proj");
    Row totals(spec_.heads), mixed(query.size());
    for (int s = 0; s <= t; ++s) {
      const Row seen = norm(stream(layer - 1, s), block + "input_layernorm");
      const Row key = product(seen, block + "self_attn.k_proj"), value = product(seen, block + "self_attn.v_proj");
      for (int h = 0; h < spec_.heads; ++h) {
        const int shared = h / group_ * head_;
        const double weight = std::exp(score(&query[h * head_], &key[shared], t - s));
        totals[h] += weight;
        for (int d = 0; d < head_; ++d) mixed[h * head_ + d] += weight * value[shared + d];
      }
    }
    for (std::size_t i = 0; i < mixed.size(); ++i) mixed[i] /= totals[i / head_];
    const Row attended = product(mixed, block + "self_attn.o_proj");
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += attended[i];
    const Row normed = norm(x, block + "post_attention_layernorm");
    Row gate = product(normed, block + "mlp.gate_proj");
    const Row up = product(normed, block + "mlp.up_proj");
    for (std::size_t i = 0; i < gate.size(); ++i) gate[i] *= 0.5 * (1 + std::tanh(gate[i] / 2)) * up[i];  // the logistic function
    const Row down = product(gate, block + "mlp.down_proj");
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += down[i];
    return x;
  }

  const Model& model_;
  const ModelSpec& spec_;
  const Tokens& tokens_;
  int head_, group_;
};

TEST(Llama, ASecondFormulationAgrees) {
  for (const std::string sizes :
       {"layers=1 heads=1 width=2 vocab=3 context=6", "layers=1 heads=2 width=4 vocab=5 context=6 kv_heads=1",
        "layers=2 heads=4 width=8 vocab=4 context=6 kv_heads=2 inner=3 rope_theta=50 tie_word_embeddings=true",
        "layers=2 heads=3 width=6 vocab=9 context=6 head_dim=4 norm_epsilon=0.125"}) {
    for (const std::string recipe : {"seed:11", "seed:12", "pattern:ramp", "pattern:biased_ramp"}) {
      const ModelPtr model = model_of("llama " + sizes + " weights=" + recipe);
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

constexpr char kLarge[] = "llama layers=2 heads=4 width=16 vocab=9 context=16 kv_heads=2 rope_theta=20 weights=seed:5";

TEST(Llama, ARowIsTheSameToTheLastBitWhateverFollows) {
  const ModelPtr model = model_of(kLarge);
  const Tokens whole = {3, 1, 4, 1, 5, 2, 6, 5, 3, 5, 8, 7};
  const auto rows = reference::forward(*model, whole);
  for (int n = 1; n <= rows.tokens; ++n) {
    const auto prefix = reference::forward(*model, Tokens(whole.begin(), whole.begin() + n));
    for (int j = 0; j < rows.vocab; ++j) ASSERT_EQ(prefix.row(n - 1)[j], rows.row(n - 1)[j]);
  }
}

double largest_move(const reference::Rows& a, const reference::Rows& b) {
  double moved = 0;
  for (std::size_t i = 0; i < a.logits.size(); ++i) moved = std::max(moved, std::abs(a.logits[i] - b.logits[i]));
  return moved;
}

TEST(Llama, EveryTensorMovesTheLogits) {
  const ModelPtr model = model_of(kLarge);
  const Tokens history = {3, 1, 4, 1, 5, 2};
  const auto before = reference::forward(*model, history);
  EXPECT_EQ(model->tensors.size(), 2U * 9 + 3);
  for (const auto& [name, tensor] : model->tensors) {
    Model changed = *model;
    for (double& value : changed.tensors.at(name).data)
      value += 0.25 * std::sin(static_cast<double>(&value - changed.tensors.at(name).data.data()) + 1);
    EXPECT_GT(largest_move(before, reference::forward(changed, history)), 1e-3) << name;
  }
}

TEST(Llama, EveryChoiceMovesTheLogits) {
  const Tokens history = {3, 1, 4, 1, 5, 2};
  const auto before = reference::forward(*model_of(kLarge), history);
  for (const std::string change : {"rope_theta=21", "norm_epsilon=0.001"}) {
    std::string line = kLarge;
    if (change.rfind("rope", 0) == 0) line.replace(line.find("rope_theta=20"), 13, "");
    EXPECT_GT(largest_move(before, reference::forward(*model_of(line + " " + change), history)), 1e-5) << change;
  }
  const auto tied = reference::forward(*model_of(std::string(kLarge) + " tie_word_embeddings=true"), history);
  EXPECT_GT(largest_move(before, tied), 1e-1);
}

}  // namespace
}  // namespace cachet
