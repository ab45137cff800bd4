// Float32 kernels of the built-in backends, written apart from the reference so that the two share no mistake. The order in
// which sums are taken is a parameter: every order is correct, and no law may flag one.
#pragma once

#include <vector>

namespace cachet::kernels {

enum class Summation { kForward, kReversed, kPairwise };
enum class Softmax { kTwoPass, kOnline };

/// Sum of x (n); 0 when n is 0.
float sum(const float* x, int n, Summation order);

/// Inner product of a (n) and b (n).
float dot(const float* a, const float* b, int n, Summation order);

/// y (out) = W (out, in) x (in) + bias (out); no bias when nullptr.
void linear(const float* w, const float* bias, const float* x, int in, int out, Summation order, float* y);

/// y (n) = gain * (x - mean) / sqrt(variance + epsilon) + bias (Ba et al. 2016, eq. 4). y may be x.
void layer_norm(const float* x, const float* gain, const float* bias, int n, float epsilon, Summation order, float* y);

/// y (n) = gain * x / sqrt(mean of x^2 + epsilon) (Zhang and Sennrich 2019, eq. 4). y may be x.
void rms_norm(const float* x, const float* gain, int n, float epsilon, Summation order, float* y);

/// Which numbers of a head a rotation takes together: i and i + head / 2, or 2 i and 2 i + 1.
enum class Pairs { kHalves, kNeighbours };

/// theta^(-2 i / head) for i below head / 2 (Su et al. 2021, section 3.2.2).
std::vector<float> rotary_frequencies(int head, float theta);

/// In place over x (head): pair i turned by position * frequencies[i].
void rotate(float* x, int head, int position, const float* frequencies, Pairs pairs);

float silu(float x);       ///< x / (1 + exp(-x)) (Elfwing et al. 2017)
float gelu_tanh(float x);  ///< Hendrycks and Gimpel 2016, the approximation that GPT-2 uses
float gelu_erf(float x);   ///< the exact form

/// What one query of one head attends to.
struct Attended {
  std::vector<const float*> keys;    ///< (slots) of (head)
  std::vector<const float*> values;  ///< (slots) of (head)
  int visible = 0;                   ///< slots that take part in the softmax; those after them get weight zero
};

/// out (head) = softmax(query . keys / sqrt(head)) values.
void attend(const float* query, const Attended& attended, int head, Softmax softmax, Summation order, float* out);

/// The nearest number that float16 holds, ties to even.
float to_half(float x);

/// The nearest number with a significand of `bits` bits, ties to even.
float to_significand(float x, int bits);

}  // namespace cachet::kernels
