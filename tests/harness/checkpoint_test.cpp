// Checkpoints: what is written is what is read, published files are read, and every malformed one is an error that names its
// place.
#include "harness/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "tests/reference/goldens.h"

namespace cachet {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using ::testing::HasSubstr;

const std::string kLlama =
    "llama layers=1 heads=2 width=4 vocab=3 context=4 kv_heads=1 head_dim=4 norm_epsilon=1e-06 rope_theta=500 weights=seed:1";
const std::string kSpec = "gpt2 layers=1 heads=1 width=2 vocab=3 context=4 weights=seed:1";

/// A directory of its own for each test, removed at its end.
class Checkpoint : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    dir_ = fs::path(::testing::TempDir()) / ("cachet_" + std::string(info->test_suite_name()) + "_" + info->name());
    fs::remove_all(dir_);
  }
  void TearDown() override { fs::remove_all(dir_); }

  static std::string slurp(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static void spit(const fs::path& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

  /// A good checkpoint, taken apart so that a test can change it.
  void write_good(const std::string& spec = kSpec) {
    ASSERT_EQ(write_checkpoint(*testing::model_of(spec), dir_), std::nullopt);
    config_ = Json::parse(slurp(dir_ / "config.json"));
    const std::string bytes = slurp(dir_ / "model.safetensors");
    std::uint64_t header = 0;
    std::memcpy(&header, bytes.data(), 8);
    header_ = Json::parse(bytes.substr(8, header));
    data_ = bytes.substr(8 + header);
  }
  void put_config() { spit(dir_ / "config.json", config_.dump()); }
  void put_tensors() { put_tensors(header_.dump()); }
  void put_tensors(const std::string& header) {
    std::string bytes(8, '\0');
    const std::uint64_t size = header.size();
    std::memcpy(bytes.data(), &size, 8);
    spit(dir_ / "model.safetensors", bytes + header + data_);
  }
  /// Appends a tensor to header and data.
  void append(const std::string& name, const std::string& dtype, const std::vector<std::int64_t>& shape,
              const std::string& bytes) {
    header_[name] = {{"dtype", dtype}, {"shape", shape}, {"data_offsets", {data_.size(), data_.size() + bytes.size()}}};
    data_ += bytes;
  }

  void expect_error(const std::string& file, const std::string& part) {
    const auto model = read_checkpoint(dir_);
    ASSERT_FALSE(model) << "accepted; expected an error about " << part;
    EXPECT_THAT(model.error().file, HasSubstr(file));
    EXPECT_THAT(model.error().message, HasSubstr(part));
    EXPECT_THAT(model.error().message, ::testing::ContainsRegex("expected|no such file|not a regular"));
  }

  fs::path dir_;
  Json config_, header_;
  std::string data_;
};

TEST_F(Checkpoint, WhatIsWrittenIsReadAsTheSameModel) {
  for (const std::string& spec : {kSpec,
                                  std::string("gpt2 layers=3 heads=2 width=6 vocab=7 context=9 inner=5 norm_epsilon=1e-06 "
                                              "activation=gelu weights=pattern:biased_ramp"),
                                  kLlama,
                                  std::string("llama layers=2 heads=4 width=8 vocab=5 context=9 inner=6 kv_heads=2 "
                                              "tie_word_embeddings=true weights=seed:4"),
                                  std::string("llama layers=1 heads=1 width=2 vocab=2 context=1 weights=pattern:ramp")}) {
    const ModelPtr model = testing::model_of(spec);
    ASSERT_EQ(write_checkpoint(*model, dir_ / "deep" / "er"), std::nullopt);
    const auto read = read_checkpoint(dir_ / "deep" / "er");
    ASSERT_TRUE(read) << to_string(read.error());
    EXPECT_EQ((*read)->digest, model->digest);
    ModelSpec expected = model->spec;
    expected.weights = {WeightRecipe::Kind::kDirectory, (dir_ / "deep" / "er").string(), 0};
    EXPECT_EQ((*read)->spec, expected);
    const auto loaded = load_model(expected);
    ASSERT_TRUE(loaded) << to_string(loaded.error());
    EXPECT_EQ((*loaded)->digest, model->digest);
    expected.layers += 1;
    EXPECT_FALSE(load_model(expected));
  }
}

TEST_F(Checkpoint, OnlyTheTwoFilesAreLeftBehind) {
  write_good();
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(dir_)) names.insert(entry.path().filename().string());
  EXPECT_EQ(names, (std::set<std::string>{"config.json", "model.safetensors"}));
}

TEST_F(Checkpoint, APlaceThatCannotBeWrittenIsAnErrorAndLeavesNothing) {
  fs::create_directories(dir_);
  spit(dir_ / "file", "x");
  EXPECT_NE(write_checkpoint(*testing::model_of(kSpec), dir_ / "file"), std::nullopt);
  fs::create_directories(dir_ / "taken" / "model.safetensors" / "x");
  EXPECT_NE(write_checkpoint(*testing::model_of(kSpec), dir_ / "taken"), std::nullopt);
  EXPECT_FALSE(fs::exists(dir_ / "taken" / "config.json"));
  EXPECT_EQ(std::distance(fs::directory_iterator(dir_ / "taken"), fs::directory_iterator()), 1);
}

TEST_F(Checkpoint, NumbersThatF32CannotExpressAreNotRoundedInSilence) {
  Model model = *testing::model_of(kSpec);
  model.tensors.at("transformer.ln_f.bias").data[0] = 0.1;
  const auto error = write_checkpoint(model, dir_);
  ASSERT_NE(error, std::nullopt);
  EXPECT_THAT(error->message, HasSubstr("ln_f.bias"));
  EXPECT_FALSE(fs::exists(dir_ / "model.safetensors"));
}

TEST_F(Checkpoint, AFileOfTheirsGivesTheirLogits) {
  const std::string goldens = std::string(CACHET_TESTS_DIR) + "/../reference/goldens/";
  const auto model = read_checkpoint(goldens + "checkpoint");
  ASSERT_TRUE(model) << to_string(model.error());
  testing::expect_golden(testing::read_golden(goldens + "checkpoint.json"), **model);
}

TEST_F(Checkpoint, OtherPublishedLayoutsAreRead) {
  const std::uint64_t digest = testing::model_of(kSpec)->digest;
  const auto expect_same = [&](const char* what) {
    const auto read = read_checkpoint(dir_);
    ASSERT_TRUE(read) << what << ": " << to_string(read.error());
    EXPECT_EQ((*read)->digest, digest) << what;
  };
  write_good();
  const auto wte = header_["transformer.wte.weight"]["data_offsets"].get<std::vector<std::size_t>>();
  append("lm_head.weight", "F32", {3, 2}, data_.substr(wte[0], wte[1] - wte[0]));
  put_tensors();
  expect_same("a copy of the tied head");

  write_good();
  Json bare = Json::object();
  for (const auto& [name, entry] : header_.items()) bare[name.rfind("transformer.", 0) == 0 ? name.substr(12) : name] = entry;
  header_ = bare;
  append("h.0.attn.bias", "U8", {1, 1, 4, 4}, std::string(16, '\1'));
  append("h.0.attn.masked_bias", "F32", {}, std::string(4, '\1'));
  put_tensors();
  expect_same("a bare model with mask buffers");

  write_good();
  config_["activation_function"] = "gelu_pytorch_tanh";
  for (const char* key : {"n_inner", "n_ctx", "layer_norm_epsilon", "scale_attn_weights", "architectures", "tie_word_embeddings"})
    config_.erase(key);
  config_["task_specific_params"] = {{"text-generation", {{"do_sample", true}, {"max_length", 50}}}};
  config_["transformers_version"] = "4.20.1";
  config_["id2label"] = {{"0", "LABEL_0"}};
  config_["use_cache"] = true;
  config_["summary_first_dropout"] = 0.1;
  config_["is_encoder_decoder"] = false;
  config_["pruned_heads"] = Json::object();
  put_config();
  expect_same("an old config");
}

TEST_F(Checkpoint, ALlamaOfTheirsGivesTheirLogits) {
  const std::string goldens = std::string(CACHET_TESTS_DIR) + "/../reference/goldens/";
  const auto model = read_checkpoint(goldens + "llama_checkpoint");
  ASSERT_TRUE(model) << to_string(model.error());
  EXPECT_EQ((*model)->spec.kv_heads, 2);
  EXPECT_EQ((*model)->spec.head_dim, 4);
  EXPECT_EQ((*model)->spec.rope_theta, 500);
  EXPECT_EQ((*model)->spec.norm_epsilon, 1e-6);
  testing::expect_golden(testing::read_golden(goldens + "llama_checkpoint.json"), **model);
}

TEST_F(Checkpoint, ALlamaNamesItsTensorsAsThePublishedImplementationDoes) {
  write_good(kLlama);
  std::set<std::string> names;
  for (const auto& [name, entry] : header_.items()) names.insert(name);
  names.erase("__metadata__");
  EXPECT_EQ(names, (std::set<std::string>{"lm_head.weight", "model.embed_tokens.weight", "model.layers.0.input_layernorm.weight",
                                          "model.layers.0.mlp.down_proj.weight", "model.layers.0.mlp.gate_proj.weight",
                                          "model.layers.0.mlp.up_proj.weight", "model.layers.0.post_attention_layernorm.weight",
                                          "model.layers.0.self_attn.k_proj.weight", "model.layers.0.self_attn.o_proj.weight",
                                          "model.layers.0.self_attn.q_proj.weight", "model.layers.0.self_attn.v_proj.weight",
                                          "model.norm.weight"}));
  EXPECT_EQ(header_["model.layers.0.self_attn.k_proj.weight"]["shape"], Json({4, 4}));
  EXPECT_EQ(header_["model.layers.0.self_attn.q_proj.weight"]["shape"], Json({8, 4}));
  EXPECT_EQ(header_["model.layers.0.mlp.gate_proj.weight"]["shape"], Json({11, 4}));
}

TEST_F(Checkpoint, OtherPublishedLayoutsOfLlamaAreRead) {
  const auto expect_same = [&](const std::string& spec, const char* what) {
    const auto read = read_checkpoint(dir_);
    ASSERT_TRUE(read) << what << ": " << to_string(read.error());
    EXPECT_EQ((*read)->digest, testing::model_of(spec)->digest) << what;
  };
  write_good(kLlama);
  config_.erase("rope_theta");
  config_.erase("rope_scaling");
  config_["rope_parameters"] = {{"rope_theta", 500.0}, {"rope_type", "default"}};
  config_["hidden_act"] = "swish";
  config_["pretraining_tp"] = 1;
  config_["initializer_range"] = 0.02;
  config_["quantization_config"] = nullptr;
  for (const char* key : {"tie_word_embeddings", "attention_bias", "mlp_bias", "attention_dropout", "rms_norm_eps"})
    config_.erase(key);
  append("model.layers.0.self_attn.rotary_emb.inv_freq", "F32", {2}, std::string(8, '\1'));
  put_config();
  put_tensors();
  expect_same(kLlama, "a newer config, and buffers");

  const std::string plain = "llama layers=1 heads=2 width=4 vocab=3 context=4 weights=seed:1 ";
  const std::string tied = plain + "tie_word_embeddings=true";
  write_good(plain);
  for (const char* key : {"num_key_value_heads", "head_dim", "rope_theta", "rope_scaling"}) config_.erase(key);
  put_config();
  expect_same(plain, "defaults left out");

  write_good(tied);
  const auto tokens = header_["model.embed_tokens.weight"]["data_offsets"].get<std::vector<std::size_t>>();
  append("lm_head.weight", "F32", {3, 4}, data_.substr(tokens[0], tokens[1] - tokens[0]));
  put_tensors();
  expect_same(tied, "a copy of the tied head");

  write_good(tied);
  Json bare = Json::object();
  for (const auto& [name, entry] : header_.items()) bare[name.rfind("model.", 0) == 0 ? name.substr(6) : name] = entry;
  header_ = bare;
  put_tensors();
  expect_same(tied, "a bare model");
}

TEST_F(Checkpoint, EachBadConfigOfLlamaIsAnErrorThatNamesItsKey) {
  const std::vector<std::pair<std::string, Json>> values = {
      {"num_hidden_layers", 0},
      {"num_hidden_layers", nullptr},
      {"num_attention_heads", "2"},
      {"num_attention_heads", 3},
      {"num_key_value_heads", 0},
      {"num_key_value_heads", 4},
      {"head_dim", 3},
      {"head_dim", -2},
      {"hidden_size", 5},
      {"intermediate_size", nullptr},
      {"hidden_act", "gelu"},
      {"rms_norm_eps", 0},
      {"rope_theta", 0},
      {"rope_theta", "1e4"},
      {"rope_scaling", {{"rope_type", "linear"}, {"factor", 2.0}}},
      {"rope_scaling", "linear"},
      {"rope_parameters", {{"rope_type", "llama3"}, {"rope_theta", 500.0}}},
      {"rope_parameters", {{"rope_type", "default"}, {"rope_theta", 400.0}}},
      {"rope_parameters", {{"rope_type", "default"}, {"rope_theta", -1.0}}},
      {"rope_parameters", {{"rope_type", "default"}, {"factor", 2.0}}},
      {"tie_word_embeddings", 1},
      {"attention_bias", true},
      {"mlp_bias", true},
      {"pretraining_tp", 2},
      {"sliding_window", 4},
      {"n_layer", 2},
  };
  for (const auto& [key, value] : values) {
    SCOPED_TRACE(key + " = " + value.dump());
    write_good(kLlama);
    config_[key] = value;
    put_config();
    expect_error("config.json", key == "num_attention_heads" && value == 3 ? "hidden_size"
                                : key == "hidden_size"                     ? "num_attention_heads"
                                                                           : key);
  }
  for (const std::string key : {"num_hidden_layers", "num_attention_heads", "hidden_size", "max_position_embeddings",
                                "vocab_size", "intermediate_size"}) {
    SCOPED_TRACE(key + " removed");
    write_good(kLlama);
    config_.erase(key);
    put_config();
    expect_error("config.json", key);
  }
}

TEST_F(Checkpoint, AHeadThatDoesNotFitTheConfigIsAnError) {
  write_good(kLlama);
  config_["tie_word_embeddings"] = true;
  put_config();
  expect_error("model.safetensors", "lm_head.weight' differs from the parameter it is tied to");
  write_good("llama layers=1 heads=2 width=4 vocab=3 context=4 tie_word_embeddings=true weights=seed:1");
  config_["tie_word_embeddings"] = false;
  put_config();
  expect_error("model.safetensors", "tensor 'lm_head.weight' is missing");
  write_good(kLlama);
  config_["num_key_value_heads"] = 2;
  put_config();
  expect_error("model.safetensors", "k_proj.weight' has shape [4, 4]; expected [8, 4]");
}

TEST_F(Checkpoint, OtherFloatDtypesAreRead) {
  for (const std::string dtype : {"F64", "F16", "BF16"}) {
    write_good();
    std::string bytes;
    Json header = Json::object();
    for (const auto& [name, entry] : header_.items()) {
      if (name == "__metadata__") continue;
      const auto range = entry["data_offsets"].get<std::vector<std::size_t>>();
      const std::size_t begin = bytes.size();
      for (std::size_t at = range[0]; at < range[1]; at += 4) {
        float value = 0;
        std::memcpy(&value, data_.data() + at, 4);
        if (dtype == "F64") {
          const double wide = value;
          bytes.append(reinterpret_cast<const char*>(&wide), 8);
        } else if (dtype == "BF16") {
          const auto bits = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16);
          bytes.append(reinterpret_cast<const char*>(&bits), 2);
        } else {
          int exponent = 0;
          const auto digits = static_cast<int>(std::ldexp(std::frexp(std::abs(value), &exponent), 11));
          const auto bits =
              static_cast<std::uint16_t>((value < 0 ? 0x8000 : 0) | (value == 0 ? 0 : ((exponent + 14) << 10) | (digits - 1024)));
          bytes.append(reinterpret_cast<const char*>(&bits), 2);
        }
      }
      header[name] = {{"dtype", dtype}, {"shape", entry["shape"]}, {"data_offsets", {begin, bytes.size()}}};
    }
    header_ = header;
    data_ = bytes;
    put_tensors();
    const auto read = read_checkpoint(dir_);
    ASSERT_TRUE(read) << dtype << ": " << to_string(read.error());
    EXPECT_EQ((*read)->digest, testing::model_of(kSpec)->digest) << dtype;
  }
}

TEST_F(Checkpoint, AMissingPlaceIsAnError) {
  expect_error(dir_.string(), "not a directory");
  fs::create_directories(dir_);
  expect_error("config.json", "no such file");
  write_good();
  fs::remove(dir_ / "model.safetensors");
  expect_error("model.safetensors", "no such file");
  fs::create_directory(dir_ / "model.safetensors");
  expect_error("model.safetensors", "not a regular file");
  fs::remove_all(dir_);
  spit(dir_, "a file");
  expect_error(dir_.string(), "not a directory");
}

TEST_F(Checkpoint, EachBadConfigIsAnErrorThatNamesItsKey) {
  const std::vector<std::pair<std::string, Json>> values = {
      {"model_type", "llama9"},
      {"model_type", 3},
      {"n_layer", 0},
      {"n_layer", -1},
      {"n_layer", 1.5},
      {"n_layer", "1"},
      {"n_layer", nullptr},
      {"n_layer", 18446744073709551615ULL},
      {"n_layer", Json::array({1})},
      {"n_head", 0},
      {"n_embd", 1e300},
      {"vocab_size", true},
      {"n_positions", -5},
      {"n_ctx", 5},
      {"n_inner", 0},
      {"activation_function", "swish"},
      {"activation_function", 7},
      {"layer_norm_epsilon", 0},
      {"layer_norm_epsilon", -1e-5},
      {"layer_norm_epsilon", "1e-5"},
      {"scale_attn_weights", false},
      {"scale_attn_by_inverse_layer_idx", true},
      {"scale_attn_by_inverse_layer_idx", 0},
      {"reorder_and_upcast_attn", true},
      {"add_cross_attention", true},
      {"tie_word_embeddings", false},
      {"quantization_config", {{"bits", 4}}},
      {"sliding_window", 4},
      {"rope_theta", 1e4},
      {"n_layers", 2},
  };
  for (const auto& [key, value] : values) {
    SCOPED_TRACE(key + " = " + value.dump());
    write_good();
    config_[key] = value;
    put_config();
    expect_error("config.json", key);
  }
  for (const std::string key : {"model_type", "n_layer", "n_head", "n_embd", "n_positions", "vocab_size"}) {
    SCOPED_TRACE(key + " removed");
    write_good();
    config_.erase(key);
    put_config();
    expect_error("config.json", key);
  }
  write_good();
  config_["n_head"] = 4;
  put_config();
  expect_error("config.json", "n_embd is not a multiple of n_head");
}

TEST_F(Checkpoint, AConfigThatIsNotOneObjectIsAnErrorWithItsLine) {
  const std::string good = "{\"model_type\": \"gpt2\",\n";
  const std::vector<std::pair<std::string, std::string>> texts = {
      {"", "not JSON"},
      {"{", "not JSON"},
      {"[]", "object"},
      {"7", "object"},
      {"null", "object"},
      {good + "\"n_layer\": }", "not JSON"},
      {good + "\"n_layer\": 1}}", "not JSON"},
      {good + "\"model_type\": \"gpt2\"}", "twice"},
      {"{\"a\": \"\xff\xfe\"}", "not JSON"},
      {"{\"a\": 1e999}", "expected"},
      {std::string("{\"a\0\": 1}", 9), "not JSON"},
      {std::string(100000, '['), "nested"},
      {"{\"a\": " + std::string(50000, '[') + std::string(50000, ']') + "}", "nested"},
  };
  for (const auto& [text, part] : texts) {
    SCOPED_TRACE(text.substr(0, 60));
    write_good();
    spit(dir_ / "config.json", text);
    expect_error("config.json", part);
  }
  write_good();
  spit(dir_ / "config.json", good + "\n\"n_layer\": }");
  EXPECT_EQ(read_checkpoint(dir_).error().line, 3);
}

TEST_F(Checkpoint, EachBadHeaderIsAnErrorThatNamesItsTensor) {
  const std::string name = "transformer.h.0.attn.c_attn.bias";
  const std::vector<std::pair<std::string, std::function<void(Json&)>>> changes = {
      {name, [&](Json& h) { h[name] = 7; }},
      {name, [&](Json& h) { h[name].erase("dtype"); }},
      {name, [&](Json& h) { h[name]["dtype"] = 4; }},
      {name, [&](Json& h) { h[name]["dtype"] = "F31"; }},
      {name, [&](Json& h) { h[name]["dtype"] = "I32"; }},
      {name, [&](Json& h) { h[name]["dtype"] = "F64"; }},
      {name, [&](Json& h) { h[name].erase("shape"); }},
      {name, [&](Json& h) { h[name]["shape"] = "6"; }},
      {name, [&](Json& h) { h[name]["shape"] = {-6}; }},
      {name, [&](Json& h) { h[name]["shape"] = {6.0}; }},
      {name,
       [&](Json& h) {
         h[name]["shape"] = {2, 3};
       }},
      {name, [&](Json& h) { h[name]["shape"] = {5}; }},
      {name, [&](Json& h) { h[name]["shape"] = Json::array(); }},
      {name,
       [&](Json& h) {
         h[name]["shape"] = {1ULL << 33, 1ULL << 33, 1ULL << 33};
       }},
      {name,
       [&](Json& h) {
         h[name]["shape"] = {0, 1ULL << 40};
       }},
      {name, [&](Json& h) { h[name]["shape"] = {18446744073709551615ULL}; }},
      {name, [&](Json& h) { h[name].erase("data_offsets"); }},
      {name, [&](Json& h) { h[name]["data_offsets"] = {0}; }},
      {name,
       [&](Json& h) {
         h[name]["data_offsets"] = {24, 0};
       }},
      {name,
       [&](Json& h) {
         h[name]["data_offsets"] = {-24, 0};
       }},
      {name,
       [&](Json& h) {
         h[name]["data_offsets"] = {0.0, 24.0};
       }},
      {name,
       [&](Json& h) {
         h[name]["data_offsets"] = {1ULL << 39, (1ULL << 39) + 24};
       }},
      {name, [&](Json& h) { h[name]["extra"] = 1; }},
      {"inside another",
       [&](Json& h) {
         h[name]["data_offsets"] = {0, 24};
       }},
      {name,
       [&](Json& h) {
         h.erase(name);
         h["transformer.h.0.attn.c_attn.bies"] = header_[name];
       }},
      {"transformer.h.1.ln_1.bias",
       [&](Json& h) {
         h["transformer.h.1.ln_1.bias"] = h["transformer.h.0.ln_1.bias"];
         h.erase("transformer.h.0.ln_1.bias");
       }},
      {"gap", [&](Json& h) { h.erase(name); }},
      {"after the last tensor", [&](Json& h) { h.erase("transformer.ln_f.bias"); }},
      {"lm_head.weight",
       [&](Json& h) {
         h["lm_head.weight"] = h["transformer.wpe.weight"];
         h.erase("transformer.wpe.weight");
       }},
  };
  int number = 0;
  for (const auto& [part, change] : changes) {
    SCOPED_TRACE("change " + std::to_string(number++) + " expecting " + part);
    write_good();
    change(header_);
    put_tensors();
    // Renamed tensors may be met as unknown or as missing.
    const auto model = read_checkpoint(dir_);
    ASSERT_FALSE(model);
    EXPECT_THAT(to_string(model.error()), HasSubstr("model.safetensors: "));
    EXPECT_THAT(model.error().message, HasSubstr(part.substr(0, part.size() - 4)));
    EXPECT_THAT(model.error().message, HasSubstr("expected"));
  }
}

TEST_F(Checkpoint, ATensorTooManyOrTooFewIsAnError) {
  write_good();
  append("transformer.h.1.ln_1.weight", "F32", {2}, std::string(8, '\0'));
  put_tensors();
  expect_error("model.safetensors", "tensor 'transformer.h.1.ln_1.weight' is unknown");
  write_good();
  data_.resize(data_.size() - 8);
  header_.erase("transformer.ln_f.bias");
  put_tensors();
  expect_error("model.safetensors", "tensor 'transformer.ln_f.bias' is missing");
  write_good();
  append("lm_head.weight", "F32", {3, 2}, std::string(24, '\0'));
  put_tensors();
  expect_error("model.safetensors", "lm_head.weight' differs from the parameter it is tied to");
  write_good();
  config_["n_layer"] = 1000000;
  put_config();
  expect_error("model.safetensors", "expected those of 1000000 layers");
  write_good();
  config_["vocab_size"] = 4;
  put_config();
  expect_error("model.safetensors", "wte.weight' has shape [3, 2]; expected [4, 2]");
}

TEST_F(Checkpoint, NumbersThatAreNotFiniteAreAnError) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity()}) {
    write_good();
    const auto at = header_["transformer.ln_f.weight"]["data_offsets"][0].get<std::size_t>();
    std::memcpy(data_.data() + at + 4, &bad, 4);
    put_tensors();
    expect_error("model.safetensors", "tensor 'transformer.ln_f.weight' holds NaN or infinity at element 1");
  }
}

TEST_F(Checkpoint, AFileCutAnywhereIsAnError) {
  write_good();
  const std::string tensors = slurp(dir_ / "model.safetensors"), config = slurp(dir_ / "config.json");
  for (std::size_t size = 0; size < tensors.size(); size += size < 64 ? 1 : 37) {
    spit(dir_ / "model.safetensors", tensors.substr(0, size));
    const auto model = read_checkpoint(dir_);
    ASSERT_FALSE(model) << size;
    EXPECT_THAT(model.error().file, HasSubstr("model.safetensors"));
  }
  spit(dir_ / "model.safetensors", tensors + "x");
  EXPECT_FALSE(read_checkpoint(dir_));
  spit(dir_ / "model.safetensors", tensors);
  for (std::size_t size = 0; size + 2 < config.size(); size += 5) {
    spit(dir_ / "config.json", config.substr(0, size));
    EXPECT_FALSE(read_checkpoint(dir_)) << size;
  }
}

TEST_F(Checkpoint, AHeaderLengthBeyondTheFileIsAnError) {
  write_good();
  const std::string good = slurp(dir_ / "model.safetensors");
  for (const std::uint64_t length : {std::uint64_t{good.size()}, std::uint64_t{good.size() - 7}, std::uint64_t{1} << 40,
                                     std::uint64_t{1} << 63, ~std::uint64_t{0}, ~std::uint64_t{7}}) {
    std::string bytes = good;
    std::memcpy(bytes.data(), &length, 8);
    spit(dir_ / "model.safetensors", bytes);
    expect_error("model.safetensors", "header length " + std::to_string(length));
  }
}

TEST_F(Checkpoint, RandomDamageNeverCrashesAndNeverPassesUnseenInTheHeader) {
  write_good();
  const std::string tensors = slurp(dir_ / "model.safetensors"), config = slurp(dir_ / "config.json");
  std::mt19937 random(1);
  int accepted = 0;
  for (int i = 0; i < 600; ++i) {
    std::string bytes = i % 2 ? tensors : config;
    const int edits = 1 + static_cast<int>(random() % 3);
    for (int e = 0; e < edits; ++e) {
      const std::size_t at = random() % bytes.size();
      switch (random() % 4) {
        case 0:
          bytes[at] = static_cast<char>(random());
          break;
        case 1:
          bytes.erase(at, 1 + random() % 9);
          break;
        case 2:
          bytes.insert(at, 1, "0123456789[]{},:\"-"[random() % 18]);
          break;
        default:
          bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
      }
      if (bytes.empty()) bytes = "x";
    }
    spit(dir_ / "model.safetensors", i % 2 ? bytes : tensors);
    spit(dir_ / "config.json", i % 2 ? config : bytes);
    const auto model = read_checkpoint(dir_);
    accepted += static_cast<bool>(model);
    EXPECT_TRUE(model || !model.error().message.empty());
  }
  EXPECT_LT(accepted, 300);  // damage within the numbers, or within a harmless key's value, is another good file
}

}  // namespace
}  // namespace cachet
