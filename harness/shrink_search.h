// The shrinker's search state as its passes see it: the best case so far, and one way to offer a simpler one.
#pragma once

#include <functional>
#include <map>
#include <optional>
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

  /// From now on a case with fewer or plainer calls that does not fail alike is offered on the standard model as well: tokens
  /// tell a wrong history only where the greedy choice hangs on it.
  void offer_on_standard_model_too() { on_standard_too_ = true; }

  /// Runs one pass and keeps its statistics.
  void run(const std::string& name, const std::function<void(Search&)>& pass);

  /// Goes to a case that fails the same way whatever its rank: a common starting point from which every search descends alike.
  bool jump(Case candidate);

  /// Where the search stands, to come back to after a detour.
  struct Mark {
    Case best;
    Verdict verdict;
    std::vector<Neighbour> neighbours;
  };
  Mark mark() const { return {best_, verdict_, neighbours_}; }
  void back(Mark mark);

  const Signature& target() const { return target_; }
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
  bool on_standard_too_ = false;
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

/// The starting points of normal forms, simplest first: the case on small standard models with standard tokens, of the plainest
/// family, of its own without choices, and with them.
std::vector<Case> canonical_forms(const Case& value);

/// Weights under which the standard model's greedy token tells histories apart. tests/harness/telling_weights.cpp finds them.
WeightRecipe telling_weights(const std::string& family);

/// The first model that normal forms are tried on: one layer of width 4, a vocabulary of 4, telling weights. Choices of the
/// family that the model still has although they can be dropped are kept in a standard form: the failure needs them.
ModelSpec standard_model(const ModelSpec& of);

/// Whether the model has choices of its family that its standard model keeps.
bool has_choices(const ModelSpec& spec);

/// The case on the standard model, its ids brought into that vocabulary; nullopt where a model comes from a directory.
std::optional<Case> on_standard_model(const Case& value);

/// Small cases on the standard model, first without the family's choices and then with them, that end in a step of kind `op`, in
/// the total order, no larger in counts and calls than `value`: of any calls up to three steps, and of the reached case's kinds
/// of calls up to five.
std::vector<Case> cases_below(const Case& value, const std::string& op, const Configuration& configuration);

/// All ids of calls one, but those that no model knows.
Case with_ids_of_one(Case value);

/// The case said otherwise: other calls that leave the same tokens behind. Not simpler, but what they shrink to may be.
std::vector<Case> paraphrases(const Case& value);

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
