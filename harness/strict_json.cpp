// One pass of the parser with a watch on keys and depth; the text is never quoted back, since it may be anything.
#include "harness/strict_json.h"

#include <algorithm>
#include <set>
#include <vector>

namespace cachet {

namespace {

using Json = nlohmann::ordered_json;

constexpr int kDeepest = 32;

int line_of(const std::string& text, std::size_t byte) {
  return 1 + static_cast<int>(
                 std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(std::min(byte, text.size())), '\n'));
}

/// Printable characters of a key or message; other bytes as '?'.
std::string plain(std::string text) {
  if (text.size() > 120) text = text.substr(0, 120) + "...";
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ' || static_cast<unsigned char>(c) >= 0x7f) c = '?';
  }
  return text;
}

/// Looks for what a tree can no longer show. Returns false, which ends the parse, at the first complaint.
struct Watch : nlohmann::json_sax<Json> {
  std::vector<std::set<std::string>> keys;
  std::string complaint;
  std::size_t byte = 0;

  bool stop(const std::string& what) {
    complaint = what;
    return false;
  }
  bool open() {
    keys.emplace_back();
    return static_cast<int>(keys.size()) <= kDeepest ||
           stop("nested deeper than " + std::to_string(kDeepest) + " levels; expected a flat object");
  }
  bool close() {
    keys.pop_back();
    return true;
  }
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(std::int64_t) override { return true; }
  bool number_unsigned(std::uint64_t) override { return true; }
  bool number_float(double, const std::string&) override { return true; }
  bool string(std::string&) override { return true; }
  bool binary(Json::binary_t&) override { return true; }
  bool start_object(std::size_t) override { return open(); }
  bool key(std::string& name) override {
    return keys.back().insert(name).second || stop("key '" + plain(name) + "' is given twice; expected it once");
  }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& error) override {
    byte = position;
    std::string message = plain(error.what());
    if (const auto colon = message.find("] "); colon != std::string::npos) message = message.substr(colon + 2);
    return stop("not JSON (" + message + "); expected one object");
  }
};

}  // namespace

Result<Json> parse_strict(const std::string& text, const std::string& file) {
  Watch watch;
  if (!Json::sax_parse(text, &watch)) return Error{file, watch.byte > 0 ? line_of(text, watch.byte) : 0, watch.complaint};
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return Error{file, 0, "not a JSON object; expected one"};
  return json;
}

}  // namespace cachet
