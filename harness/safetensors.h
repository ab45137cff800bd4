// The safetensors container: an 8-byte header length, a JSON header, raw little-endian data. Read with every bound checked.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "reference/model.h"

namespace cachet {

struct StoredTensor {
  std::string name;
  std::string dtype;  ///< as the format names it: "F32", "BF16", "I64" ...
  std::vector<std::int64_t> shape;
  std::size_t begin = 0, end = 0;  ///< bytes within the data
};

class SafetensorsFile {
 public:
  /// Errors name the file and the tensor. Offsets lie within the data, cover it without gap or overlap, and agree with dtypes
  /// and shapes.
  static Result<SafetensorsFile> read(const std::filesystem::path& path);

  /// In the order of their data.
  const std::vector<StoredTensor>& tensors() const { return tensors_; }

  /// The numbers of an F64, F32, F16 or BF16 tensor; for others an error whose message goes after the tensor's name.
  Result<std::vector<double>> values(const StoredTensor& tensor) const;

 private:
  std::string bytes_;
  std::size_t data_ = 0;  ///< where the data begins in bytes_
  std::vector<StoredTensor> tensors_;
};

/// A whole file of F32 tensors.
std::string safetensors_f32(const std::vector<std::pair<std::string, const Tensor*>>& tensors);

}  // namespace cachet
