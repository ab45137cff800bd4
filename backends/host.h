// A built-in backend as the registry knows it: a name, what it declares, and how its engines are made around given seams.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "backends/sessions.h"

namespace cachet::backends {

struct Host {
  std::string name;
  Configuration configuration;        ///< the first
  std::vector<Configuration> others;  ///< further ones
  std::function<Result<std::unique_ptr<Engine>>(const ModelPtr&, const Seams&, const Configuration&)> make_engine;
};

/// A host of float32 engines on sessions: the declarations that all of them hold to, and how an `E` is made. The host adds what
/// is its own.
Host session_host(const std::string& name);
template <typename E>
Host session_host_of(const std::string& name) {
  Host host = session_host(name);
  host.make_engine = [](const ModelPtr& model, const Seams& seams,
                        const Configuration& configuration) -> Result<std::unique_ptr<Engine>> {
    Result<std::unique_ptr<Decoder>> decoder = Decoder::make(model, seams);
    if (!decoder) return decoder.error();
    return std::unique_ptr<Engine>(std::make_unique<E>(std::move(*decoder), configuration));
  };
  return host;
}

/// Every built-in backend; generated from ENTRIES of backends/CMakeLists.txt.
const std::vector<Host>& hosts();

}  // namespace cachet::backends
