// The arithmetic a forward pass is computed in: exact (plain fp64) or perturbed (Monte Carlo arithmetic at a numeric class's
// unit roundoff). One forward function serves both, so the envelope can never describe another model than the reference.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "reference/model.h"

namespace cachet::reference {

/// Unit roundoffs of the three parts of a numeric class (float32: 2^-24). 0 means exact.
struct Rounding {
  double compute = 0;
  double weights = 0;
  double kv = 0;

  bool operator==(const Rounding&) const = default;
};

/// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014): the same on every machine.
struct SplitMix64 {
  std::uint64_t state = 0;

  std::uint64_t next() { return finalize(state += 0x9e3779b97f4a7c15ULL); }
  static std::uint64_t finalize(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
};

/// A hash that grows by one word at a time: of a model and history[0..t] it is the hash of history[0..t-1] and one token.
inline std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
  return SplitMix64::finalize((hash ^ word) * 0x9e3779b97f4a7c15ULL + 0x632be59bd9b4e019ULL);
}

/// A sum whose terms arrive one by one and which remembers the squares of everything that a machine would have rounded on
/// the way: each product and each partial sum.
struct RunningSum {
  double value = 0;
  double squares = 0;

  void add(double term) {
    value += term;
    squares += value * value + term * term;
  }
};

/// What a forward function computes with. Every operation names the position t it works for; in perturbed arithmetic the noise
/// of position t comes from a stream seeded by hash(digest, pass, history[0..t]) alone. Draws at t must therefore never depend
/// on later positions.
class Arithmetic {
 public:
  /// Exact.
  Arithmetic() = default;
  /// Perturbed.
  Arithmetic(const Rounding& rounding, std::uint64_t digest, const Tokens& history, std::uint64_t pass);

  bool exact() const { return exact_; }

  /// `value` as a machine would hold it after an operation whose rounding is relative to `magnitude`.
  double round(int t, double value, double magnitude) {
    return exact_ ? value : value + rounding_.compute * magnitude * uniform(t);
  }
  double round(int t, double value) { return round(t, value, std::abs(value)); }

  /// A key or value as the cache holds it.
  double store(int t, double value) { return exact_ ? value : value * (1 + rounding_.kv * uniform(t)); }

  /// The order in which to take the n terms of a sum: 0, 1, ... when exact, a random one when perturbed. Valid until the
  /// next call.
  std::span<const int> order(int t, int n);

  /// The sum as a machine would have it: the rounding errors of its steps are independent and uniform (Higham, Accuracy and
  /// Stability, 2nd ed., 2.8), so the noise has the variance u^2/3 times the sum of squares.
  double close(int t, const RunningSum& sum) {
    return exact_ ? sum.value : sum.value + rounding_.compute * kUniformDeviation * std::sqrt(sum.squares) * normal(t);
  }

  /// y = x W + bias: x (in), weight (in, out), bias (out), y (out).
  void linear(int t, std::span<const double> x, const Tensor& weight, const Tensor& bias, std::span<double> y);

  /// y = W x: x (in), weight (out, in), y (out).
  void product(int t, std::span<const double> x, const Tensor& weight, std::span<double> y);

 private:
  static constexpr double kUniformDeviation = 0.57735026918962576;  // of a uniform variable in [-1, 1]

  /// In [-1, 1).
  double uniform(int t) { return static_cast<double>(static_cast<std::int64_t>(streams_[t].next())) * 0x1p-63; }

  /// Mean 0 and deviation 1: the sum of four uniforms of 16 bits.
  double normal(int t) {
    const std::uint64_t bits = streams_[t].next();
    const std::uint64_t sum = (bits & 0xffff) + ((bits >> 16) & 0xffff) + ((bits >> 32) & 0xffff) + (bits >> 48);
    return (static_cast<double>(sum) - 4 * 32767.5) / 37837.22723;  // 2^16 / sqrt(3)
  }

  bool exact_ = true;
  Rounding rounding_;
  std::vector<SplitMix64> streams_;  // (tokens)
  std::vector<int> order_;           // scratch of order()
  std::vector<double> squares_;      // scratch of linear(), (out)
};

}  // namespace cachet::reference
