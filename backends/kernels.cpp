// Plain loops over float32; see kernels.h.
#include "backends/kernels.h"

#include <algorithm>
#include <cmath>

namespace cachet::kernels {
namespace {

/// sum over i of f(i), in the given order.
template <typename F>
float reduce(int begin, int end, Summation order, const F& f) {
  float total = 0;
  switch (order) {
    case Summation::kForward:
      for (int i = begin; i < end; ++i) total += f(i);
      return total;
    case Summation::kReversed:
      for (int i = end; i > begin; --i) total += f(i - 1);
      return total;
    case Summation::kPairwise:
      if (end - begin <= 0) return 0;
      if (end - begin == 1) return f(begin);
      const int middle = begin + (end - begin) / 2;
      return reduce(begin, middle, order, f) + reduce(middle, end, order, f);
  }
  return total;
}

/// Milakov and Gimelshein 2018, algorithm 3, with the weighted sum of FlashAttention.
void attend_online(const float* query, const Attended& a, int head, float scale, Summation order, float* out) {
  float top = -INFINITY, denominator = 0;
  std::fill(out, out + head, 0.0F);
  for (int s = 0; s < a.visible; ++s) {
    const float score = dot(query, a.keys[s], head, order) * scale;
    const float before = top;
    top = std::max(top, score);
    const float shrink = std::exp(before - top), weight = std::exp(score - top);
    denominator = denominator * shrink + weight;
    for (int d = 0; d < head; ++d) out[d] = out[d] * shrink + weight * a.values[s][d];
  }
  for (int d = 0; d < head; ++d) out[d] /= denominator;
}

}  // namespace

float sum(const float* x, int n, Summation order) {
  return reduce(0, n, order, [x](int i) { return x[i]; });
}

float dot(const float* a, const float* b, int n, Summation order) {
  return reduce(0, n, order, [a, b](int i) { return a[i] * b[i]; });
}

void linear(const float* w, const float* bias, const float* x, int in, int out, Summation order, float* y) {
  for (int o = 0; o < out; ++o)
    y[o] = dot(w + static_cast<std::ptrdiff_t>(o) * in, x, in, order) + (bias == nullptr ? 0.0F : bias[o]);
}

void layer_norm(const float* x, const float* gain, const float* bias, int n, float epsilon, Summation order, float* y) {
  const float mean = sum(x, n, order) / static_cast<float>(n);
  const float variance = reduce(0, n, order, [&](int i) { return (x[i] - mean) * (x[i] - mean); }) / static_cast<float>(n);
  const float scale = 1.0F / std::sqrt(variance + epsilon);
  for (int i = 0; i < n; ++i) y[i] = (x[i] - mean) * scale * gain[i] + bias[i];
}

void rms_norm(const float* x, const float* gain, int n, float epsilon, Summation order, float* y) {
  const float mean = reduce(0, n, order, [x](int i) { return x[i] * x[i]; }) / static_cast<float>(n);
  const float scale = 1.0F / std::sqrt(mean + epsilon);
  for (int i = 0; i < n; ++i) y[i] = x[i] * scale * gain[i];
}

std::vector<float> rotary_frequencies(int head, float theta) {
  std::vector<float> out;
  for (int i = 0; i < head; i += 2) out.push_back(1.0F / std::pow(theta, static_cast<float>(i) / static_cast<float>(head)));
  return out;
}

void rotate(float* x, int head, int position, const float* frequencies, Pairs pairs) {
  const int half = head / 2;
  for (int i = 0; i < half; ++i) {
    float& first = pairs == Pairs::kHalves ? x[i] : x[2 * i];
    float& second = pairs == Pairs::kHalves ? x[i + half] : x[2 * i + 1];
    const float angle = static_cast<float>(position) * frequencies[i], c = std::cos(angle), s = std::sin(angle);
    const float turned = first * c - second * s;
    second = second * c + first * s;
    first = turned;
  }
}

float silu(float x) { return x / (1.0F + std::exp(-x)); }

float gelu_tanh(float x) {
  constexpr float kRoot2OverPi = 0.79788456F;
  return 0.5F * x * (1.0F + std::tanh(kRoot2OverPi * (x + 0.044715F * x * x * x)));
}

float gelu_erf(float x) {
  constexpr float kRootHalf = 0.70710678F;
  return 0.5F * x * (1.0F + std::erf(x * kRootHalf));
}

void attend(const float* query, const Attended& a, int head, Softmax softmax, Summation order, float* out) {
  const float scale = 1.0F / std::sqrt(static_cast<float>(head));
  if (softmax == Softmax::kOnline) return attend_online(query, a, head, scale, order, out);
  const int slots = static_cast<int>(a.keys.size());
  std::vector<float> weights(a.keys.size());  // (slots), zero where not visible
  float top = -INFINITY;
  for (int s = 0; s < a.visible; ++s) {
    weights[s] = dot(query, a.keys[s], head, order) * scale;
    top = std::max(top, weights[s]);
  }
  for (int s = 0; s < a.visible; ++s) weights[s] = std::exp(weights[s] - top);
  const float denominator = sum(weights.data(), a.visible, order);
  for (int d = 0; d < head; ++d)
    out[d] = reduce(0, slots, order, [&](int s) { return weights[s] * a.values[s][d]; }) / denominator;
}

float to_half(float x) {
  constexpr int kBits = 11, kLeastExponent = -13;  // of the significand; of the smallest normal number as frexp counts
  if (x == 0 || !std::isfinite(x)) return x;
  int exponent = 0;
  std::frexp(x, &exponent);
  const int quantum = std::max(exponent, kLeastExponent) - kBits;
  return std::ldexp(std::nearbyint(std::ldexp(x, -quantum)), quantum);
}

float to_significand(float x, int bits) {
  if (x == 0 || !std::isfinite(x)) return x;
  int exponent = 0;
  std::frexp(x, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(x, bits - exponent)), exponent - bits);
}

}  // namespace cachet::kernels
