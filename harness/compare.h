// Comparing two runs of one backend step by step: what every metamorphic law does after it has chosen its twin.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "harness/property.h"

namespace cachet {

/// How twin steps correspond: index in the main run, index in the twin.
using Pairing = std::vector<std::pair<int, int>>;

struct Comparison {
  Pairing pairs;
  std::string relation;        ///< of `bitwise`: rows compare bit for bit where the backend declares it; else within the envelope
  bool lengths = true;         ///< lengths must agree too (values; types are another law's matter)
};

/// Statuses, tokens, rows and lengths of paired steps agree: rows within the sum of both envelopes (or `drift`, or bit for
/// bit where declared), tokens equal up to ties. After a tie the comparison of that session ends (Tie). Vacuous when no
/// pair compares anything. `claim_words` opens the divergence's detail.
Verdict compare_runs(Lab& lab, const Observed& main, const Observed& twin, const Comparison& comparison);

/// A Fail at a step of the main run.
Verdict fail_at(const StepView& view, const std::string& kind, const std::string& expected, const std::string& observed, const std::string& detail = "");

/// The backend's answer to one asked row, judged by the reference. nullopt when it is inside the envelope.
std::optional<Verdict> judge_against_reference(Lab& lab, const StepView& view, const AskedRow& asked);

/// The tokens of generate or complete judged one by one against the reference under the backend's own history.
Verdict judge_tokens(Lab& lab, const StepView& view);

}  // namespace cachet
