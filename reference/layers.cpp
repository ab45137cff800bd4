// The shared layers. The magnitudes given to round() cover the formulas in use, not only the one written here: a mean may be
// subtracted after scaling, a variance may be a difference of two moments.
#include "reference/layers.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace cachet::reference {

namespace {

/// Libraries promise elementary functions to one or two units in the last place.
constexpr double kElementary = 2;

/// A variance computed as E[x^2] - E[x]^2 keeps the rounding of the squares, of their sum and of both factors of the mean.
constexpr double kMoments = 4;

/// Units in the last place of a rotary frequency theta^-p beyond the elementary ones: libraries without a power function
/// exponentiate -p log(theta), whose rounding the exponential turns into a relative error of that size.
double power_units(double frequency) { return kElementary + std::abs(std::log(frequency)); }

double elementary(Arithmetic& a, int t, double value) { return a.round(t, value, kElementary * std::abs(value)); }

/// 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), Hendrycks and Gimpel, Gaussian Error Linear Units, section 2.
double gelu_new(Arithmetic& a, int t, double x) {
  const double inner = a.round(t, x + 0.044715 * a.round(t, x * x * x));
  const double tanh = elementary(a, t, std::tanh(a.round(t, std::sqrt(2 / std::numbers::pi) * inner)));
  return a.round(t, 0.5 * x * a.round(t, 1 + tanh, 1));
}

/// x Phi(x) = 0.5 x (1 + erf(x / sqrt(2))), the same paper.
double gelu(Arithmetic& a, int t, double x) {
  const double erf = elementary(a, t, std::erf(a.round(t, x / std::numbers::sqrt2)));
  return a.round(t, 0.5 * x * a.round(t, 1 + erf, 1));
}

/// x / (1 + exp(-x)), Elfwing, Uchibe and Doya, Sigmoid-Weighted Linear Units, section 2. Some engines take the logistic function
/// as 0.5 + 0.5 tanh(x / 2), which rounds at 1 however small it is.
double silu(Arithmetic& a, int t, double x) {
  const double exponential = elementary(a, t, std::exp(-x));
  const double logistic = a.round(t, 1 / a.round(t, 1 + exponential), 1);
  return a.round(t, x * logistic);
}

}  // namespace

void layer_norm(Arithmetic& a, int t, std::span<const double> x, const Tensor& gain, const Tensor& bias, double epsilon,
                std::span<double> out) {
  const int width = static_cast<int>(x.size());
  RunningSum sum;
  for (const int i : a.order(t, width)) sum.add(x[i]);
  const double mean = a.round(t, a.close(t, sum) / width);

  RunningSum squares;
  for (const int i : a.order(t, width)) squares.add((x[i] - mean) * (x[i] - mean));
  const double spread = a.close(t, squares) / width;
  const double variance = std::max(0.0, a.round(t, spread, spread + kMoments * mean * mean));
  const double inverse = a.round(t, 1 / std::sqrt(a.round(t, variance + epsilon)));
  for (int i = 0; i < width; ++i) {
    const double centred = a.round(t, x[i] - mean, std::max(std::abs(x[i]), std::abs(mean)));
    const double scaled = a.round(t, a.round(t, centred * inverse) * gain.data[i]);
    out[i] = a.round(t, scaled + bias.data[i]);
  }
}

void rms_norm(Arithmetic& a, int t, std::span<const double> x, const Tensor& gain, double epsilon, std::span<double> out) {
  const int width = static_cast<int>(x.size());
  RunningSum squares;
  for (const int i : a.order(t, width)) squares.add(x[i] * x[i]);
  const double mean = a.round(t, a.close(t, squares) / width);
  const double inverse = elementary(a, t, 1 / std::sqrt(a.round(t, mean + epsilon)));
  for (int i = 0; i < width; ++i) out[i] = a.round(t, a.round(t, x[i] * inverse) * gain.data[i]);
}

void softmax(Arithmetic& a, int t, std::span<double> scores) {
  const double top = *std::max_element(scores.begin(), scores.end());
  for (double& s : scores) s = elementary(a, t, std::exp(a.round(t, s - top, std::max(std::abs(s), std::abs(top)))));
  RunningSum sum;
  for (const int i : a.order(t, static_cast<int>(scores.size()))) sum.add(scores[i]);
  const double total = a.close(t, sum);
  for (double& s : scores) s = a.round(t, s / total);
}

void activate(Arithmetic& a, int t, const std::string& activation, std::span<double> x) {
  if (activation == "gelu") {
    for (double& v : x) v = gelu(a, t, v);
  } else if (activation == "silu") {
    for (double& v : x) v = silu(a, t, v);
  } else {
    for (double& v : x) v = gelu_new(a, t, v);
  }
}

void add(Arithmetic& a, int t, std::span<double> x, std::span<const double> y) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = a.round(t, x[i] + y[i]);
}

Rotation rotation(Arithmetic& a, int t, int head, double theta) {
  Rotation out;
  for (int i = 0; i < head / 2; ++i) {
    const double exact = std::pow(theta, -2.0 * i / head);
    const double frequency = a.round(t, exact, exact * power_units(exact));
    const double angle = a.round(t, t * frequency);
    out.cosines.push_back(elementary(a, t, std::cos(angle)));
    out.sines.push_back(elementary(a, t, std::sin(angle)));
  }
  return out;
}

void rotate(Arithmetic& a, int t, const Rotation& rotation, std::span<double> x) {
  const std::size_t half = rotation.cosines.size();
  for (std::size_t i = 0; i < half; ++i) {
    const double c = rotation.cosines[i], s = rotation.sines[i];
    const double first = x[i], second = x[i + half];
    x[i] = a.round(t, first * c - second * s, std::abs(first * c) + std::abs(second * s));
    x[i + half] = a.round(t, second * c + first * s, std::abs(second * c) + std::abs(first * s));
  }
}

Rows empty_rows(const Arithmetic& a, int tokens, int vocab, int width) {
  Rows rows{tokens, vocab, std::vector<double>(static_cast<std::size_t>(tokens) * vocab), {}, width};
  if (a.exact()) rows.magnitudes.resize(rows.logits.size());
  return rows;
}

void head_row(Arithmetic& a, int t, std::span<const double> x, const Tensor& weight, Rows& rows) {
  const int width = static_cast<int>(x.size());
  const auto order = a.order(t, width);
  for (int j = 0; j < rows.vocab; ++j) {
    const double* token = weight.data.data() + static_cast<std::size_t>(j) * width;  // (width)
    const std::size_t at = static_cast<std::size_t>(t) * rows.vocab + j;
    rows.logits[at] = dot(a, t, order, x.data(), token);
    if (a.exact()) rows.magnitudes[at] = magnitude(x.data(), token, width);
  }
}

double dot(Arithmetic& a, int t, std::span<const int> order, const double* x, const double* y) {
  RunningSum sum;
  for (const int k : order) sum.add(x[k] * y[k]);
  return a.close(t, sum);
}

double magnitude(const double* x, const double* y, int n) {
  double sum = 0;
  for (int k = 0; k < n; ++k) sum += std::abs(x[k] * y[k]);
  return sum;
}

void attend(Arithmetic& a, int t, std::span<const double> query, const double* keys, const double* values, std::size_t stride,
            std::span<double> out) {
  const int head = static_cast<int>(query.size());
  const double scale = 1 / std::sqrt(static_cast<double>(head));
  std::vector<double> weights(t + 1);  // (t + 1)
  const auto dims = a.order(t, head);
  for (int s = 0; s <= t; ++s) weights[s] = a.round(t, dot(a, t, dims, query.data(), keys + s * stride) * scale);
  softmax(a, t, weights);
  const auto positions = a.order(t, t + 1);
  for (int i = 0; i < head; ++i) {
    RunningSum sum;
    for (const int s : positions) sum.add(weights[s] * values[s * stride + i]);
    out[i] = a.close(t, sum);
  }
}

}  // namespace cachet::reference
