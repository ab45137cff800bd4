// The shrinker's search state as its passes see it: the best case so far, and one way to offer a simpler one.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "harness/shrinker.h"

namespace cachet {

class Search {
 public:
  Search(const Case& failing, const Verdict& verdict, Judge& judge, const Property& law, const Configuration& configuration, const ShrinkOptions& options);

  const Case& best() const { return best_; }

  /// Offers a candidate; true when it is now the best: simpler, fitting its law, not tried before, within the budget, and
  /// failing the same way in fresh lives. A candidate whose sizes no longer fit is offered repaired as well.
  bool offer(Case candidate);

  /// Runs one pass and keeps its statistics.
  void run(const std::string& name, const std::function<void(Search&)>& pass);

  /// Goes to a case that fails the same way whatever its rank: a common starting point from which every search descends alike.
  bool jump(Case candidate);

  bool exhausted() const { return evaluations_ >= options_.budget; }
  long evaluations() const { return evaluations_; }
  ShrinkResult result() &&;

 private:
  bool consider(const Case& candidate);
  bool fails_alike(const Case& candidate);

  Case best_;
  Verdict verdict_;
  Judge& judge_;
  const Property& law_;
  const Configuration& configuration_;
  ShrinkOptions options_;
  Signature target_;
  long evaluations_ = 0;
  std::map<std::string, std::string> tried_;  // text -> verdict
  std::vector<PassStatistics> passes_;
  std::size_t current_ = 0;
  std::vector<Neighbour> neighbours_;
  std::map<Signature, Case> slipped_;
};

/// A named way to propose simpler cases.
struct ShrinkPass {
  std::string name;
  std::function<void(Search&)> propose;
};

/// In the order they are tried: what removes most first.
std::vector<ShrinkPass> shrink_passes();

/// The starting points of normal forms, simplest first: the case on a small standard model with standard tokens.
std::vector<Case> canonical_forms(const Case& value);

/// Sizes made to fit again after something before them became shorter: crops no longer than the row, rows as many as the
/// session has.
Case repaired(const Case& value);

}  // namespace cachet
