// The suite: every law, in the order of the ENTRIES list in CMake.
#pragma once

#include <vector>

#include "harness/property.h"

namespace cachet::properties {

const std::vector<Property>& properties();

}  // namespace cachet::properties
