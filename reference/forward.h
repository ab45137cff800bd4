// The oracle: next-token logits as a pure function of (model, whole history), fp64, no cache, no state.
#pragma once

#include <cstdint>

#include "reference/architecture.h"

namespace cachet::reference {

/// Logits of every row of `history` (nonempty, ids inside the vocabulary, length at most spec.context).
/// Row t depends on history[0..t] only.
Rows forward(const Model& model, const Tokens& history);

/// The same pass with every rounding of the class replaced by random noise of that size and every sum taken in a random
/// order. Noise at position t is seeded from hash(model.digest, history[0..t], pass), so a row's noise is a
/// function of the model and its own prefix, whatever follows and whichever case asks.
Rows perturbed(const Model& model, const Tokens& history, const Rounding& rounding, std::uint64_t pass);

/// A floor for the envelope of each logit, same shape as Rows: what the last matrix product of n terms alone may err by, so
/// that a lucky spread of zero is no bound. It is eq. 3.5 of Higham, Accuracy and Stability of Numerical Algorithms, with the
/// probabilistic constant sqrt(n) u for the worst case n u (Higham and Mary, A New Approach to Probabilistic Rounding Error
/// Analysis, 2019, theorem 2.4).
Rows error_floor(const Model& model, const Tokens& history, const Rounding& rounding);

/// The same from rows that forward() has already given.
Rows error_floor(const Rows& exact, const Rounding& rounding);

}  // namespace cachet::reference
