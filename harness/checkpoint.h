// Models on disk in the Hugging Face layout: config.json beside model.safetensors. Written as well as read, so that any
// engine can load what cachet generates.
#pragma once

#include <filesystem>
#include <optional>

#include "reference/model.h"

namespace cachet {

/// Reads a directory. Errors name the file and the key or tensor: missing or extra tensors, wrong shapes, unknown dtypes,
/// truncated data, unknown or contradictory config keys. spec.weights becomes directory:PATH.
Result<ModelPtr> read_checkpoint(const std::filesystem::path& directory);

/// Writes config.json and model.safetensors (F32) so that no half-written file is ever seen under those names.
/// The directory is created.
std::optional<Error> write_checkpoint(const Model& model, const std::filesystem::path& directory);

/// The model of any recipe: built, or read from the directory it names.
Result<ModelPtr> load_model(const ModelSpec& spec);

}  // namespace cachet
