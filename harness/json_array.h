// The protocol's Array: numbers of a stated type as base64 of little-endian bytes, or as a short flat list.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/json_fields.h"

namespace cachet::json {

/// Elements beyond this in one array are refused: no message of the protocol's size needs them.
inline constexpr std::int64_t kMaxElements = std::int64_t{1} << 26;

struct Array {
  std::vector<std::int64_t> shape;
  std::vector<double> data;
  std::vector<bool> absent;  ///< as long as data, or empty when nothing is absent
};

/// The number of elements of a shape; a Flaw when a size is negative or the product exceeds kMaxElements.
bool count_elements(const std::vector<std::int64_t>& shape, std::int64_t& count, Flaw& flaw);

/// Types: float16, bfloat16, float32, float64, bool, int8 to int64, uint8 to uint64.
bool read(const Json& value, Array& out, Flaw& flaw);

/// float32 where that holds every number exactly, else float64; the short form when something is absent.
Json array_to_json(const Array& array);

std::string encode_base64(const std::vector<std::uint8_t>& bytes);
/// False when the text is no base64 with padding.
bool decode_base64(const std::string& text, std::vector<std::uint8_t>& out);

}  // namespace cachet::json
