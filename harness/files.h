// Files read and written whole, with errors that name them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "reference/result.h"

namespace cachet {

/// A regular file of at most `most` bytes.
Result<std::string> read_whole_file(const std::filesystem::path& path, std::uintmax_t most);

/// Writes by a temporary name and rename, so that no half-written file is seen; a device or pipe is written as it stands. The
/// directory must exist. `durable`: the content has reached the disk before the name does.
std::optional<Error> write_file(const std::string& path, const std::string& content, bool durable = true);

}  // namespace cachet
