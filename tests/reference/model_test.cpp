// Specs and recipes as text, and the promises of the recipes: portable, exact in short formats, informative.
#include <cmath>
#include <set>

#include "tests/reference/goldens.h"

namespace cachet {
namespace {

using testing::model_of;
using testing::words_of;

std::string error_of(const std::string& line) {
  auto spec = parse_model_spec(words_of(line));
  return spec ? "" : spec.error().message;
}

TEST(ModelSpecText, PrinterAndParserAreInverse) {
  for (const std::string line : {
           "gpt2 layers=1 heads=1 width=2 vocab=4 context=8 weights=seed:0",
           "gpt2 layers=3 heads=4 width=16 vocab=32 context=64 inner=5 norm_epsilon=1e-06 activation=gelu "
           "weights=seed:18446744073709551615",
           "gpt2 layers=1 heads=1 width=2 vocab=4 context=8 weights=pattern:ramp",
           "gpt2 layers=1 heads=1 width=2 vocab=4 context=8 weights=directory:a%20b/%23c%25",
           "llama layers=1 heads=1 width=2 vocab=4 context=8 weights=seed:0",
           "llama layers=3 heads=4 width=16 vocab=32 context=64 inner=5 kv_heads=2 head_dim=6 norm_epsilon=1e-06 "
           "rope_theta=5e+05 "
           "tie_word_embeddings=true weights=pattern:ramp",
           "llama layers=1 heads=2 width=2 vocab=4 context=8 kv_heads=1 head_dim=4 rope_theta=12.5 weights=directory:m",
       }) {
    auto spec = parse_model_spec(words_of(line));
    ASSERT_TRUE(spec) << line << ": " << to_string(spec.error());
    EXPECT_EQ(to_string(*spec), line);
  }
  EXPECT_EQ((*parse_weight_recipe("directory:a%20b/%23c%25")).name, "a b/#c%");
}

TEST(ModelSpecText, DefaultsFillWhatIsLeftOut) {
  auto spec = parse_model_spec({"gpt2"});
  ASSERT_TRUE(spec);
  EXPECT_EQ(*spec, ModelSpec{});
  spec = parse_model_spec({"llama"});
  ASSERT_TRUE(spec);
  EXPECT_EQ(*spec, standard_spec("llama"));
  EXPECT_EQ(spec->activation, "silu");
  spec = parse_model_spec(words_of("llama kv_heads=0 head_dim=0 rope_theta=10000 tie_word_embeddings=false activation=silu"));
  ASSERT_TRUE(spec);
  EXPECT_EQ(*spec, standard_spec("llama"));
}

TEST(ModelSpecText, EachErrorNamesItsKey) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "family"},
      {"gpt3 layers=1", "family"},
      {"gpt2 layers=0", "layers"},
      {"gpt2 layers=-1", "layers"},
      {"gpt2 layers=1x", "layers"},
      {"gpt2 layers=", "layers"},
      {"gpt2 layers=1.0", "layers"},
      {"gpt2 layers=99999999999999999999", "layers"},
      {"gpt2 layers=2000000", "layers"},
      {"gpt2 heads=0", "heads"},
      {"gpt2 heads=3 width=4", "width"},
      {"gpt2 width=0", "width"},
      {"gpt2 vocab=0", "vocab"},
      {"gpt2 context=0", "context"},
      {"gpt2 inner=-4", "inner"},
      {"gpt2 norm_epsilon=0", "norm_epsilon"},
      {"gpt2 norm_epsilon=-1", "norm_epsilon"},
      {"gpt2 norm_epsilon=nan", "norm_epsilon"},
      {"gpt2 norm_epsilon=inf", "norm_epsilon"},
      {"gpt2 norm_epsilon=abc", "norm_epsilon"},
      {"gpt2 activation=swish", "activation"},
      {"gpt2 activation=silu", "activation"},
      {"gpt2 kv_heads=1", "kv_heads"},
      {"gpt2 head_dim=2", "head_dim"},
      {"gpt2 rope_theta=100", "rope_theta"},
      {"gpt2 tie_word_embeddings=true", "tie_word_embeddings"},
      {"llama activation=gelu_new", "activation"},
      {"llama heads=3 width=4", "width"},
      {"llama heads=2 width=2", "width"},
      {"llama heads=4 width=8 kv_heads=3", "kv_heads"},
      {"llama heads=4 width=8 kv_heads=8", "kv_heads"},
      {"llama kv_heads=-1", "kv_heads"},
      {"llama kv_heads=x", "kv_heads"},
      {"llama head_dim=3", "head_dim"},
      {"llama head_dim=-2", "head_dim"},
      {"llama heads=1024 width=2048 head_dim=2000", "head_dim"},
      {"llama rope_theta=0", "rope_theta"},
      {"llama rope_theta=-1", "rope_theta"},
      {"llama rope_theta=nan", "rope_theta"},
      {"llama rope_theta=", "rope_theta"},
      {"llama tie_word_embeddings=1", "tie_word_embeddings"},
      {"llama tie_word_embeddings=", "tie_word_embeddings"},
      {"llama rope_theta=1 rope_theta=1", "rope_theta"},
      {"llama num_key_value_heads=1", "num_key_value_heads"},
      {"llama layers=1000000 width=1000000", "width"},
      {"gpt2 weights=seed:-1", "weights"},
      {"gpt2 weights=seed:", "weights"},
      {"gpt2 weights=seed:18446744073709551616", "weights"},
      {"gpt2 weights=pattern:nothing", "weights"},
      {"gpt2 weights=directory:", "weights"},
      {"gpt2 weights=directory:a%2", "weights"},
      {"gpt2 weights=directory:a%00", "weights"},
      {"gpt2 weights=seven", "weights"},
      {"gpt2 layers=1 layers=1", "layers"},
      {"gpt2 depth=1", "depth"},
      {"gpt2 layers", "layers"},
      {"gpt2 layers=1000000 width=1000000", "width"},
      {"gpt2 vocab=1000000 width=1000", "width"},
  };
  for (const auto& [line, key] : cases) EXPECT_EQ(error_of(line).substr(0, key.size()), key) << line << " -> " << error_of(line);
}

TEST(BuildModel, RefusesADirectoryAndSpecsThatContradictThemselves) {
  ModelSpec spec;
  spec.weights = {WeightRecipe::Kind::kDirectory, "somewhere", 0};
  EXPECT_FALSE(build_model(spec));
  spec = {};
  spec.heads = 3;
  ASSERT_FALSE(build_model(spec));
  EXPECT_EQ(build_model(spec).error().message.substr(0, 5), "width");
}

TEST(WeightRecipe, GivesTheSameNumbersOnEveryMachine) {
  EXPECT_EQ(model_of("gpt2 layers=2 heads=2 width=8 vocab=9 context=12 weights=seed:2")->digest, 11612294899366884534ULL);
  EXPECT_EQ(model_of("gpt2 layers=2 heads=2 width=8 vocab=9 context=12 weights=pattern:ramp")->digest, 14244480362284953171ULL);
  EXPECT_EQ(model_of("gpt2 layers=2 heads=2 width=8 vocab=9 context=12 weights=pattern:biased_ramp")->digest,
            16409931714151766245ULL);
}

TEST(WeightRecipe, GivesTheSameLlamaOnEveryMachine) {
  EXPECT_EQ(model_of("llama layers=2 heads=2 width=8 vocab=9 context=12 kv_heads=1 weights=seed:2")->digest,
            18115288941646762703ULL);
  EXPECT_EQ(model_of("llama layers=2 heads=2 width=8 vocab=9 context=12 kv_heads=1 weights=pattern:ramp")->digest,
            6712148651554857590ULL);
}

TEST(WeightRecipe, ValuesAreExactInBfloat16AndInFloat16) {
  for (const std::string recipe : {"seed:0", "seed:1", "pattern:ramp", "pattern:biased_ramp"}) {
    for (const std::string family : {"gpt2", "llama"}) {
      const ModelPtr model = model_of(family + " layers=2 heads=2 width=16 vocab=32 context=32 weights=" + recipe);
      for (const auto& [name, tensor] : model->tensors) {
        for (const double value : tensor.data) {
          int exponent = 0;
          const double digits = std::frexp(value, &exponent) * 256;
          ASSERT_EQ(digits, std::floor(digits)) << name << " " << value;
          ASSERT_TRUE(value == 0 || std::abs(value) >= 0x1p-14) << name << " " << value;
        }
      }
    }
  }
}

TEST(WeightRecipe, SeedsHaveNonzeroBiasesAndGainsAroundOne) {
  const ModelPtr model = model_of("gpt2 layers=1 heads=1 width=16 vocab=4 context=8 weights=seed:0");
  double bias = 0, gain = 0;
  for (const double value : model->tensors.at("transformer.h.0.attn.c_attn.bias").data) bias += std::abs(value) / 48;
  for (const double value : model->tensors.at("transformer.ln_f.weight").data) gain += value / 16;
  EXPECT_NEAR(bias, 0.25, 0.1);
  EXPECT_NEAR(gain, 1, 0.25);
}

TEST(WeightRecipe, ALayerLessKeepsTheNumbersOfTheOthers) {
  const ModelPtr large = model_of("gpt2 layers=2 heads=1 width=4 vocab=8 context=8 weights=seed:9");
  const ModelPtr small = model_of("gpt2 layers=1 heads=1 width=4 vocab=5 context=8 weights=seed:9");
  EXPECT_EQ(small->tensors.at("transformer.h.0.mlp.c_fc.weight").data, large->tensors.at("transformer.h.0.mlp.c_fc.weight").data);
  const auto& tokens = small->tensors.at("transformer.wte.weight").data;
  EXPECT_TRUE(std::equal(tokens.begin(), tokens.end(), large->tensors.at("transformer.wte.weight").data.begin()));
}

/// The part of pairs of histories, alike but for the token `back` places before the end, whose last rows differ visibly.
double sensitivity(const std::string& line, int back) {
  const ModelPtr model = model_of(line);
  int differ = 0, pairs = 0;
  for (int a = 0; a < 24; ++a) {
    Tokens one;
    for (int t = 0; t < 6; ++t) one.push_back((a * 7 + t * t * (a + 1) + t) % model->spec.vocab);
    Tokens other = one;
    Token& changed = other[other.size() - 1 - back];
    changed = (changed + 1) % model->spec.vocab;
    const auto x = reference::forward(*model, one), y = reference::forward(*model, other);
    double moved = 0;
    for (int j = 0; j < x.vocab; ++j) moved = std::max(moved, std::abs(x.row(5)[j] - y.row(5)[j]));
    differ += moved > 1e-4;
    ++pairs;
  }
  return static_cast<double>(differ) / pairs;
}

TEST(WeightRecipe, EarlierTokensAndPositionsMoveTheLogits) {
  for (const std::string recipe : {"seed:0", "seed:1", "seed:2", "pattern:ramp", "pattern:biased_ramp"}) {
    for (const std::string sizes : {"gpt2 layers=1 heads=1 width=4 vocab=4", "gpt2 layers=1 heads=2 width=4 vocab=2",
                                    "gpt2 layers=2 heads=2 width=8 vocab=16", "gpt2 layers=3 heads=4 width=16 vocab=32",
                                    "llama layers=1 heads=1 width=4 vocab=4", "llama layers=1 heads=2 width=4 vocab=2",
                                    "llama layers=2 heads=4 width=8 vocab=16 kv_heads=2",
                                    "llama layers=3 heads=4 width=16 vocab=32 kv_heads=1 tie_word_embeddings=true"}) {
      const std::string line = sizes + " context=8 weights=" + recipe;
      for (const int back : {1, 3, 5}) EXPECT_GT(sensitivity(line, back), 0.5) << line << ", " << back << " back";
      EXPECT_GT(sensitivity(line, 0), 0.5) << line;
    }
  }
}

TEST(Digest, IsTheSameForTheSameNumbersAndChangesWithEachOfThem) {
  const ModelPtr model = model_of("gpt2 layers=1 heads=1 width=4 vocab=4 context=8 weights=seed:0");
  Model copy = *model;
  copy.spec.weights = {WeightRecipe::Kind::kDirectory, "elsewhere", 0};
  EXPECT_EQ(digest_of(copy), model->digest);
  for (const auto& [name, tensor] : model->tensors) {
    Model changed = *model;
    changed.tensors.at(name).data.back() += 1;
    EXPECT_NE(digest_of(changed), model->digest) << name;
  }
  Model changed = *model;
  changed.spec.norm_epsilon = 1e-6;
  EXPECT_NE(digest_of(changed), model->digest);
  changed = *model;
  changed.spec.heads = 2;
  EXPECT_NE(digest_of(changed), model->digest);
  changed = *model;
  changed.spec.activation = "gelu";
  EXPECT_NE(digest_of(changed), model->digest);
}

TEST(Digest, ChangesWithEachChoiceOfLlama) {
  const std::string line = "llama layers=1 heads=4 width=16 vocab=4 context=8 weights=seed:0";
  std::set<std::uint64_t> digests = {model_of(line)->digest};
  for (const std::string choice :
       {"kv_heads=1", "kv_heads=2", "head_dim=2", "rope_theta=100", "tie_word_embeddings=true", "inner=7"})
    EXPECT_TRUE(digests.insert(model_of(line + " " + choice)->digest).second) << choice;
  EXPECT_FALSE(digests.insert(model_of(line + " kv_heads=4 head_dim=4 inner=43")->digest).second);  // its defaults, spelt out
}

}  // namespace
}  // namespace cachet
