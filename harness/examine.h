// What becomes of a failing case after its chunk: confirmed in fresh lives, alone or with all that its life held before it, and
// shrunk there; or recorded as nondeterministic.
#pragma once

#include <vector>

#include "harness/campaign.h"

namespace cachet {

/// The case as one trace of a whole life: `prefix` is what its life had executed before, and the case goes on in it. Handles
/// that name a model the life already holds become the life's.
Case with_prefix(const Case& value, const std::vector<Event>& prefix);

/// Confirms finding.found in fresh lives, then shrinks it if `options` says so. Fills verdict, shrunk and exhibits.
void examine(Finding& finding, const std::vector<Event>& prefix, Judge& judge, const std::vector<Property>& laws,
             const Configuration& configuration, const CampaignOptions& options);

}  // namespace cachet
