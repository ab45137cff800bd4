// Reports as the protocol's JSON, both ways (PROTOCOL.md, The `step` notification): unknown fields are ignored, known ones are
// exact about types.
#include <cmath>

#include "harness/json_array.h"

namespace cachet {
namespace {

using json::Flaw;

constexpr std::size_t kMaxRank = 8;  // of a length that came as an array
constexpr const char* kStatusNames[] = {"ok", "refused", "failed"};

bool is_integer_type(const std::string& dtype) { return dtype.rfind("int", 0) == 0 || dtype.rfind("uint", 0) == 0; }

/// A number of an array as its type writes it: integers without a point.
Json element_to_json(double value, const std::string& dtype) {
  constexpr double kExact = 9007199254740992.0;  // 2^53: integers up to here are what they seem
  if (dtype == "bool" && (value == 0 || value == 1)) return value == 1;
  if (is_integer_type(dtype) && std::fabs(value) <= kExact && value == std::trunc(value)) return static_cast<std::int64_t>(value);
  return json::real(value);
}

/// Nested lists as the shape says, from the flat list; a scalar for an empty shape.
Json nest(const ArrayValue& array, std::size_t axis, std::size_t& next) {
  if (axis == array.shape.size()) return element_to_json(array.value[next++], array.dtype);
  Json out = Json::array();
  for (std::int64_t i = 0; i < array.shape[axis]; ++i) out.push_back(nest(array, axis + 1, next));
  return out;
}

Json value_to_json(const Value& value) {
  struct Visitor {
    Json operator()(const IntegerValue& v) const { return {{"kind", "integer"}, {"value", v.value}}; }
    Json operator()(const RealValue& v) const { return {{"kind", "real"}, {"value", json::real(v.value)}}; }
    Json operator()(const ArrayValue& v) const {
      Json out = {{"kind", "array"}, {"dtype", v.dtype}, {"shape", v.shape}};
      std::size_t next = 0;
      out["value"] = v.value.empty() ? Json::array() : nest(v, 0, next);
      if (!v.device.empty()) out["device"] = v.device;
      return out;
    }
    Json operator()(const TextValue& v) const { return {{"kind", "text"}, {"value", v.value}}; }
    Json operator()(const NoneValue&) const { return {{"kind", "none"}}; }
  };
  return std::visit(Visitor{}, value);
}

/// The numbers of nested lists, or of a flat list or a scalar, in order. Truth values count as 0 and 1.
bool flatten(const Json& value, std::size_t levels, std::vector<double>& out, Flaw& flaw) {
  if (value.is_array()) {
    if (levels == 0) return json::mismatch(value, "lists nested no deeper than the shape", flaw);
    std::size_t index = 0;
    for (const Json& item : value) {
      if (!flatten(item, levels - 1, out, flaw)) return flaw.within(index);
      ++index;
    }
    return true;
  }
  if (value.is_boolean()) return out.push_back(value.get<bool>() ? 1 : 0), true;
  return json::read(value, out.emplace_back(), flaw);
}

bool read_array(const Json& value, ArrayValue& out, Flaw& flaw) {
  if (!json::need(value, "dtype", out.dtype, flaw) || !json::need(value, "shape", out.shape, flaw) ||
      !json::may(value, "device", out.device, flaw))
    return false;
  std::int64_t count = 0;
  if (out.shape.size() > kMaxRank)
    return json::mismatch(value["shape"], "at most 8 sizes", flaw), flaw.within(std::string("shape"));
  if (!json::count_elements(out.shape, count, flaw)) return flaw.within(std::string("shape"));
  const auto items = value.find("value");
  if (items == value.end()) return flaw.what = "has no \"value\"; expected the array's numbers", false;
  if (!flatten(*items, std::max<std::size_t>(out.shape.size(), 1), out.value, flaw)) return flaw.within(std::string("value"));
  if (out.value.size() == static_cast<std::size_t>(count)) return true;
  flaw.what = "holds " + std::to_string(out.value.size()) + " numbers; expected " + std::to_string(count) + " as the shape says";
  return flaw.within(std::string("value"));
}

}  // namespace

namespace json {

bool read(const Json& value, Value& out, Flaw& flaw) {
  if (!value.is_object()) return mismatch(value, "a Value: an object with \"kind\" (left out where it is not observed)", flaw);
  std::string kind;
  if (!need(value, "kind", kind, flaw)) return false;
  if (kind == "integer") return need(value, "value", out.emplace<IntegerValue>().value, flaw);
  if (kind == "real") return need(value, "value", out.emplace<RealValue>().value, flaw);
  if (kind == "array") return read_array(value, out.emplace<ArrayValue>(), flaw);
  if (kind == "text") return need(value, "value", out.emplace<TextValue>().value, flaw);
  if (kind == "none") return out.emplace<NoneValue>(), true;
  mismatch(value["kind"], "\"integer\", \"real\", \"array\", \"text\" or \"none\"", flaw);
  return flaw.within(std::string("kind"));
}

bool read(const Json& value, LengthReport& out, Flaw& flaw) {
  out.per_row = value.is_array();
  return out.per_row ? read(value, out.values, flaw) : read(value, out.values.emplace_back(), flaw);
}

bool read(const Json& value, ModelCall& out, Flaw& flaw) {
  if (!value.is_object()) return mismatch(value, "an object", flaw);
  return need(value, "tokens", out.tokens, flaw) && may(value, "positions", out.positions, flaw) &&
         need(value, "shape", out.shape, flaw);
}

bool read(const Json& value, Compilation& out, Flaw& flaw) {
  if (!value.is_object()) return mismatch(value, "an object", flaw);
  return need(value, "what", out.what, flaw) && need(value, "signature", out.signature, flaw);
}

bool read(const Json& value, LogitsArray& out, Flaw& flaw) {
  Array array;
  if (!read(value, array, flaw)) return false;
  if (array.shape.size() != 3) {
    mismatch(value["shape"], "three sizes: rows, n, vocabulary", flaw);
    return flaw.within(std::string("shape"));
  }
  out = {static_cast<int>(array.shape[0]), static_cast<int>(array.shape[1]), static_cast<int>(array.shape[2]),
         std::move(array.data), std::move(array.absent)};
  return true;
}

bool read(const Json& value, Status& out, Flaw& flaw) {
  for (int i = 0; i < 3; ++i)
    if (value == kStatusNames[i]) return out = static_cast<Status>(i), true;
  return mismatch(value, "\"ok\", \"refused\" or \"failed\"", flaw);
}

}  // namespace json

namespace {

Json length_to_json(const LengthReport& report) {
  if (!report.per_row && report.values.size() == 1) return value_to_json(report.values.front());
  Json out = Json::array();
  for (const Value& value : report.values) out.push_back(value_to_json(value));
  return out;
}

Json logits_to_json(const LogitsArray& logits) {
  return json::array_to_json({{logits.rows, logits.n, logits.vocab}, logits.data, logits.absent});
}

Json call_to_json(const ModelCall& call) {
  Json out = {{"tokens", call.tokens}, {"shape", call.shape}};
  if (call.positions) out["positions"] = *call.positions;
  return out;
}

template <typename T, typename F>
void put_list(Json& out, const char* name, const std::optional<std::vector<T>>& items, F to_json) {
  if (!items) return;
  Json& list = out[name] = Json::array();
  for (const T& item : *items) list.push_back(to_json(item));
}

template <typename T>
void put(Json& out, const char* name, const std::optional<T>& value) {
  if (value) out[name] = *value;
}

bool read_report(const Json& object, Report& out, Flaw& flaw) {
  if (!json::need(object, "index", out.index, flaw)) return false;
  if (out.index < 0) return json::mismatch(object["index"], "at least 0", flaw), flaw.within(std::string("index"));
  const auto unchanged = object.find("state_unchanged");
  const bool told = unchanged != object.end() && !unchanged->is_null();
  return json::need(object, "status", out.status, flaw) && json::may(object, "kind", out.kind, flaw) &&
         json::may(object, "message", out.message, flaw) &&
         (!told || json::may(object, "state_unchanged", out.state_unchanged, flaw)) &&
         json::may(object, "logits", out.logits, flaw) && json::may(object, "lengths", out.lengths, flaw) &&
         json::may(object, "layer_lengths", out.layer_lengths, flaw) && json::may(object, "tokens", out.tokens, flaw) &&
         json::may(object, "stopped", out.stopped, flaw) && json::may(object, "scores", out.scores, flaw) &&
         json::may(object, "calls", out.calls, flaw) && json::may(object, "compilations", out.compilations, flaw) &&
         json::may(object, "cached", out.cached, flaw) && json::may(object, "changed", out.changed, flaw) &&
         json::may(object, "seconds", out.seconds, flaw);
}

}  // namespace

Json report_to_json(const Report& report) {
  Json out = {{"index", report.index}, {"status", kStatusNames[static_cast<int>(report.status)]}};
  if (!report.kind.empty()) out["kind"] = report.kind;
  if (!report.message.empty()) out["message"] = report.message;
  put(out, "state_unchanged", report.state_unchanged);
  if (report.logits) out["logits"] = logits_to_json(*report.logits);
  if (report.lengths) out["lengths"] = length_to_json(*report.lengths);
  put_list(out, "layer_lengths", report.layer_lengths, length_to_json);
  put(out, "tokens", report.tokens);
  put(out, "stopped", report.stopped);
  put_list(out, "scores", report.scores, [](const std::vector<double>& row) {
    Json list = Json::array();
    for (const double score : row) list.push_back(json::real(score));
    return list;
  });
  put_list(out, "calls", report.calls, call_to_json);
  put_list(out, "compilations", report.compilations, [](const Compilation& c) {
    return Json{{"what", c.what}, {"signature", c.signature}};
  });
  put(out, "cached", report.cached);
  put(out, "changed", report.changed);
  if (report.seconds) out["seconds"] = json::real(*report.seconds);
  return out;
}

Result<Report> report_from_json(const Json& object) {
  if (!object.is_object()) return Error{"", 0, "a report is " + json::sketch(object) + "; expected an object"};
  Report report;
  Flaw flaw;
  if (read_report(object, report, flaw)) return report;
  const auto index = object.find("index");
  const bool numbered = index != object.end() && index->is_number_integer();
  return Error{"", 0, (numbered ? "step " + dump(*index) + ": " : "") + to_string(flaw)};
}

}  // namespace cachet
