// What a law needs of a configuration before it can say anything.
#include "harness/property.h"

#include <algorithm>

namespace cachet {

std::optional<std::string> missing_need(const Property& property, const Configuration& configuration) {
  const auto has = [&](const std::string& need) {
    if (need != "numeric") return configuration.can(need);
    return configuration.declarations.numeric && rounding_of(*configuration.declarations.numeric).has_value();
  };
  for (const std::vector<std::string>& any : property.needs) {
    if (std::any_of(any.begin(), any.end(), has)) continue;
    std::string words;
    for (const std::string& need : any)
      words += (words.empty() ? "" : " or ") + (need == "numeric" ? "a declared numeric class with an envelope" : need);
    return property.name + " needs " + words;
  }
  return std::nullopt;
}

}  // namespace cachet
