// The protocol's JSON for steps, reports and configurations, both ways. Strict towards steps (an unknown field is an error that
// says `unsupported`), lenient towards reports (unknown fields are ignored), exact about types.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "harness/backend.h"

namespace cachet {

using Json = nlohmann::json;

/// Lists and objects within each other beyond this are refused everywhere.
inline constexpr int kMaxJsonDepth = 64;

/// One JSON text and nothing after it. Invalid UTF-8, repeated keys, numbers that no double holds and nesting beyond
/// kMaxJsonDepth are errors that name the byte. Never throws.
Result<Json> parse_json(std::string_view text);

/// The same for a file that must hold one object; errors name the file and, where the text is malformed, the line.
Result<Json> parse_object(std::string_view text, const std::string& file);

Json step_to_json(const Step& step);
/// error.file is the refusal's kind: "unsupported" (unknown op or field) or "invalid" (missing or malformed field).
Result<Step> step_from_json(const Json& object);

Json report_to_json(const Report& report);
/// Errors name the field and what was expected ("step 3: logits.shape: ...").
Result<Report> report_from_json(const Json& object);

Json configuration_to_json(const Configuration& configuration);
Result<Configuration> configuration_from_json(const Json& object);
Json description_to_json(const Description& description);  ///< the result of `initialize`
Result<Description> description_from_json(const Json& object);

Json spec_to_json(const ModelSpec& spec);
/// The inverse, by way of parse_model_spec: the same errors for unknown keys, bad values and contradictions.
Result<ModelSpec> spec_from_json(const Json& object);

/// Compact, canonical key order; NaN and infinities never appear bare.
std::string dump(const Json& value);

}  // namespace cachet
