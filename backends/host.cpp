// What every built-in host declares alike.
#include "backends/host.h"

namespace cachet::backends {

Host session_host(const std::string& name) {
  Host host;
  host.name = name;
  host.configuration.name = "eager";
  host.configuration.capabilities = {"append", "complete", "generate", "all_rows",     "batch",
                                     "crop",   "peek",     "calls",    "layer_lengths"};
  Declarations& d = host.configuration.declarations;
  d.numeric = NumericClass{};
  d.architectures = {"gpt2", "llama"};
  d.bitwise = {"repeat", "process", "reset", "batch", "chunk"};
  d.max_rows = kMaxRows;
  d.max_capacity = kMaxCapacity;
  d.append_min = 1;
  d.overflow = "refuse";
  d.context = "refuse";
  return host;
}

}  // namespace cachet::backends
