// The arithmetic a forward pass is computed in: exact (plain fp64) or perturbed (Monte Carlo arithmetic at a numeric class's
// unit roundoff). One forward function serves both, so the envelope can never describe another model than the reference.
#pragma once

#include <cstdint>
#include <string>

namespace cachet::reference {

/// Unit roundoffs of the three parts of a numeric class (float32: 2^-24). 0 means exact.
struct Rounding {
  double compute = 0;
  double weights = 0;
  double kv = 0;

  bool operator==(const Rounding&) const = default;
};

class Arithmetic;  // defined by the reference; see forward.h for the two ways to run a history

}  // namespace cachet::reference
