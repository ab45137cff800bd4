// Built-in backends by name: hosts, hosts with a correct variation, hosts with planted bugs.
#pragma once

#include <string>
#include <vector>

#include "harness/zoo.h"

namespace cachet {

/// Names of the correct backends: hosts, then HOST+VARIANT.
std::vector<std::string> backend_names();

/// HOST, or HOST+WORD[+WORD...] where each word is a variant or a planted bug of that host. The error lists what there is.
Result<BackendFactory> resolve_backend(const std::string& name);

/// Every planted bug as a subject of its own.
std::vector<ZooEntry> zoo_entries();

}  // namespace cachet
