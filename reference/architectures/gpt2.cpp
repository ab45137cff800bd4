// GPT-2 as published: Radford et al., Language Models are Unsupervised Multitask Learners (2019), in the tensor layout and with
// the defaults of Hugging Face transformers (modeling_gpt2.py). Linear weights are (in, out); the head is tied to wte.
#include <cmath>
#include <set>

#include "reference/architecture.h"
#include "reference/config_reader.h"
#include "reference/layers.h"

namespace cachet::reference {

namespace {

int inner_of(const ModelSpec& spec) { return spec.inner > 0 ? spec.inner : 4 * spec.width; }

std::vector<TensorInfo> tensors(const ModelSpec& spec) {
  const std::int64_t width = spec.width, inner = inner_of(spec);
  const int fan_width = spec.width, fan_inner = inner_of(spec);
  std::vector<TensorInfo> out = {
      {"transformer.wte.weight", {spec.vocab, width}, TensorRole::kTokenEmbedding, fan_width},
      {"transformer.wpe.weight", {spec.context, width}, TensorRole::kPositionEmbedding, fan_width},
  };
  const auto norm = [&](const std::string& name) {
    out.push_back({name + ".weight", {width}, TensorRole::kNormGain, 1});
    out.push_back({name + ".bias", {width}, TensorRole::kNormBias, 1});
  };
  const auto linear = [&](const std::string& name, std::int64_t in, std::int64_t to, int fan_in) {
    out.push_back({name + ".weight", {in, to}, TensorRole::kLinear, fan_in});
    out.push_back({name + ".bias", {to}, TensorRole::kBias, 1});
  };
  for (int layer = 0; layer < spec.layers; ++layer) {
    const std::string block = "transformer.h." + std::to_string(layer) + ".";
    norm(block + "ln_1");
    linear(block + "attn.c_attn", width, 3 * width, fan_width);
    linear(block + "attn.c_proj", width, width, fan_width);
    norm(block + "ln_2");
    linear(block + "mlp.c_fc", width, inner, fan_width);
    linear(block + "mlp.c_proj", inner, width, fan_inner);
  }
  norm("transformer.ln_f");
  return out;
}

std::optional<Error> validate(const ModelSpec&) { return std::nullopt; }

Config to_config(const ModelSpec& spec) {
  // The dropouts and token ids are written since their defaults (0.1; 50256) would change a training run or name ids outside a
  // small vocabulary.
  return {
      {"model_type", "gpt2"},
      {"architectures", "[\"GPT2LMHeadModel\"]"},
      {"n_layer", std::int64_t{spec.layers}},
      {"n_head", std::int64_t{spec.heads}},
      {"n_embd", std::int64_t{spec.width}},
      {"n_inner", spec.inner > 0 ? ConfigValue{std::int64_t{spec.inner}} : ConfigValue{}},
      {"n_positions", std::int64_t{spec.context}},
      {"n_ctx", std::int64_t{spec.context}},
      {"vocab_size", std::int64_t{spec.vocab}},
      {"activation_function", spec.activation},
      {"layer_norm_epsilon", spec.norm_epsilon},
      {"attn_pdrop", 0.0},
      {"embd_pdrop", 0.0},
      {"resid_pdrop", 0.0},
      {"bos_token_id", ConfigValue{}},
      {"eos_token_id", ConfigValue{}},
      {"scale_attn_weights", true},
      {"scale_attn_by_inverse_layer_idx", false},
      {"reorder_and_upcast_attn", false},
      {"tie_word_embeddings", true},
      {"torch_dtype", "float32"},
  };
}

/// Keys that change no logit of a decoder at inference.
const std::set<std::string>& harmless_keys() {
  static const std::set<std::string> keys = {"attn_pdrop",
                                             "embd_pdrop",
                                             "resid_pdrop",
                                             "summary_activation",
                                             "summary_first_dropout",
                                             "summary_proj_to_labels",
                                             "summary_type",
                                             "summary_use_proj",
                                             "initializer_range",
                                             "n_ctx"};
  return keys;
}

Result<ModelSpec> from_config(const Config& config) {
  ConfigReader reader(config);
  ModelSpec spec;
  spec.family = "gpt2";
  spec.layers = reader.size("n_layer");
  spec.heads = reader.size("n_head");
  spec.width = reader.size("n_embd");
  spec.inner = reader.size("n_inner", 0);
  spec.context = reader.size("n_positions");
  spec.vocab = reader.size("vocab_size");
  if (reader.size("n_ctx", spec.context) != spec.context)
    reader.complain("n_ctx", "differs from n_positions; expected the same number or none");
  spec.activation = reader.text("activation_function", "gelu_new");
  if (spec.activation == "gelu_pytorch_tanh") spec.activation = "gelu_new";  // two names of one formula
  if (spec.activation != "gelu_new" && spec.activation != "gelu") {
    reader.complain("activation_function", "is '" + spec.activation + "'; expected gelu_new or gelu");
  }
  spec.norm_epsilon = reader.positive("layer_norm_epsilon", 1e-5);
  reader.require("scale_attn_weights", true);
  reader.require("scale_attn_by_inverse_layer_idx", false);
  reader.require("reorder_and_upcast_attn", false);
  reader.require("add_cross_attention", false);
  reader.require("tie_word_embeddings", true);
  if (reader.ok() && spec.width % spec.heads != 0)
    reader.complain("n_embd", "is not a multiple of n_head; expected n_embd = n_head x head size");
  return reader.finish(spec, harmless_keys());
}

/// Files of the bare model lack the prefix; older ones hold the causal masks as buffers; some repeat the tied head.
std::string canonical_name(const ModelSpec&, const std::string& stored) {
  if (stored == "lm_head.weight") return "transformer.wte.weight";
  const std::string name = stored.rfind("transformer.", 0) == 0 ? stored : "transformer." + stored;
  const auto ends = [&](const std::string& end) {
    return name.size() > end.size() && name.compare(name.size() - end.size(), end.size(), end) == 0;
  };
  if (ends(".attn.bias") || ends(".attn.masked_bias")) return "";
  return name;
}

Rows forward(const Model& model, const Tokens& history, Arithmetic& a) {
  const ModelSpec& spec = model.spec;
  const int tokens = static_cast<int>(history.size());
  const std::size_t width = spec.width;
  const std::size_t head = width / spec.heads;
  const auto w = [&](const std::string& name) -> const Tensor& { return model.tensors.at("transformer." + name); };
  const Tensor& wte = w("wte.weight");  // (vocab, width)
  const Tensor& wpe = w("wpe.weight");  // (context, width)

  std::vector<double> x(tokens * width);  // (tokens, width), the residual stream
  const auto row = [&](std::vector<double>& rows, int t, std::size_t size) {
    return std::span<double>(rows.data() + t * size, size);
  };
  for (int t = 0; t < tokens; ++t) {
    for (std::size_t i = 0; i < width; ++i)
      x[t * width + i] = a.round(t, wte.data[history[t] * width + i] + wpe.data[t * width + i]);
  }

  std::vector<double> normed(width);            // (width)
  std::vector<double> branch(width);            // (width), what a block adds to the stream
  std::vector<double> qkv(tokens * 3 * width);  // (tokens, 3 * width): query, key, value of all heads
  std::vector<double> inner(inner_of(spec));    // (inner)
  for (int layer = 0; layer < spec.layers; ++layer) {
    const std::string block = "h." + std::to_string(layer) + ".";
    const auto norm = [&](const std::string& name, int t) {
      layer_norm(a, t, row(x, t, width), w(block + name + ".weight"), w(block + name + ".bias"), spec.norm_epsilon, normed);
    };
    const auto linear = [&](const std::string& name, int t, std::span<const double> from, std::span<double> to) {
      a.linear(t, from, w(block + name + ".weight"), w(block + name + ".bias"), to);
    };
    for (int t = 0; t < tokens; ++t) {
      norm("ln_1", t);
      linear("attn.c_attn", t, normed, row(qkv, t, 3 * width));
      for (std::size_t i = width; i < 3 * width; ++i) qkv[t * 3 * width + i] = a.store(t, qkv[t * 3 * width + i]);
    }
    for (int t = 0; t < tokens; ++t) {
      for (int h = 0; h < spec.heads; ++h) {
        const auto query = row(qkv, t, 3 * width).subspan(h * head, head);
        const double* keys = qkv.data() + width + h * head;        // (tokens, head), 3 * width apart
        const double* values = qkv.data() + 2 * width + h * head;  // likewise
        attend(a, t, query, keys, values, 3 * width, std::span(normed).subspan(h * head, head));
      }
      linear("attn.c_proj", t, normed, branch);
      add(a, t, row(x, t, width), branch);

      norm("ln_2", t);
      linear("mlp.c_fc", t, normed, inner);
      activate(a, t, spec.activation, inner);
      linear("mlp.c_proj", t, inner, branch);
      add(a, t, row(x, t, width), branch);
    }
  }

  Rows rows = empty_rows(a, tokens, spec.vocab, spec.width);
  for (int t = 0; t < tokens; ++t) {
    layer_norm(a, t, row(x, t, width), w("ln_f.weight"), w("ln_f.bias"), spec.norm_epsilon, normed);
    head_row(a, t, normed, wte, rows);
  }
  return rows;
}

}  // namespace

Architecture gpt2() {
  return {"gpt2", ModelSpec{}, {"gelu_new", "gelu"}, {}, tensors, validate, to_config, from_config, canonical_name, forward};
}

}  // namespace cachet::reference
