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
  Search(const Case& failing, const Verdict& verdict, Judge& judge, const Property& law, const Configuration& configuration,
         const ShrinkOptions& options);

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

/// The passes by what they change, each list in its order: runs, sessions and steps; lengths and rows; fields and numbers;
/// models.
std::vector<ShrinkPass> structure_passes();
std::vector<ShrinkPass> length_passes();
std::vector<ShrinkPass> value_passes();
std::vector<ShrinkPass> model_passes();

/// The starting points of normal forms, simplest first: the case on a small standard model with standard tokens.
std::vector<Case> canonical_forms(const Case& value);

/// The first model that normal forms are tried on: one layer of width 4, a vocabulary of 4, the plainest weights. Choices of the
/// family that the model still has although they can be dropped are kept in a standard form: the failure needs them.
ModelSpec standard_model(const ModelSpec& of);

/// Small cases of the reached case's kinds of calls on the standard model, in the total order, no larger in counts and
/// calls than `value`; none where that would be too many.
std::vector<Case> cases_below(const Case& value, const Configuration& configuration);

/// Sizes made to fit again after something before them became shorter: crops no longer than the row, rows as many as the
/// session has.
Case repaired(const Case& value);

/// The longest history that any session or prompt of the case comes to.
int longest_history(const Case& value);

/// Where a step stands in a case.
struct At {
  int event = 0;
  int step = 0;
};
/// Every step of every run, in order.
std::vector<At> places(const Case& value);
inline Run& run_at(Case& value, At at) { return std::get<Run>(value.trace.events[static_cast<std::size_t>(at.event)]); }
inline Step& step_at(Case& value, At at) { return run_at(value, at).steps[static_cast<std::size_t>(at.step)]; }
inline const Step& step_at(const Case& value, At at) {
  return std::get<Run>(value.trace.events[static_cast<std::size_t>(at.event)]).steps[static_cast<std::size_t>(at.step)];
}

/// Offers `change` applied to the best case's step at each place, from the last to the first; places are looked up anew after
/// each success. `change` returns false where it does not apply.
void offer_at_each(Search& search, const std::function<bool(Case&, At)>& change);

}  // namespace cachet
