// Reading a report: values as people read them, lengths by row, logits by cell.
#include "harness/report.h"

#include <fmt/format.h>

#include <cmath>

namespace cachet {
namespace {

/// A real always shows that it is one: "3.0", "0.5", "nan".
std::string real_text(double value) {
  std::string text = fmt::format("{}", value);
  if (std::isfinite(value) && text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string array_text(const ArrayValue& array) {
  std::string out;
  for (const double value : array.value) out += (out.empty() ? "" : ", ") + fmt::format("{}", value);
  if (!array.shape.empty() || array.value.size() != 1) out = "[" + out + "]";
  std::string shape;
  for (const std::int64_t n : array.shape) shape += (shape.empty() ? "" : ", ") + std::to_string(n);
  out += " (" + array.dtype + " array of shape [" + shape + "]";
  if (!array.device.empty()) out += " on " + array.device;
  return out + ")";
}

}  // namespace

std::string to_string(const Value& value) {
  struct Visitor {
    std::string operator()(const IntegerValue& v) const { return std::to_string(v.value); }
    std::string operator()(const RealValue& v) const { return real_text(v.value) + " (real)"; }
    std::string operator()(const ArrayValue& v) const { return array_text(v); }
    std::string operator()(const TextValue& v) const { return "\"" + v.value + "\" (text)"; }
    std::string operator()(const NoneValue&) const { return "none"; }
  };
  return std::visit(Visitor{}, value);
}

const Value* LengthReport::of_row(int row) const {
  const std::size_t index = per_row ? static_cast<std::size_t>(row) : 0;
  return row >= 0 && index < values.size() ? &values[index] : nullptr;
}

namespace {

/// Where the cell (row, position) begins in `data`.
std::size_t cell(const LogitsArray& array, int row, int position) {
  return (static_cast<std::size_t>(row) * static_cast<std::size_t>(array.n) + static_cast<std::size_t>(position)) *
         static_cast<std::size_t>(array.vocab);
}

}  // namespace

std::vector<double> LogitsArray::at(int row, int position) const {
  const auto begin = data.begin() + static_cast<std::ptrdiff_t>(cell(*this, row, position));
  return {begin, begin + vocab};
}

bool LogitsArray::is_absent(int row, int position) const {
  if (absent.empty()) return false;
  const std::size_t begin = cell(*this, row, position);
  for (std::size_t i = begin; i < begin + static_cast<std::size_t>(vocab); ++i)
    if (!absent[i]) return false;
  return true;
}

}  // namespace cachet
