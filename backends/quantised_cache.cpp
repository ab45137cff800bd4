// The static cache with keys and values in eight bits on a fixed grid. No envelope covers such storage, so nothing is judged by
// the reference: only its own relations and its drift are.
#include <algorithm>
#include <cmath>

#include "backends/host.h"

namespace cachet::backends {

Host static_cache();  // static_cache.cpp

namespace {

/// The nearest of 255 numbers from -127/16 to 127/16.
float to_eight_bits(float x) {
  constexpr float kSteps = 16, kMost = 127;
  return std::clamp(std::nearbyint(x * kSteps), -kMost, kMost) / kSteps;
}

}  // namespace

Host quantised_cache() {
  Host host = static_cache();
  host.name = "quantised_cache";
  host.configuration.declarations.numeric->kv = "quantised";
  host.configuration.declarations.drift = 1e-4;
  host.make_engine = [exact = host.make_engine](const ModelPtr& model, const Seams& seams, const Configuration& configuration) {
    Seams quantised = seams;
    quantised.stored = [stored = seams.stored](float x) { return to_eight_bits(stored(x)); };
    return exact(model, quantised, configuration);
  };
  return host;
}

}  // namespace cachet::backends
