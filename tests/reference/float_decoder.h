// Both families in float32 as engines compute them, in several correct ways and in three wrong ones: what the envelope is
// calibrated on.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "reference/model.h"

namespace cachet::testing {

/// How one float32 engine differs from another. All combinations are correct but those of the last group.
struct FloatWays {
  enum class Order { kSequential, kReversed, kPairwise, kBlocked, kFused };
  /// Of layers (x - mean) * r; x * r - mean * r; variance as E[x^2] - E[x]^2. Of mean squares (x * r) * g; (x * g) * r; x / s *
  /// g.
  enum class Norm { kTwoPass, kScaledFirst, kMoments };
  Order order = Order::kSequential;
  Norm norm = Norm::kTwoPass;
  bool bias_first = false;
  bool logistic_gelu = false;  ///< x * logistic(2 z) for the tanh form of GELU; for SiLU tanh for the logistic function
  bool online_softmax = false;
  /// Rotary angles: position / theta^p; theta^-p as exp(-p log(theta)); the next frequency from the last one; in double
  /// precision.
  enum class Angles { kPower, kExponential, kIterated, kDouble };
  Angles angles = Angles::kPower;

  bool half_cache = false;  ///< keys and values rounded to float16
  double epsilon = 0;       ///< in place of the model's
  bool other_gelu = false;  ///< erf for tanh and tanh for erf; for SiLU GELU
};

inline float half(float x) {
  if (x == 0) return 0;
  int exponent = 0;
  std::frexp(x, &exponent);
  const int ulp = std::max(exponent, -13) - 11;
  return static_cast<float>(std::ldexp(std::nearbyint(std::ldexp(static_cast<double>(x), -ulp)), ulp));
}

/// What both families are made of.
class FloatLayers {
 protected:
  FloatLayers(const Model& model, const FloatWays& ways) : spec_(model.spec), ways_(ways) {}

  using Row = std::vector<float>;
  using Term = std::function<std::pair<float, float>(int)>;

  float range(int begin, int end, const Term& term) const {
    if (end - begin == 1) return product(term(begin));
    const int middle = begin + (end - begin) / 2;
    return range(begin, middle, term) + range(middle, end, term);
  }
  static float product(const std::pair<float, float>& pair) { return pair.first * pair.second; }

  /// The sum of n products, beginning with `start`.
  float sum(int n, const Term& term, float start = 0) const {
    float total = start;
    switch (ways_.order) {
      case FloatWays::Order::kSequential:
        for (int k = 0; k < n; ++k) total += product(term(k));
        return total;
      case FloatWays::Order::kReversed:
        for (int k = n; k-- > 0;) total += product(term(k));
        return total;
      case FloatWays::Order::kPairwise:
        return total + range(0, n, term);
      case FloatWays::Order::kBlocked: {
        float lanes[4] = {};
        for (int k = 0; k < n; ++k) lanes[k % 4] += product(term(k));
        return total + ((lanes[0] + lanes[2]) + (lanes[1] + lanes[3]));
      }
      case FloatWays::Order::kFused:
        for (int k = 0; k < n; ++k) total = std::fma(term(k).first, term(k).second, total);
        return total;
    }
    return total;
  }
  float plain_sum(const Row& x) const {
    return sum(static_cast<int>(x.size()), [&](int i) { return std::pair(x[i], 1.0F); });
  }

  /// The key and value of the next token of a layer.
  void keep(int layer, Row key, Row value) {
    if (ways_.half_cache) {
      for (float& v : key) v = half(v);
      for (float& v : value) v = half(v);
    }
    keys_[layer].push_back(std::move(key));
    values_[layer].push_back(std::move(value));
  }

  /// One query whose head begins at `first`, over keys and values whose head begins at `shared`.
  void attend(int layer, int first, int shared, int head, const Row& query, Row& mixed) {
    const auto& keys = keys_[layer];
    const auto& values = values_[layer];
    const int n = static_cast<int>(keys.size());
    const float scale = 1 / std::sqrt(static_cast<float>(head));
    Row scores(n);
    for (int s = 0; s < n; ++s)
      scores[s] = scale * sum(head, [&](int d) { return std::pair(query[first + d], keys[s][shared + d]); });
    if (ways_.online_softmax) {
      float top = -INFINITY, total = 0;
      Row sums(head);
      for (int s = 0; s < n; ++s) {
        const float next = std::max(top, scores[s]);
        const float old = std::exp(top - next), weight = std::exp(scores[s] - next);
        total = total * old + weight;
        for (int d = 0; d < head; ++d) sums[d] = sums[d] * old + weight * values[s][shared + d];
        top = next;
      }
      for (int d = 0; d < head; ++d) mixed[first + d] = sums[d] / total;
      return;
    }
    const float top = *std::max_element(scores.begin(), scores.end());
    for (float& s : scores) s = std::exp(s - top);
    const float total = plain_sum(scores);
    for (float& s : scores) s /= total;
    for (int d = 0; d < head; ++d) mixed[first + d] = sum(n, [&](int s) { return std::pair(scores[s], values[s][shared + d]); });
  }

  ModelSpec spec_;
  FloatWays ways_;
  std::map<std::string, Row> tensors_;
  std::vector<std::vector<Row>> keys_, values_;  // a layer: (tokens, width of a key)
};

/// Rows of logits of a whole history.
class FloatGpt2 : FloatLayers {
 public:
  FloatGpt2(const Model& model, const FloatWays& ways) : FloatLayers(model, ways) {
    for (const auto& [name, tensor] : model.tensors) tensors_[name.substr(12)].assign(tensor.data.begin(), tensor.data.end());
  }

  std::vector<std::vector<double>> rows(const Tokens& history) {
    const std::size_t width = spec_.width;
    std::vector<std::vector<double>> out;
    keys_.assign(spec_.layers, {});
    values_.assign(spec_.layers, {});
    for (std::size_t t = 0; t < history.size(); ++t) {
      Row x(width);
      for (std::size_t i = 0; i < width; ++i)
        x[i] = tensors_["wte.weight"][history[t] * width + i] + tensors_["wpe.weight"][t * width + i];
      for (int layer = 0; layer < spec_.layers; ++layer) block(layer, x);
      const Row y = norm(x, "ln_f");
      std::vector<double> logits;
      for (int j = 0; j < spec_.vocab; ++j)
        logits.push_back(sum(spec_.width, [&](int i) { return std::pair(y[i], tensors_["wte.weight"][j * width + i]); }));
      out.push_back(logits);
    }
    return out;
  }

 private:
  Row norm(const Row& x, const std::string& name) {
    const Row &gain = tensors_[name + ".weight"], &bias = tensors_[name + ".bias"];
    const auto n = static_cast<float>(x.size());
    const auto epsilon = static_cast<float>(ways_.epsilon > 0 ? ways_.epsilon : spec_.norm_epsilon);
    const float mean = plain_sum(x) / n;
    float variance = 0;
    if (ways_.norm == FloatWays::Norm::kMoments) {
      variance = std::max(0.0F, sum(static_cast<int>(x.size()), [&](int i) { return std::pair(x[i], x[i]); }) / n - mean * mean);
    } else {
      variance = sum(static_cast<int>(x.size()), [&](int i) { return std::pair(x[i] - mean, x[i] - mean); }) / n;
    }
    const float r = 1 / std::sqrt(variance + epsilon);
    Row out(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      const float scaled = ways_.norm == FloatWays::Norm::kScaledFirst ? x[i] * r + -mean * r : (x[i] - mean) * r;
      out[i] = scaled * gain[i] + bias[i];
    }
    return out;
  }

  Row linear(const Row& x, const std::string& name, int columns) {
    const Row &weight = tensors_[name + ".weight"], &bias = tensors_[name + ".bias"];
    Row out(columns);
    for (int j = 0; j < columns; ++j) {
      const float total = sum(
          static_cast<int>(x.size()), [&](int i) { return std::pair(x[i], weight[i * columns + j]); },
          ways_.bias_first ? bias[j] : 0);
      out[j] = ways_.bias_first ? total : total + bias[j];
    }
    return out;
  }

  float activation(float x) const {
    const bool erf = (spec_.activation == "gelu") != ways_.other_gelu;
    if (erf) return 0.5F * x * (1 + std::erf(x * 0.70710678F));
    const float z = 0.79788456F * (x + 0.044715F * x * x * x);
    return ways_.logistic_gelu ? x / (1 + std::exp(-2 * z)) : 0.5F * x * (1 + std::tanh(z));
  }

  void block(int layer, Row& x) {
    const std::string name = "h." + std::to_string(layer) + ".";
    const int width = spec_.width, head = width / spec_.heads;
    const Row qkv = linear(norm(x, name + "ln_1"), name + "attn.c_attn", 3 * width);
    keep(layer, Row(qkv.begin() + width, qkv.begin() + 2 * width), Row(qkv.begin() + 2 * width, qkv.end()));
    Row mixed(width);
    for (int h = 0; h < spec_.heads; ++h) attend(layer, h * head, h * head, head, qkv, mixed);
    const Row branch = linear(mixed, name + "attn.c_proj", width);
    for (int i = 0; i < width; ++i) x[i] += branch[i];
    Row inner = linear(norm(x, name + "ln_2"), name + "mlp.c_fc", spec_.inner > 0 ? spec_.inner : 4 * width);
    for (float& v : inner) v = activation(v);
    const Row rest = linear(inner, name + "mlp.c_proj", width);
    for (int i = 0; i < width; ++i) x[i] += rest[i];
  }
};

class FloatLlama : FloatLayers {
 public:
  FloatLlama(const Model& model, const FloatWays& ways)
      : FloatLayers(model, ways),
        kv_heads_(spec_.kv_heads > 0 ? spec_.kv_heads : spec_.heads),
        head_(spec_.head_dim > 0 ? spec_.head_dim : spec_.width / spec_.heads) {
    for (const auto& [name, tensor] : model.tensors) tensors_[name].assign(tensor.data.begin(), tensor.data.end());
  }

  std::vector<std::vector<double>> rows(const Tokens& history) {
    const std::size_t width = spec_.width;
    const Row& embedding = tensors_["model.embed_tokens.weight"];
    std::vector<std::vector<double>> out;
    keys_.assign(spec_.layers, {});
    values_.assign(spec_.layers, {});
    for (std::size_t t = 0; t < history.size(); ++t) {
      Row x(embedding.begin() + history[t] * width, embedding.begin() + (history[t] + 1) * width);
      for (int layer = 0; layer < spec_.layers; ++layer) block(layer, static_cast<int>(t), x);
      const Row logits = linear(norm(x, "model.norm"), spec_.tie_word_embeddings ? "model.embed_tokens" : "lm_head");
      out.emplace_back(logits.begin(), logits.end());
    }
    return out;
  }

 private:
  Row norm(const Row& x, const std::string& name) {
    const Row& gain = tensors_[name + ".weight"];
    const auto epsilon = static_cast<float>(ways_.epsilon > 0 ? ways_.epsilon : spec_.norm_epsilon);
    const float mean =
        sum(static_cast<int>(x.size()), [&](int i) { return std::pair(x[i], x[i]); }) / static_cast<float>(x.size());
    const float root = std::sqrt(mean + epsilon), r = 1 / root;
    Row out(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (ways_.norm == FloatWays::Norm::kTwoPass) out[i] = x[i] * r * gain[i];
      if (ways_.norm == FloatWays::Norm::kScaledFirst) out[i] = x[i] * gain[i] * r;
      if (ways_.norm == FloatWays::Norm::kMoments) out[i] = x[i] / root * gain[i];
    }
    return out;
  }

  Row linear(const Row& x, const std::string& name) {
    const Row& weight = tensors_[name + ".weight"];  // (out, in)
    const std::size_t in = x.size();
    Row out(weight.size() / in);
    for (std::size_t j = 0; j < out.size(); ++j)
      out[j] = sum(static_cast<int>(in), [&](int i) { return std::pair(x[i], weight[j * in + i]); });
    return out;
  }

  float angle(int position, int pair) const {
    const auto t = static_cast<float>(position), theta = static_cast<float>(spec_.rope_theta);
    const float power = 2.0F * static_cast<float>(pair) / static_cast<float>(head_);
    switch (ways_.angles) {
      case FloatWays::Angles::kPower:
        return t / std::pow(theta, power);
      case FloatWays::Angles::kExponential:
        return t * std::exp(-power * std::log(theta));
      case FloatWays::Angles::kIterated: {
        const float step = std::pow(theta, -2.0F / static_cast<float>(head_));
        float turned = t;
        for (int i = 0; i < pair; ++i) turned *= step;
        return turned;
      }
      case FloatWays::Angles::kDouble:
        return static_cast<float>(position * std::pow(spec_.rope_theta, -2.0 * pair / head_));
    }
    return 0;
  }

  void rotate(int position, Row& heads) const {
    for (std::size_t at = 0; at < heads.size(); at += head_)
      for (int i = 0; i < head_ / 2; ++i) {
        float &first = heads[at + i], &second = heads[at + i + head_ / 2];
        const float c = std::cos(angle(position, i)), s = std::sin(angle(position, i));
        const float turned = first * c - second * s;
        second = first * s + second * c;
        first = turned;
      }
  }

  float activation(float x) const {
    if (ways_.other_gelu) return 0.5F * x * (1 + std::erf(x * 0.70710678F));
    return ways_.logistic_gelu ? x * (0.5F + 0.5F * std::tanh(0.5F * x)) : x / (1 + std::exp(-x));
  }

  void block(int layer, int position, Row& x) {
    const std::string name = "model.layers." + std::to_string(layer) + ".";
    const Row normed = norm(x, name + "input_layernorm");
    Row query = linear(normed, name + "self_attn.q_proj"), key = linear(normed, name + "self_attn.k_proj");
    rotate(position, query);
    rotate(position, key);
    keep(layer, std::move(key), linear(normed, name + "self_attn.v_proj"));
    Row mixed(query.size());
    for (int h = 0; h < spec_.heads; ++h) attend(layer, h * head_, h * kv_heads_ / spec_.heads * head_, head_, query, mixed);
    add(linear(mixed, name + "self_attn.o_proj"), x);
    const Row after = norm(x, name + "post_attention_layernorm");
    Row inner = linear(after, name + "mlp.up_proj");
    const Row gate = linear(after, name + "mlp.gate_proj");
    for (std::size_t i = 0; i < inner.size(); ++i) inner[i] *= activation(gate[i]);
    add(linear(inner, name + "mlp.down_proj"), x);
  }

  static void add(const Row& branch, Row& x) {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += branch[i];
  }

  int kv_heads_, head_;
};

/// Rows of logits of a whole history, whatever the family.
inline std::vector<std::vector<double>> float_rows(const Model& model, const FloatWays& ways, const Tokens& history) {
  return model.spec.family == "llama" ? FloatLlama(model, ways).rows(history) : FloatGpt2(model, ways).rows(history);
}

}  // namespace cachet::testing
