// The forward pass: embed, then for each block all tokens' keys and values are written before any of them is attended.
#include "backends/decoder.h"

#include <fmt/format.h>

namespace cachet::backends {
namespace {

std::vector<float> floats(const Model& model, const std::string& name) {
  const std::vector<double>& data = model.tensors.at("transformer." + name).data;
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

Result<std::unique_ptr<Decoder>> Decoder::make(const ModelPtr& model, const Seams& seams) {
  if (model->spec.family != "gpt2") return Error{"", 0, "family " + model->spec.family + " is not known here; expected gpt2"};
  return std::unique_ptr<Decoder>(new Decoder(*model, seams));
}

Decoder::Decoder(const Model& model, const Seams& seams)
    : spec_(model.spec), seams_(seams), wte_(floats(model, "wte.weight")), wpe_(floats(model, "wpe.weight")) {
  const int width = spec_.width, inner = spec_.inner > 0 ? spec_.inner : 4 * width;
  const auto norm = [&](const std::string& name) { return Norm{floats(model, name + ".weight"), floats(model, name + ".bias")}; };
  const auto linear = [&](const std::string& name, int in, int out) {
    return Linear{transposed(floats(model, name + ".weight"), in, out), floats(model, name + ".bias"), in, out};
  };
  for (int l = 0; l < spec_.layers; ++l) {
    const std::string at = fmt::format("h.{}.", l);
    blocks_.push_back({norm(at + "ln_1"), norm(at + "ln_2"), linear(at + "attn.c_attn", width, 3 * width),
                       linear(at + "attn.c_proj", width, width), linear(at + "mlp.c_fc", width, inner),
                       linear(at + "mlp.c_proj", inner, width)});
  }
  ln_f_ = norm("ln_f");
  const std::string& activation = seams_.activation.empty() ? spec_.activation : seams_.activation;
  activation_ = activation == "gelu" ? kernels::gelu_erf : kernels::gelu_tanh;
  epsilon_ = seams_.norm_epsilon.value_or(static_cast<float>(spec_.norm_epsilon));
}

void Decoder::norm(const Norm& norm, const float* x, float* y) const {
  kernels::layer_norm(x, norm.gain.data(), norm.bias.data(), spec_.width, epsilon_, seams_.summation, y);
}

void Decoder::apply(const Linear& linear, const float* x, float* y) const {
  kernels::linear(linear.weight.data(), linear.bias.data(), x, linear.in, linear.out, seams_.summation, y);
}

void Decoder::attend(const KvRow& row, int layer, const Fed& fed, const float* query, float* out) const {
  const int head = spec_.width / spec_.heads;
  const int visible = seams_.visible(fed), read = seams_.read(fed, visible);
  kernels::Attended attended;
  attended.visible = visible;
  attended.keys.resize(static_cast<std::size_t>(read));
  attended.values.resize(static_cast<std::size_t>(read));
  for (int h = 0; h < spec_.heads; ++h) {
    for (int s = 0; s < read; ++s) {
      attended.keys[static_cast<std::size_t>(s)] = row.key(layer, s) + h * head;
      attended.values[static_cast<std::size_t>(s)] = row.value(layer, s) + h * head;
    }
    kernels::attend(query + h * head, attended, head, seams_.softmax, seams_.summation, out + h * head);
  }
}

void Decoder::block(const Block& weights, KvRow& row, int layer, const std::vector<Fed>& fed, std::vector<float>& x) const {
  const int width = spec_.width, past = row.past(layer);
  std::vector<float> normed(width), branch(width), qkv(3 * width * fed.size()),
      inner(weights.c_fc.out);  // qkv: (tokens, 3 * width)
  for (std::size_t i = 0; i < fed.size(); ++i) {
    float* at = &qkv[i * 3 * width];
    norm(weights.ln_1, &x[i * width], normed.data());
    apply(weights.c_attn, normed.data(), at);
    for (int j = width; j < 3 * width; ++j) at[j] = seams_.stored(at[j]);
    row.write(layer, seams_.slot(fed[i]), at + width, at + 2 * width);
  }
  for (std::size_t i = 0; i < fed.size(); ++i) {
    float* token = &x[i * width];  // (width)
    Fed here = fed[i];
    here.past = past;
    attend(row, layer, here, &qkv[i * 3 * width], normed.data());
    apply(weights.c_proj, normed.data(), branch.data());
    for (int j = 0; j < width; ++j) token[j] += branch[j];
    norm(weights.ln_2, token, normed.data());
    apply(weights.c_fc, normed.data(), inner.data());
    for (float& v : inner) v = activation_(v);
    apply(weights.mlp_proj, inner.data(), branch.data());
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
    for (int j = 0; j < width; ++j)
      x[static_cast<std::size_t>(i) * width + j] =
          wte_[static_cast<std::size_t>(id) * width + j] + wpe_[static_cast<std::size_t>(position) * width + j];
  }
  for (int l = 0; l < spec_.layers; ++l) block(blocks_[static_cast<std::size_t>(l)], row, l, fed, x);
  logits.resize(static_cast<std::size_t>(n) * spec_.vocab);
  std::vector<float> normed(width);
  for (int i = 0; i < n; ++i) {
    norm(ln_f_, &x[static_cast<std::size_t>(i) * width], normed.data());
    kernels::linear(wte_.data(), nullptr, normed.data(), width, spec_.vocab, seams_.summation,
                    &logits[static_cast<std::size_t>(i) * spec_.vocab]);
  }
  return std::nullopt;
}

}  // namespace cachet::backends
