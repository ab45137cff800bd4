// Random noise in the place of rounding, and the one matrix product that is worth vectorising.
#include "reference/arithmetic.h"

#include <Eigen/Core>
#include <numeric>
#include <utility>

namespace cachet::reference {

Arithmetic::Arithmetic(const Rounding& rounding, std::uint64_t digest, const Tokens& history, std::uint64_t pass)
    : exact_(false), rounding_(rounding) {
  std::uint64_t hash = mix(digest, pass);
  streams_.reserve(history.size());
  for (const Token token : history) {
    hash = mix(hash, static_cast<std::uint64_t>(token));
    streams_.push_back({hash});
  }
}

std::span<const int> Arithmetic::order(int t, int n) {
  if (static_cast<int>(order_.size()) < n) order_.resize(n);
  std::iota(order_.begin(), order_.begin() + n, 0);
  if (!exact_) {
    for (int i = n - 1; i > 0; --i) {
      const std::uint64_t high = streams_[t].next() >> 32;
      std::swap(order_[i], order_[(high * static_cast<std::uint64_t>(i + 1)) >> 32]);
    }
  }
  return {order_.data(), static_cast<std::size_t>(n)};
}

void Arithmetic::linear(int t, std::span<const double> x, const Tensor& weight, const Tensor& bias, std::span<double> y) {
  const auto in = static_cast<Eigen::Index>(x.size());
  const auto out = static_cast<Eigen::Index>(y.size());
  Eigen::Map<Eigen::ArrayXd> sum(y.data(), out);
  const Eigen::Map<const Eigen::ArrayXd> offset(bias.data.data(), out);
  const auto row = [&](int k) { return Eigen::Map<const Eigen::ArrayXd>(weight.data.data() + k * out, out); };
  if (exact_) {
    sum = offset;
    for (int k = 0; k < in; ++k) sum += x[k] * row(k);
    return;
  }
  // Real kernels begin with the bias or end with it; both occur.
  const bool bias_first = (streams_[t].next() >> 63) != 0;
  squares_.resize(out);
  Eigen::Map<Eigen::ArrayXd> squares(squares_.data(), out);
  squares.setZero();
  sum.setZero();
  if (bias_first) sum = offset;
  for (const int k : order(t, static_cast<int>(in))) {
    sum += x[k] * row(k);
    squares += sum.square() + (x[k] * row(k)).square();
  }
  if (!bias_first) {
    sum += offset;
    squares += sum.square();
  }
  for (Eigen::Index j = 0; j < out; ++j) y[j] += rounding_.compute * kUniformDeviation * std::sqrt(squares[j]) * normal(t);
}

void Arithmetic::product(int t, std::span<const double> x, const Tensor& weight, std::span<double> y) {
  using Column = Eigen::Map<const Eigen::ArrayXd, 0, Eigen::InnerStride<>>;
  const auto in = static_cast<Eigen::Index>(x.size());
  const auto out = static_cast<Eigen::Index>(y.size());
  Eigen::Map<Eigen::ArrayXd> sum(y.data(), out);
  const auto column = [&](int k) { return Column(weight.data.data() + k, out, Eigen::InnerStride<>(in)); };
  sum.setZero();
  if (exact_) {
    for (int k = 0; k < in; ++k) sum += x[k] * column(k);
    return;
  }
  squares_.resize(out);
  Eigen::Map<Eigen::ArrayXd> squares(squares_.data(), out);
  squares.setZero();
  for (const int k : order(t, static_cast<int>(in))) {
    sum += x[k] * column(k);
    squares += sum.square() + (x[k] * column(k)).square();
  }
  for (Eigen::Index j = 0; j < out; ++j) y[j] += rounding_.compute * kUniformDeviation * std::sqrt(squares[j]) * normal(t);
}

}  // namespace cachet::reference
