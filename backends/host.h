// A built-in backend as the registry knows it: a name, what it declares, and how its engines are made around given seams.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "backends/sessions.h"

namespace cachet::backends {

struct Host {
  std::string name;
  Configuration configuration;  ///< the only one
  std::function<Result<std::unique_ptr<Engine>>(const ModelPtr&, const Seams&, const Configuration&)> make_engine;
};

/// Every built-in backend; generated from ENTRIES of backends/CMakeLists.txt.
const std::vector<Host>& hosts();

}  // namespace cachet::backends
