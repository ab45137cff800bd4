// Layers that several families share, each as a formula in an Arithmetic. `t` is the position that is computed.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "reference/architecture.h"

namespace cachet::reference {

/// (x - mean) / sqrt(variance + epsilon) * gain + bias over one row (width); the variance is the biased one.
void layer_norm(Arithmetic& a, int t, std::span<const double> x, const Tensor& gain, const Tensor& bias, double epsilon,
                std::span<double> out);

/// x / sqrt(mean of x^2 + epsilon) * gain over one row (width): Zhang and Sennrich, Root Mean Square Layer Normalization, eq. 4.
void rms_norm(Arithmetic& a, int t, std::span<const double> x, const Tensor& gain, double epsilon, std::span<double> out);

/// In place over the scores of one row: exp(s - max) / sum.
void softmax(Arithmetic& a, int t, std::span<double> scores);

/// "gelu_new" (tanh form), "gelu" (erf form), "silu"; in place over one row.
void activate(Arithmetic& a, int t, const std::string& activation, std::span<double> x);

/// x += y, in place over one row.
void add(Arithmetic& a, int t, std::span<double> x, std::span<const double> y);

/// Scaled dot-product attention of one query over positions 0..t: query and out (head), keys and values (tokens, stride) with
/// this head's part beginning at their first element.
void attend(Arithmetic& a, int t, std::span<const double> query, const double* keys, const double* values, std::size_t stride,
            std::span<double> out);

/// Rotary positions: of each pair (i, i + head / 2) at position t the cosine and the sine of t theta^(-2 i / head) (Su et al.,
/// RoFormer, eq. 15, with the pairs as published weights have them).
struct Rotation {
  std::vector<double> cosines, sines;  ///< (head / 2)
};
Rotation rotation(Arithmetic& a, int t, int head, double theta);

/// In place over one head (head): each pair turned by its angle.
void rotate(Arithmetic& a, int t, const Rotation& rotation, std::span<double> x);

/// Zeros, with room for magnitudes where the pass is exact.
Rows empty_rows(const Arithmetic& a, int tokens, int vocab, int width);

/// Row t of the logits: the products of x (width) with the rows of weight (vocab, width).
void head_row(Arithmetic& a, int t, std::span<const double> x, const Tensor& weight, Rows& rows);

/// The sum of x_k y_k over one row.
double dot(Arithmetic& a, int t, std::span<const int> order, const double* x, const double* y);

/// The sum of |x_k y_k|, which bounds what the rounding of that sum can do.
double magnitude(const double* x, const double* y, int n);

}  // namespace cachet::reference
