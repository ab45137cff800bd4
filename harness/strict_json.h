// JSON objects from files that may be broken on purpose: duplicate keys, deep nesting and trailing text are errors with a line.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "reference/result.h"

namespace cachet {

/// `file` names the input in errors.
Result<nlohmann::ordered_json> parse_strict(const std::string& text, const std::string& file);

}  // namespace cachet
