// A planted bug: the mechanism of a real one behind a host's seams, and what the harness must make of it.
#pragma once

#include <string>
#include <vector>

#include "backends/seams.h"

namespace cachet::backends {

struct Defect {
  std::string name;
  std::string report;  ///< what goes wrong, in one line, and where it was seen
  std::string host;
  std::vector<std::string> laws;  ///< each must catch it
  int known_steps = 0;            ///< of the longest minimal trace over those laws
  void (*plant)(Seams&) = nullptr;
  bool canary = false;          ///< of its only law: all other laws hold
  std::string configuration{};  ///< of the host; empty: the first
};

/// Every planted bug; generated from DEFECT_ENTRIES of backends/CMakeLists.txt.
const std::vector<Defect>& defects();

/// A correct backend that computes otherwise; no law may flag it where it conforms.
struct Variant {
  std::string name;
  std::string host;
  void (*plant)(Seams&) = nullptr;
  bool conforms = true;  ///< false: refuses by design what it declares
};
const std::vector<Variant>& variants();

}  // namespace cachet::backends
