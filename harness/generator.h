// Cases from seeds: traces aimed at a law, valid by construction for a model and a backend's declarations. RapidCheck supplies
// every random choice, so that a seed gives the same case on every machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/oracle.h"
#include "harness/property.h"

namespace cachet {

/// The models a chunk of cases shares, so that what an engine retains for a model can matter to later cases.
std::vector<ModelSpec> model_pool(std::uint64_t seed, const Configuration& configuration);

struct Request {
  const Property* law = nullptr;
  std::string subject;  ///< goes into the case's header
  const Configuration* configuration = nullptr;
  std::vector<ModelPtr> pool;  ///< nonempty
  std::uint64_t seed = 0;
};

/// One case. The oracle predicts what generation loops emit.
Case generate_case(const Request& request, Oracle& oracle);

/// Is every call of the trace one that this law's cases may hold? Bad calls only where its aim says so, undefined ones never.
/// The reason when not.
std::optional<std::string> misfit(const Case& value, const Property& law, const Configuration& configuration, Oracle& oracle);

/// Mixes words into a seed (SplitMix64); stable across versions.
std::uint64_t hash_seed(std::uint64_t seed, const std::string& text, std::uint64_t number);

}  // namespace cachet
