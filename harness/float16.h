// The number that the bits of an IEEE 754 binary16 stand for; wire arrays and checkpoints both hold such numbers.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace cachet {

inline double from_half(std::uint64_t bits) {
  const int exponent = static_cast<int>(bits >> 10 & 31);
  const double mantissa = static_cast<double>(bits & 1023);
  const double sign = (bits >> 15 & 1) != 0 ? -1.0 : 1.0;
  if (exponent == 31)
    return mantissa == 0 ? sign * std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  return sign * (exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25));
}

}  // namespace cachet
