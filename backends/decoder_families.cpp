// What each family's tensors are to the one forward pass.
#include <fmt/format.h>

#include "backends/decoder.h"

namespace cachet::backends {
namespace {

std::vector<float> floats(const Model& model, const std::string& name) {
  const std::vector<double>& data = model.tensors.at(name).data;
  std::vector<float> out;
  out.reserve(data.size());
  for (const double x : data) out.push_back(static_cast<float>(x));
  return out;
}

/// (in, out) as stored to (out, in) as read.
std::vector<float> transposed(const std::vector<float>& w, int in, int out) {
  std::vector<float> t(w.size());
  for (int i = 0; i < in; ++i)
    for (int o = 0; o < out; ++o) t[static_cast<std::size_t>(o) * in + i] = w[static_cast<std::size_t>(i) * out + o];
  return t;
}

}  // namespace

Decoder::Decoder(const Model& model, const Seams& seams) : spec_(model.spec), seams_(seams) {
  weights_.epsilon = seams_.norm_epsilon.value_or(static_cast<float>(spec_.norm_epsilon));
  if (spec_.family == "llama")
    read_llama(model);
  else
    read_gpt2(model);
}

void Decoder::read_gpt2(const Model& model) {
  const std::string root = "transformer.";
  const int width = spec_.width, inner = spec_.inner > 0 ? spec_.inner : 4 * width;
  const auto norm = [&](const std::string& name) {
    return Norm{floats(model, root + name + ".weight"), floats(model, root + name + ".bias")};
  };
  const auto linear = [&](const std::string& name, int in, int out) {
    return Linear{transposed(floats(model, root + name + ".weight"), in, out), floats(model, root + name + ".bias"), in, out};
  };
  weights_.heads = weights_.kv_heads = spec_.heads;
  weights_.head = width / weights_.heads;
  weights_.wte = floats(model, root + "wte.weight");
  weights_.wpe = floats(model, root + "wpe.weight");
  for (int l = 0; l < spec_.layers; ++l) {
    const std::string at = fmt::format("h.{}.", l);
    weights_.blocks.push_back({norm(at + "ln_1"),
                               norm(at + "ln_2"),
                               linear(at + "attn.c_attn", width, 3 * width),
                               linear(at + "attn.c_proj", width, width),
                               linear(at + "mlp.c_fc", width, inner),
                               linear(at + "mlp.c_proj", inner, width),
                               {}});
  }
  weights_.ln_f = norm("ln_f");
  const std::string& activation = seams_.activation.empty() ? spec_.activation : seams_.activation;
  weights_.activation = activation == "gelu" ? kernels::gelu_erf : kernels::gelu_tanh;
}

void Decoder::read_llama(const Model& model) {
  const std::string root = "model.";
  const auto norm = [&](const std::string& name) { return Norm{floats(model, root + name + ".weight"), {}}; };
  const auto linear = [&](const std::string& name) {
    const std::vector<std::int64_t>& shape = model.tensors.at(root + name + ".weight").shape;  // (out, in)
    return Linear{floats(model, root + name + ".weight"), {}, static_cast<int>(shape[1]), static_cast<int>(shape[0])};
  };
  weights_.heads = spec_.heads;
  weights_.kv_heads = spec_.kv_heads > 0 ? spec_.kv_heads : weights_.heads;
  weights_.head = spec_.head_dim > 0 ? spec_.head_dim : spec_.width / weights_.heads;
  weights_.frequencies =
      kernels::rotary_frequencies(weights_.head, seams_.rope_theta.value_or(static_cast<float>(spec_.rope_theta)));
  weights_.wte = floats(model, root + "embed_tokens.weight");
  for (int l = 0; l < spec_.layers; ++l) {
    const std::string at = fmt::format("layers.{}.", l);
    Linear qkv = linear(at + "self_attn.q_proj");
    for (const char* name : {"self_attn.k_proj", "self_attn.v_proj"}) {
      const Linear more = linear(at + name);
      qkv.weight.insert(qkv.weight.end(), more.weight.begin(), more.weight.end());
      qkv.out += more.out;
    }
    weights_.blocks.push_back({norm(at + "input_layernorm"), norm(at + "post_attention_layernorm"), std::move(qkv),
                               linear(at + "self_attn.o_proj"), linear(at + "mlp.up_proj"), linear(at + "mlp.down_proj"),
                               linear(at + "mlp.gate_proj")});
  }
  weights_.ln_f = norm("norm");
  if (!spec_.tie_word_embeddings) weights_.lm_head = floats(model, "lm_head.weight");
  weights_.activation = kernels::silu;
}

}  // namespace cachet::backends
