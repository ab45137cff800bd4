// The forward pass: embed, then for each block all tokens' keys and values are written before any of them is attended.
#include "backends/decoder.h"

#include <fmt/format.h>

namespace cachet::backends {
Result<std::unique_ptr<Decoder>> Decoder::make(const ModelPtr& model, const Seams& seams) {
  const std::string& family = model->spec.family;
  if (family != "gpt2" && family != "llama")
    return Error{"", 0, "family " + family + " is not known here; expected gpt2 or llama"};
  return std::unique_ptr<Decoder>(new Decoder(*model, seams));
}

void Decoder::norm(const Norm& norm, const float* x, float* y) const {
  if (norm.bias.empty())
    kernels::rms_norm(x, norm.gain.data(), spec_.width, weights_.epsilon, seams_.summation, y);
  else
    kernels::layer_norm(x, norm.gain.data(), norm.bias.data(), spec_.width, weights_.epsilon, seams_.summation, y);
}

void Decoder::apply(const Linear& linear, const float* x, float* y) const {
  const float* bias = linear.bias.empty() ? nullptr : linear.bias.data();
  kernels::linear(linear.weight.data(), bias, x, linear.in, linear.out, seams_.summation, y);
}

void Decoder::rotate(float* heads, int count, int position) const {
  for (int h = 0; h < count; ++h)
    kernels::rotate(heads + h * weights_.head, weights_.head, position, weights_.frequencies.data(), seams_.rope_pairs);
}

void Decoder::attend(const KvRow& row, int layer, const Fed& fed, const float* query, float* out) const {
  const int visible = seams_.visible(fed), read = seams_.read(fed, visible), width = kv_width();
  std::vector<const float*> keys;
  for (int s = 0; s < read; ++s) keys.push_back(row.key(layer, s));
  std::vector<float> turned;  // (read, kv_width)
  if (rotary() && seams_.key_position) {
    for (const float* key : keys) turned.insert(turned.end(), key, key + width);
    for (int s = 0; s < read; ++s) {
      keys[static_cast<std::size_t>(s)] = &turned[static_cast<std::size_t>(s) * width];
      rotate(&turned[static_cast<std::size_t>(s) * width], weights_.kv_heads, seams_.key_position(fed, s));
    }
  }
  kernels::Attended attended;
  attended.visible = visible;
  attended.keys.resize(keys.size());
  attended.values.resize(keys.size());
  for (int h = 0; h < weights_.heads; ++h) {
    const int shared =
        seams_.kv_head(h, weights_.heads, weights_.kv_heads) * weights_.head;  // where the keys and values of the group begin
    for (int s = 0; s < read; ++s) {
      attended.keys[static_cast<std::size_t>(s)] = keys[static_cast<std::size_t>(s)] + shared;
      attended.values[static_cast<std::size_t>(s)] = row.value(layer, s) + shared;
    }
    kernels::attend(query + h * weights_.head, attended, weights_.head, seams_.softmax, seams_.summation,
                    out + h * weights_.head);
  }
}

void Decoder::mlp(const Block& weights, const float* x, float* out) const {
  std::vector<float> inner(weights.c_fc.out), gate(weights.gate.out);
  apply(weights.c_fc, x, inner.data());
  if (gate.empty()) {
    for (float& v : inner) v = weights_.activation(v);
  } else {
    apply(weights.gate, x, gate.data());
    if (seams_.gate_is_up) std::swap(gate, inner);
    for (std::size_t i = 0; i < inner.size(); ++i) inner[i] *= weights_.activation(gate[i]);
  }
  apply(weights.mlp_proj, inner.data(), out);
}

void Decoder::block(const Block& weights, KvRow& row, int layer, const std::vector<Fed>& fed, std::vector<float>& x) const {
  const int width = spec_.width, past = row.past(layer);
  const int queries = weights_.heads * weights_.head, keys = kv_width(), all = queries + 2 * keys;
  std::vector<float> normed(width), branch(width), mixed(queries), qkv(all * fed.size());  // qkv: (tokens, all)
  for (std::size_t i = 0; i < fed.size(); ++i) {
    float *at = &qkv[i * all], *key = at + queries, *value = key + keys;
    norm(weights.ln_1, &x[i * width], normed.data());
    apply(weights.c_attn, normed.data(), at);
    if (rotary()) {
      const int position = seams_.rope_position(fed[i], seams_.position_id(fed[i]));
      rotate(at, weights_.heads, position);
      if (!seams_.key_position) rotate(key, weights_.kv_heads, position);
    }
    for (float* v = key; v != key + 2 * keys; ++v) *v = seams_.stored(*v);
    row.write(layer, seams_.slot(fed[i]), key, value);
  }
  for (std::size_t i = 0; i < fed.size(); ++i) {
    float* token = &x[i * width];  // (width)
    Fed here = fed[i];
    here.past = past;
    attend(row, layer, here, &qkv[i * all], mixed.data());
    apply(weights.c_proj, mixed.data(), branch.data());
    for (int j = 0; j < width; ++j) token[j] += branch[j];
    norm(weights.ln_2, token, normed.data());
    mlp(weights, normed.data(), branch.data());
    for (int j = 0; j < width; ++j) token[j] += branch[j];
  }
}

std::optional<Failure> Decoder::feed(KvRow& row, const Tokens& tokens, std::vector<float>& logits) const {
  const int n = static_cast<int>(tokens.size()), width = spec_.width;
  if (n == 0) return Failure{"RuntimeError", "cannot reshape an array of 0 elements: the model was fed no token"};
  std::vector<Fed> fed;
  std::vector<float> x(static_cast<std::size_t>(n) * width);  // (tokens, width)
  for (int i = 0; i < n; ++i) {
    fed.push_back({row.past(0), i, n, row.facts(), spec_.context});
    const int position = seams_.position_id(fed.back());
    if (position < 0 || position >= spec_.context)
      return Failure{"IndexError", fmt::format("position {} is outside the {} of the model", position, spec_.context)};
    if (!row.holds(seams_.slot(fed.back())))
      return Failure{"IndexError", fmt::format("slot {} is outside the cache", seams_.slot(fed.back()))};
    const Token id = *seams_.embedding_row(tokens[static_cast<std::size_t>(i)], spec_.vocab);
    for (int j = 0; j < width; ++j) {
      const float learned = rotary() ? 0.0F : weights_.wpe[static_cast<std::size_t>(position) * width + j];
      x[static_cast<std::size_t>(i) * width + j] = weights_.wte[static_cast<std::size_t>(id) * width + j] + learned;
    }
  }
  for (int l = 0; l < spec_.layers; ++l) block(weights_.blocks[static_cast<std::size_t>(l)], row, l, fed, x);
  logits.resize(static_cast<std::size_t>(n) * spec_.vocab);
  const std::vector<float>& head = weights_.lm_head.empty() || seams_.head_is_embedding ? weights_.wte : weights_.lm_head;
  std::vector<float> normed(width);
  for (int i = 0; i < n; ++i) {
    norm(weights_.ln_f, &x[static_cast<std::size_t>(i) * width], normed.data());
    kernels::linear(head.data(), nullptr, normed.data(), width, spec_.vocab, seams_.summation,
                    &logits[static_cast<std::size_t>(i) * spec_.vocab]);
  }
  return std::nullopt;
}

}  // namespace cachet::backends
