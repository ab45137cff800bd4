// The evidence for a failure as one JSON document: the minimal case, what both sides showed, the tolerance, and each simpler
// neighbour that was tried.
#pragma once

#include <string>

#include "harness/campaign.h"

namespace cachet {

/// A JSON object; key "case" holds the case's text, so that replay and shrink read certificates as well as case files.
std::string failure_certificate(const Finding& finding, const std::string& suite_version);

}  // namespace cachet
