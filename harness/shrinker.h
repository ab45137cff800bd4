// Reduces a failing case to a normal form: the best case, a total order, named passes over one consider(), a budget in
// evaluations, and the same-failure check. A pass proposes; it never decides.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/lab.h"

namespace cachet {

struct PassStatistics {
  std::string name;
  long proposed = 0;   ///< candidates offered
  long evaluated = 0;  ///< of these, executed (valid, simpler, not tried before)
  long useful = 0;     ///< of these, taken
};

/// A simpler neighbour of the minimum that does not fail the same way: the evidence of 1-minimality.
struct Neighbour {
  std::string pass;
  std::string verdict;  ///< "pass", "vacuous", "fail (other)" ...
  std::string text;     ///< its case
};

struct ShrinkOptions {
  long budget = 4000;  ///< evaluations at most
};

struct ShrinkResult {
  Case minimal;
  Verdict verdict;  ///< of the minimal case in fresh lives
  Signature signature;
  long evaluations = 0;
  bool exhausted = false;  ///< the budget ran out before the fixed point
  std::vector<PassStatistics> passes;
  std::vector<Neighbour> neighbours;  ///< of the last round
  std::map<Signature, Case> slipped;  ///< other failures met on the way: second findings, never followed
};

/// `failing` must fail in fresh lives when judged by its header's law.
ShrinkResult shrink(const Case& failing, Judge& judge, const std::vector<Property>& laws, const Configuration& configuration,
                    const ShrinkOptions& options = {});

}  // namespace cachet
