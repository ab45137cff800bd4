// Bytes to tensors and back. Sizes are compared before they are multiplied or added, so that no header can overflow them.
#include "harness/safetensors.h"

#include <algorithm>
#include <bit>

#include "harness/files.h"
#include "harness/float16.h"
#include "harness/json.h"

namespace cachet {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kLargestHeader = 100'000'000;  // the format's own limit
constexpr std::uintmax_t kLargestFile = std::uintmax_t{1} << 36;

std::uint64_t little_endian(const char* bytes, int count) {
  std::uint64_t value = 0;
  for (int i = 0; i < count; ++i) value |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  return value;
}

void append_little_endian(std::string& out, std::uint64_t value, int count) {
  for (int i = 0; i < count; ++i) out += static_cast<char>((value >> (8 * i)) & 0xff);
}

/// Bytes an element; 0 for a dtype the format does not know.
std::size_t size_of(const std::string& dtype) {
  if (dtype == "F64" || dtype == "I64" || dtype == "U64") return 8;
  if (dtype == "F32" || dtype == "I32" || dtype == "U32") return 4;
  if (dtype == "F16" || dtype == "BF16" || dtype == "I16" || dtype == "U16") return 2;
  if (dtype == "I8" || dtype == "U8" || dtype == "BOOL" || dtype == "F8_E4M3" || dtype == "F8_E5M2") return 1;
  return 0;
}

/// A member as a list of `count` or more nonnegative integers; nullopt when it is anything else.
std::optional<std::vector<std::int64_t>> integers(const Json& entry, const char* key) {
  const auto it = entry.find(key);
  if (it == entry.end() || !it->is_array()) return std::nullopt;
  std::vector<std::int64_t> out;
  for (const Json& value : *it) {
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() > (std::uint64_t{1} << 40)) return std::nullopt;
    out.push_back(static_cast<std::int64_t>(value.get<std::uint64_t>()));
  }
  return out;
}

/// One entry of the header; the error's message is complete.
Result<StoredTensor> read_entry(const std::string& name, const Json& entry, std::size_t data_size) {
  const auto wrong = [&](const std::string& what) { return Error{"", 0, "tensor '" + name + "' " + what}; };
  if (!entry.is_object()) return wrong("is not an object; expected dtype, shape and data_offsets");
  for (const auto& [key, value] : entry.items()) {
    if (key != "dtype" && key != "shape" && key != "data_offsets")
      return wrong("has an unknown field '" + key + "'; expected dtype, shape and data_offsets");
  }
  StoredTensor tensor;
  tensor.name = name;
  const auto dtype = entry.find("dtype");
  if (dtype == entry.end() || !dtype->is_string()) return wrong("has no dtype; expected a name such as F32");
  tensor.dtype = dtype->get<std::string>();
  const std::size_t element = size_of(tensor.dtype);
  if (element == 0) return wrong("has an unknown dtype '" + tensor.dtype + "'; expected F64, F32, F16 or BF16");
  const auto shape = integers(entry, "shape");
  if (!shape) return wrong("has a bad shape; expected a list of sizes");
  tensor.shape = *shape;
  const auto offsets = integers(entry, "data_offsets");
  if (!offsets || offsets->size() != 2) return wrong("has bad data_offsets; expected [begin, end]");
  tensor.begin = static_cast<std::size_t>((*offsets)[0]);
  tensor.end = static_cast<std::size_t>((*offsets)[1]);
  if (tensor.begin > tensor.end || tensor.end > data_size) {
    return wrong("has data_offsets [" + std::to_string(tensor.begin) + ", " + std::to_string(tensor.end) +
                 "]; expected a range within the " + std::to_string(data_size) + " bytes of data");
  }
  std::size_t elements = 1;
  for (const std::int64_t size : tensor.shape) {
    const auto dimension = static_cast<std::size_t>(size);
    if (dimension != 0 && elements > data_size / dimension)
      return wrong("has a shape larger than the data; expected it to match data_offsets");
    elements *= dimension;
  }
  if (elements > data_size / element || elements * element != tensor.end - tensor.begin) {
    return wrong("holds " + std::to_string(tensor.end - tensor.begin) + " bytes; expected " + std::to_string(elements) +
                 " elements of " + tensor.dtype);
  }
  return tensor;
}

}  // namespace

Result<SafetensorsFile> SafetensorsFile::read(const fs::path& path) {
  auto bytes = read_whole_file(path, kLargestFile);
  if (!bytes) return bytes.error();
  const auto wrong = [&](const std::string& what) { return Error{path.string(), 0, what}; };
  SafetensorsFile file;
  file.bytes_ = std::move(*bytes);
  const std::size_t size = file.bytes_.size();
  if (size < 8) return wrong("holds " + std::to_string(size) + " bytes; expected at least the 8 of a header length");
  const std::uint64_t header = little_endian(file.bytes_.data(), 8);
  if (header > size - 8 || header > kLargestHeader) {
    return wrong("header length " + std::to_string(header) + " is beyond the file of " + std::to_string(size) +
                 " bytes; expected a shorter one");
  }
  file.data_ = 8 + static_cast<std::size_t>(header);
  auto json = parse_object(file.bytes_.substr(8, static_cast<std::size_t>(header)), path.string());
  if (!json) return Error{path.string(), 0, "header: " + json.error().message};
  const std::size_t data_size = size - file.data_;
  for (const auto& [name, entry] : json->items()) {
    if (name == "__metadata__") continue;
    auto tensor = read_entry(name, entry, data_size);
    if (!tensor) return wrong(tensor.error().message);
    file.tensors_.push_back(std::move(*tensor));
  }
  std::stable_sort(file.tensors_.begin(), file.tensors_.end(),
                   [](const auto& x, const auto& y) { return std::pair(x.begin, x.end) < std::pair(y.begin, y.end); });
  std::size_t at = 0;
  for (const StoredTensor& tensor : file.tensors_) {
    if (tensor.begin != at) {
      return wrong("tensor '" + tensor.name + "' begins at byte " + std::to_string(tensor.begin) +
                   (tensor.begin < at ? ", inside another" : ", after a gap") + "; expected " + std::to_string(at));
    }
    at = tensor.end;
  }
  if (at != data_size) return wrong("holds " + std::to_string(data_size - at) + " bytes after the last tensor; expected none");
  return file;
}

Result<std::vector<double>> SafetensorsFile::values(const StoredTensor& tensor) const {
  const int element = static_cast<int>(size_of(tensor.dtype));
  double (*decode)(std::uint64_t) = nullptr;
  if (tensor.dtype == "F64") decode = [](std::uint64_t bits) { return std::bit_cast<double>(bits); };
  if (tensor.dtype == "F32")
    decode = [](std::uint64_t bits) { return double{std::bit_cast<float>(static_cast<std::uint32_t>(bits))}; };
  if (tensor.dtype == "BF16")
    decode = [](std::uint64_t bits) { return double{std::bit_cast<float>(static_cast<std::uint32_t>(bits << 16))}; };
  if (tensor.dtype == "F16") decode = from_half;
  if (!decode) return Error{"", 0, "has dtype " + tensor.dtype + "; expected F64, F32, F16 or BF16"};
  std::vector<double> out((tensor.end - tensor.begin) / static_cast<std::size_t>(element));
  const char* bytes = bytes_.data() + data_ + tensor.begin;
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = decode(little_endian(bytes + i * static_cast<std::size_t>(element), element));
  return out;
}

std::string safetensors_f32(const std::vector<std::pair<std::string, const Tensor*>>& tensors) {
  auto header = nlohmann::ordered_json::object();  // tensors in their order
  header["__metadata__"] = {{"format", "pt"}};     // which transformers asks for
  std::size_t at = 0;
  for (const auto& [name, tensor] : tensors) {
    const std::size_t end = at + 4 * tensor->data.size();
    header[name] = {{"dtype", "F32"}, {"shape", tensor->shape}, {"data_offsets", {at, end}}};
    at = end;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // the data begins at a multiple of eight
  std::string out;
  append_little_endian(out, text.size(), 8);
  out += text;
  for (const auto& [name, tensor] : tensors) {
    for (const double value : tensor->data) append_little_endian(out, std::bit_cast<std::uint32_t>(static_cast<float>(value)), 4);
  }
  return out;
}

}  // namespace cachet
