// A decoder over preallocated storage, stepped call by call.
#include "backends/static_engine.h"

namespace cachet::backends {

Host static_cache() {
  Host host = session_host_of<StaticEngine>("static_cache");
  host.configuration.capabilities.insert("poison");
  host.configuration.declarations.reuse = "library";
  host.configuration.declarations.last_token_cached = true;
  return host;
}

}  // namespace cachet::backends
