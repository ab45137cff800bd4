// Llama as published: Touvron et al., LLaMA: Open and Efficient Foundation Language Models (2023), section 2.2, with grouped
// queries (Ainslie et al., GQA, 2023), in the tensor layout and with the defaults of Hugging Face transformers
// (modeling_llama.py). Linear weights are (out, in) and have no bias.
#include <cmath>
#include <set>

#include "reference/architecture.h"
#include "reference/config_reader.h"
#include "reference/layers.h"

namespace cachet::reference {

namespace {

/// Two thirds of 4 width, rounded up.
int standard_inner(int width) { return static_cast<int>((std::int64_t{8} * width + 2) / 3); }

int inner_of(const ModelSpec& spec) { return spec.inner > 0 ? spec.inner : standard_inner(spec.width); }
int kv_heads_of(const ModelSpec& spec) { return spec.kv_heads > 0 ? spec.kv_heads : spec.heads; }
int head_of(const ModelSpec& spec) { return spec.head_dim > 0 ? spec.head_dim : spec.width / spec.heads; }

ModelSpec standard() {
  ModelSpec spec;
  spec.family = "llama";
  spec.activation = "silu";
  return spec;
}

std::vector<TensorInfo> tensors(const ModelSpec& spec) {
  const std::int64_t width = spec.width, inner = inner_of(spec);
  const std::int64_t queries = std::int64_t{spec.heads} * head_of(spec), keys = std::int64_t{kv_heads_of(spec)} * head_of(spec);
  std::vector<TensorInfo> out = {{"model.embed_tokens.weight", {spec.vocab, width}, TensorRole::kTokenEmbedding, spec.width}};
  const auto norm = [&](const std::string& name) { out.push_back({name + ".weight", {width}, TensorRole::kNormGain, 1}); };
  const auto linear = [&](const std::string& name, std::int64_t to, std::int64_t in) {
    out.push_back({name + ".weight", {to, in}, TensorRole::kLinear, static_cast<int>(in)});
  };
  for (int layer = 0; layer < spec.layers; ++layer) {
    const std::string block = "model.layers." + std::to_string(layer) + ".";
    norm(block + "input_layernorm");
    linear(block + "self_attn.q_proj", queries, width);
    linear(block + "self_attn.k_proj", keys, width);
    linear(block + "self_attn.v_proj", keys, width);
    linear(block + "self_attn.o_proj", width, queries);
    norm(block + "post_attention_layernorm");
    linear(block + "mlp.gate_proj", inner, width);
    linear(block + "mlp.up_proj", inner, width);
    linear(block + "mlp.down_proj", width, inner);
  }
  norm("model.norm");
  if (!spec.tie_word_embeddings) linear("lm_head", spec.vocab, width);
  return out;
}

std::optional<Error> validate(const ModelSpec& spec) {
  const auto complaint = [](const std::string& text) { return Error{"", 0, text}; };
  if (spec.heads % kv_heads_of(spec) != 0)
    return complaint("kv_heads: " + std::to_string(spec.kv_heads) + " is no divisor of heads=" + std::to_string(spec.heads) +
                     "; expected heads = kv_heads x queries a group");
  if (head_of(spec) % 2 != 0)
    return complaint((spec.head_dim > 0 ? "head_dim: " : "width: ") + std::string("a head of size ") +
                     std::to_string(head_of(spec)) + " has no pairs to rotate; expected an even size");
  if (std::int64_t{spec.heads} * head_of(spec) > kLargestSize)
    return complaint("head_dim: " + std::to_string(spec.heads) + " heads of size " + std::to_string(spec.head_dim) +
                     " are too wide; expected heads x head_dim to be at most " + std::to_string(kLargestSize));
  return std::nullopt;
}

Config to_config(const ModelSpec& spec) {
  return {
      {"model_type", "llama"},
      {"architectures", "[\"LlamaForCausalLM\"]"},
      {"num_hidden_layers", std::int64_t{spec.layers}},
      {"num_attention_heads", std::int64_t{spec.heads}},
      {"num_key_value_heads", std::int64_t{kv_heads_of(spec)}},
      {"head_dim", std::int64_t{head_of(spec)}},
      {"hidden_size", std::int64_t{spec.width}},
      {"intermediate_size", std::int64_t{inner_of(spec)}},
      {"max_position_embeddings", std::int64_t{spec.context}},
      {"vocab_size", std::int64_t{spec.vocab}},
      {"hidden_act", spec.activation},
      {"rms_norm_eps", spec.norm_epsilon},
      {"rope_theta", spec.rope_theta},
      {"rope_scaling", ConfigValue{}},
      {"tie_word_embeddings", spec.tie_word_embeddings},
      {"attention_bias", false},
      {"attention_dropout", 0.0},
      {"mlp_bias", false},
      {"bos_token_id", ConfigValue{}},
      {"eos_token_id", ConfigValue{}},
      {"pad_token_id", ConfigValue{}},
      {"torch_dtype", "float32"},
  };
}

/// The base of the angles: a key of its own, or in newer files one of `rope_parameters`. Scaled variants are other functions.
double read_theta(ConfigReader& reader) {
  reader.require_null("rope_scaling");
  const double theta = reader.positive("rope_theta", standard().rope_theta);
  if (!reader.has("rope_parameters")) return theta;
  const double inside = reader.positive("rope_parameters.rope_theta", theta);
  if (const std::string type = reader.text("rope_parameters.rope_type", "default"); type != "default")
    reader.complain("rope_parameters.rope_type", "is '" + type + "'; expected default");
  if (reader.has("rope_theta") && inside != theta)
    reader.complain("rope_parameters.rope_theta", "differs from rope_theta; expected the same number or none");
  return inside;
}

Result<ModelSpec> from_config(const Config& config) {
  ConfigReader reader(config);
  ModelSpec spec = standard();
  spec.layers = reader.size("num_hidden_layers");
  spec.heads = reader.size("num_attention_heads");
  spec.width = reader.size("hidden_size");
  spec.context = reader.size("max_position_embeddings");
  spec.vocab = reader.size("vocab_size");
  // Files spell out what a spec leaves to its default.
  const auto choice = [](int value, int usual) { return value == usual ? 0 : value; };
  spec.inner = choice(reader.size("intermediate_size"), standard_inner(spec.width));
  spec.kv_heads = choice(reader.size("num_key_value_heads", spec.heads), spec.heads);
  if (reader.ok() && spec.width % spec.heads != 0)
    reader.complain("hidden_size", "is not a multiple of num_attention_heads; expected hidden_size = heads x head size");
  spec.head_dim = choice(reader.size("head_dim", spec.width / spec.heads), spec.width / spec.heads);
  spec.norm_epsilon = reader.positive("rms_norm_eps", 1e-6);
  spec.rope_theta = read_theta(reader);
  spec.tie_word_embeddings = reader.flag("tie_word_embeddings", false);
  if (const std::string name = reader.text("hidden_act", "silu"); name != "silu" && name != "swish")
    reader.complain("hidden_act", "is '" + name + "'; expected silu");
  if (reader.size("pretraining_tp", 1) != 1) reader.complain("pretraining_tp", "splits sums; expected 1");
  reader.require("attention_bias", false);
  reader.require("mlp_bias", false);
  if (reader.ok() && spec.heads % kv_heads_of(spec) != 0)
    reader.complain("num_key_value_heads", "is no divisor of num_attention_heads; expected heads = kv heads x queries a group");
  if (reader.ok() && head_of(spec) % 2 != 0)
    reader.complain("head_dim", "is odd, so that a head has no pairs to rotate; expected an even size");
  return reader.finish(spec, {"attention_dropout", "initializer_range"});
}

/// Files of the bare model lack the prefix; older ones hold the rotary frequencies as buffers; some repeat a tied head.
std::string canonical_name(const ModelSpec& spec, const std::string& stored) {
  if (stored == "lm_head.weight") return spec.tie_word_embeddings ? "model.embed_tokens.weight" : stored;
  const std::string name = stored.rfind("model.", 0) == 0 ? stored : "model." + stored;
  const std::string buffer = "rotary_emb.inv_freq";
  if (name.size() > buffer.size() && name.compare(name.size() - buffer.size(), buffer.size(), buffer) == 0) return "";
  return name;
}

Rows forward(const Model& model, const Tokens& history, Arithmetic& a) {
  const ModelSpec& spec = model.spec;
  const int tokens = static_cast<int>(history.size());
  const std::size_t width = spec.width, head = head_of(spec);
  const std::size_t queries = spec.heads * head, keys = kv_heads_of(spec) * head;  // of all heads of a token
  const auto w = [&](const std::string& name) -> const Tensor& { return model.tensors.at(name + ".weight"); };
  const Tensor& embedding = w("model.embed_tokens");  // (vocab, width)
  const auto row = [](std::vector<double>& rows, int t, std::size_t size) {
    return std::span<double>(rows.data() + t * size, size);
  };

  std::vector<double> x(tokens * width);  // (tokens, width), the residual stream
  std::vector<Rotation> rotations;        // (tokens)
  for (int t = 0; t < tokens; ++t) {
    std::copy_n(embedding.data.begin() + history[t] * width, width, x.begin() + t * width);
    rotations.push_back(rotation(a, t, static_cast<int>(head), spec.rope_theta));
  }

  std::vector<double> normed(width), branch(width);  // (width), what a block reads and what it adds to the stream
  std::vector<double> q(tokens * queries), mixed(queries);
  std::vector<double> k(tokens * keys), v(tokens * keys);
  std::vector<double> gate(inner_of(spec)), up(inner_of(spec));
  for (int layer = 0; layer < spec.layers; ++layer) {
    const std::string block = "model.layers." + std::to_string(layer) + ".";
    const auto turn = [&](int t, std::span<double> heads) {
      for (std::size_t at = 0; at < heads.size(); at += head) rotate(a, t, rotations[t], heads.subspan(at, head));
    };
    for (int t = 0; t < tokens; ++t) {
      rms_norm(a, t, row(x, t, width), w(block + "input_layernorm"), spec.norm_epsilon, normed);
      a.product(t, normed, w(block + "self_attn.q_proj"), row(q, t, queries));
      a.product(t, normed, w(block + "self_attn.k_proj"), row(k, t, keys));
      a.product(t, normed, w(block + "self_attn.v_proj"), row(v, t, keys));
      turn(t, row(q, t, queries));
      turn(t, row(k, t, keys));
      for (double& key : row(k, t, keys)) key = a.store(t, key);
      for (double& value : row(v, t, keys)) value = a.store(t, value);
    }
    for (int t = 0; t < tokens; ++t) {
      for (int h = 0; h < spec.heads; ++h) {
        const std::size_t shared = h / (spec.heads / kv_heads_of(spec)) * head;  // where the group's keys and values begin
        attend(a, t, row(q, t, queries).subspan(h * head, head), k.data() + shared, v.data() + shared, keys,
               std::span(mixed).subspan(h * head, head));
      }
      a.product(t, mixed, w(block + "self_attn.o_proj"), branch);
      add(a, t, row(x, t, width), branch);

      rms_norm(a, t, row(x, t, width), w(block + "post_attention_layernorm"), spec.norm_epsilon, normed);
      a.product(t, normed, w(block + "mlp.gate_proj"), gate);
      a.product(t, normed, w(block + "mlp.up_proj"), up);
      activate(a, t, spec.activation, gate);
      for (std::size_t i = 0; i < gate.size(); ++i) gate[i] = a.round(t, gate[i] * up[i]);
      a.product(t, gate, w(block + "mlp.down_proj"), branch);
      add(a, t, row(x, t, width), branch);
    }
  }

  Rows rows = empty_rows(a, tokens, spec.vocab, spec.width);
  const Tensor& last = spec.tie_word_embeddings ? embedding : w("lm_head");  // (vocab, width)
  for (int t = 0; t < tokens; ++t) {
    rms_norm(a, t, row(x, t, width), w("model.norm"), spec.norm_epsilon, normed);
    head_row(a, t, normed, last, rows);
  }
  return rows;
}

}  // namespace

Architecture llama() {
  const std::set<std::string> choices = {"kv_heads", "head_dim", "rope_theta", "tie_word_embeddings"};
  return {"llama", standard(), {"silu"}, choices, tensors, validate, to_config, from_config, canonical_name, forward};
}

}  // namespace cachet::reference
