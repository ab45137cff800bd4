// The total order on cases that shrinking descends: fewest runs, steps, sessions, rows, tokens; then the smallest model; then
// the simplest calls and values. Two cases with equal rank differ only in names.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/trace.h"

namespace cachet {

/// Compared lexicographically; smaller is simpler.
std::vector<std::int64_t> rank(const Case& value);

/// So many numbers of a rank are counts and kinds of calls; the model and the values come after.
inline constexpr int kSkeleton = 9;

/// The plainest base of rotary angles that is not the usual one.
inline constexpr double kOtherTheta = 100;

/// Is a strictly simpler than b?
bool simpler(const Case& a, const Case& b);

}  // namespace cachet
