// Arrays on the wire, bit for bit on machines of either byte order.
#include "harness/json_array.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "harness/float16.h"

namespace cachet::json {
namespace {

constexpr char kAlphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::array<std::int8_t, 256> kDigits = [] {
  std::array<std::int8_t, 256> digits{};
  digits.fill(-1);
  for (int i = 0; i < 64; ++i) digits[static_cast<std::uint8_t>(kAlphabet[i])] = static_cast<std::int8_t>(i);
  return digits;
}();

/// One number type: its size in bytes and how its bits become a number.
struct NumberType {
  const char* name;
  std::size_t size;
  double (*decode)(std::uint64_t bits);
};

template <typename T>
double from_integer(std::uint64_t bits) {
  return static_cast<double>(static_cast<T>(bits));
}

constexpr NumberType kTypes[] = {
    {"float32", 4, [](std::uint64_t b) { return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(b))); }},
    {"float64", 8, [](std::uint64_t b) { return std::bit_cast<double>(b); }},
    {"float16", 2, from_half},
    {"bfloat16", 2,
     [](std::uint64_t b) { return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(b << 16))); }},
    {"bool", 1, [](std::uint64_t b) { return b != 0 ? 1.0 : 0.0; }},
    {"int8", 1, from_integer<std::int8_t>},
    {"int16", 2, from_integer<std::int16_t>},
    {"int32", 4, from_integer<std::int32_t>},
    {"int64", 8, from_integer<std::int64_t>},
    {"uint8", 1, from_integer<std::uint8_t>},
    {"uint16", 2, from_integer<std::uint16_t>},
    {"uint32", 4, from_integer<std::uint32_t>},
    {"uint64", 8, from_integer<std::uint64_t>},
};

const NumberType* find_type(const std::string& name) {
  for (const NumberType& type : kTypes)
    if (name == type.name) return &type;
  return nullptr;
}

bool read_packed(const Json& value, std::int64_t count, Array& out, Flaw& flaw) {
  std::string dtype;
  if (!need(value, "dtype", dtype, flaw)) return false;
  const NumberType* type = find_type(dtype);
  if (type == nullptr) {
    flaw.what = "is \"" + dtype.substr(0, 40) + "\"; expected float32, float64, float16, bfloat16, bool or (u)int8 to (u)int64";
    return flaw.within(std::string("dtype"));
  }
  const auto data = value.find("data");
  std::vector<std::uint8_t> bytes;
  if (!data->is_string() || !decode_base64(data->get_ref<const std::string&>(), bytes)) {
    mismatch(*data, "base64 with padding", flaw);
    return flaw.within(std::string("data"));
  }
  if (bytes.size() != static_cast<std::size_t>(count) * type->size) {
    flaw.what = "holds " + std::to_string(bytes.size()) + " bytes; expected " + std::to_string(count) + " elements of " +
                std::to_string(type->size) + " bytes";
    return flaw.within(std::string("data"));
  }
  out.data.reserve(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < bytes.size(); i += type->size) {
    std::uint64_t bits = 0;
    for (std::size_t b = 0; b < type->size; ++b) bits |= static_cast<std::uint64_t>(bytes[i + b]) << (8 * b);
    out.data.push_back(type->decode(bits));
  }
  return true;
}

bool read_listed(const Json& values, std::int64_t count, Array& out, Flaw& flaw) {
  if (!values.is_array() || values.size() != static_cast<std::size_t>(count)) {
    mismatch(values, "a flat list of " + std::to_string(count), flaw);
    return flaw.within(std::string("values"));
  }
  out.data.reserve(values.size());
  for (const Json& item : values) {
    const std::size_t at = out.data.size();
    double& number = out.data.emplace_back(std::numeric_limits<double>::quiet_NaN());
    if (item.is_null()) {
      out.absent.resize(values.size());
      out.absent[at] = true;
    } else if (!read(item, number, flaw)) {
      flaw.within(at);
      return flaw.within(std::string("values"));
    }
  }
  return true;
}

/// float32 holds the number exactly; of a NaN only that it is one counts.
bool fits_float(double value) {
  if (!std::isfinite(value)) return true;
  return std::fabs(value) <= static_cast<double>(std::numeric_limits<float>::max()) &&
         static_cast<double>(static_cast<float>(value)) == value;
}

}  // namespace

bool count_elements(const std::vector<std::int64_t>& shape, std::int64_t& count, Flaw& flaw) {
  count = 1;
  bool empty = false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] < 0 || shape[i] > kMaxElements) {
      flaw.what = "is " + std::to_string(shape[i]) + "; expected a size from 0 to " + std::to_string(kMaxElements);
      return flaw.within(i);
    }
    empty = empty || shape[i] == 0;
    count *= std::max<std::int64_t>(shape[i], 1);  // at most 2^26 * 2^26 before the check below
    if (count > kMaxElements) {
      flaw.what = "has too many elements; expected at most " + std::to_string(kMaxElements);
      return false;
    }
  }
  if (empty) count = 0;
  return true;
}

bool read(const Json& value, Array& out, Flaw& flaw) {
  if (!value.is_object()) return mismatch(value, "an Array: an object with \"shape\" and \"data\" or \"values\"", flaw);
  out = {};
  if (!need(value, "shape", out.shape, flaw)) return false;
  std::int64_t count = 0;
  if (!count_elements(out.shape, count, flaw)) return flaw.within(std::string("shape"));
  if (value.contains("data") == value.contains("values")) {
    flaw.what = value.contains("data") ? "has both \"data\" and \"values\"; expected one of them"
                                       : "has neither \"data\" nor \"values\"; expected one of them";
    return false;
  }
  return value.contains("data") ? read_packed(value, count, out, flaw) : read_listed(value["values"], count, out, flaw);
}

Json array_to_json(const Array& array) {
  Json out = {{"shape", array.shape}};
  if (!array.absent.empty()) {
    Json& values = out["values"] = Json::array();
    for (std::size_t i = 0; i < array.data.size(); ++i) values.push_back(array.absent[i] ? Json(nullptr) : real(array.data[i]));
    return out;
  }
  const bool narrow = std::all_of(array.data.begin(), array.data.end(), fits_float);
  std::vector<std::uint8_t> bytes;
  bytes.reserve(array.data.size() * (narrow ? 4 : 8));
  for (const double value : array.data) {
    const std::uint64_t bits =
        narrow ? std::bit_cast<std::uint32_t>(static_cast<float>(value)) : std::bit_cast<std::uint64_t>(value);
    for (int b = 0; b < (narrow ? 4 : 8); ++b) bytes.push_back(static_cast<std::uint8_t>(bits >> (8 * b)));
  }
  out["dtype"] = narrow ? "float32" : "float64";
  out["data"] = encode_base64(bytes);
  return out;
}

std::string encode_base64(const std::vector<std::uint8_t>& bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t have = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t b = 0; b < 3; ++b) group = group << 8 | (b < have ? bytes[i + b] : 0u);
    for (std::size_t d = 0; d < 4; ++d) out += d <= have ? kAlphabet[group >> (18 - 6 * d) & 63] : '=';
  }
  return out;
}

bool decode_base64(const std::string& text, std::vector<std::uint8_t>& out) {
  out.clear();
  if (text.size() % 4 != 0) return false;
  std::size_t digits = text.size();
  while (digits > 0 && text.size() - digits < 2 && text[digits - 1] == '=') --digits;
  out.reserve(text.size() / 4 * 3);
  std::uint32_t bits = 0;
  for (std::size_t i = 0; i < digits; ++i) {
    const int digit = kDigits[static_cast<std::uint8_t>(text[i])];
    if (digit < 0) return false;
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    if (i % 4 != 0) out.push_back(static_cast<std::uint8_t>(bits >> (6 - 2 * (i % 4))));
  }
  const std::size_t used = digits % 4;  // left-over bits of the last group are zero in canonical base64
  return used == 0 || (bits & ((used == 2 ? 15u : 3u))) == 0;
}

}  // namespace cachet::json
