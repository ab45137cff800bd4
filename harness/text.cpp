// Prints cases in their text form: canonical, aligned, one step a line; and finds the case in a file.
#include "harness/text.h"

#include <fstream>

#include "harness/json.h"
#include "harness/step_fields.h"
#include "harness/text_lines.h"

namespace cachet {
namespace {

constexpr std::size_t kWordWidth = 8;                           // "complete"; longer words stand as they are
constexpr std::uintmax_t kMaxFile = std::uintmax_t{256} << 20;  // certificates hold observations beside the case

std::string pad(const std::string& word) {
  return word + std::string(word.size() < kWordWidth ? kWordWidth - word.size() : 0, ' ');
}

std::string line(const std::string& word, const std::string& rest) { return rest.empty() ? word : pad(word) + " " + rest; }

template <typename T>
std::string joined(const std::vector<T>& numbers, const char* separator) {
  std::string out;
  for (const T number : numbers) out += (out.empty() ? "" : separator) + std::to_string(number);
  return out;
}

/// Writes the fields of one step behind its op.
class Writer {
 public:
  const std::string& out() const { return out_; }

  void word(const char*, const std::string& value) { put(text::write_word(value)); }
  void rows(const char* name, const Rows& value) {
    if (value.empty()) return put(std::string(name) + "=[]");
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (i > 0) put("|");
      put(value[i].empty() ? "-" : joined(value[i], " "));
    }
  }
  void rows(const char* name, const std::optional<Rows>& value) {
    if (value) rows(name, *value);
  }
  void numbers(const char* name, const std::vector<int>& value) {
    put(value.empty() ? std::string(name) + "=[]" : joined(value, " "));
  }
  void place(const char*, int value) { put(std::to_string(value)); }
  void place(const char* name, const std::optional<int>& value) {
    if (value) place(name, *value);
  }
  void integer(const char* name, int value, int /*least*/) { any_integer(name, value); }
  void any_integer(const char* name, int value) { put(std::string(name) + "=" + std::to_string(value)); }
  void maybe_integer(const char* name, const std::optional<int>& value, int /*least*/) {
    if (value) any_integer(name, *value);
  }
  void integer_or_zero(const char* name, int value) {
    if (value != 0) any_integer(name, value);
  }
  void ids(const char* name, const std::optional<Tokens>& value) {
    if (value) put(std::string(name) + "=" + (value->empty() ? "[]" : joined(*value, ",")));
  }
  void pads(const char* name, const std::vector<int>& value, const Rows&) {
    if (!value.empty()) put(std::string(name) + "=" + joined(value, ","));
  }
  void want(const char* name, Want value) {
    if (value == Want::kAll) put(std::string(name) + "=all");
  }
  void keep(const char* name, bool value) {
    if (!value) put(std::string(name) + "=false");
  }
  void json(const char* name, const std::map<std::string, std::string>& extras, JsonKind) {
    if (const auto found = extras.find(name); found != extras.end()) put(std::string(name) + "=" + found->second);
  }

 private:
  void put(const std::string& part) { out_ += (out_.empty() ? "" : " ") + part; }
  std::string out_;
};

/// A raw step stands as it is unless that is more than one line.
std::string raw_text(const std::string& json) {
  if (json.find_first_of("\n\r\t") == std::string::npos) return json;
  const Result<Json> value = parse_json(json);
  return value ? dump(*value) : dump(Json(json));
}

std::string event_text(const Load& load) {
  return line("model", text::write_word(load.handle) + " " + to_string(load.spec)) + "\n";
}

std::string event_text(const Run& run) {
  std::string out = line("run", text::write_word(run.handle)) + "\n";
  for (const Step& step : run.steps) out += print_step(step) + "\n";
  return out;
}

std::string event_text(const Unload& unload) { return line("unload", text::write_word(unload.handle)) + "\n"; }

}  // namespace

std::string print_step(const Step& step) {
  if (const auto* raw = std::get_if<Raw>(&step)) return line("raw", raw_text(raw->json));
  Writer writer;
  std::visit([&](const auto& s) { each_field(s, writer); }, step);
  return line(op_name(step), writer.out());
}

std::string print_trace(const Trace& trace) {
  std::string out;
  for (const Event& event : trace.events) out += std::visit([](const auto& e) { return event_text(e); }, event);
  return out;
}

std::string print_case(const Case& value) {
  std::string out = "cachet case 1\n";
  const auto header = [&](const char* word, const std::string& text) { out += line(word, text::write_header_text(text)) + "\n"; };
  header("law", value.law);
  header("backend", value.backend);
  if (!value.peer.empty()) header("peer", value.peer);
  if (!value.vary.empty()) header("vary", joined(value.vary, " "));
  for (const std::string& note : value.notes) header("note", note);
  return out + print_trace(value.trace);
}

Result<Case> read_case(const std::string& path) {
  std::ifstream stream(path, std::ios::binary | std::ios::ate);
  const std::streamoff size = stream ? static_cast<std::streamoff>(stream.tellg()) : -1;
  if (size < 0) return Error{path, 0, "cannot be read; expected a case file or a certificate"};
  if (static_cast<std::uintmax_t>(size) > kMaxFile)
    return Error{path, 0, "has " + std::to_string(size) + " bytes; expected at most " + std::to_string(kMaxFile)};
  std::string text(static_cast<std::size_t>(size), '\0');
  stream.seekg(0);
  if (!stream.read(text.data(), size)) return Error{path, 0, "cannot be read; expected a case file or a certificate"};
  if (const std::size_t first = text.find_first_not_of(" \t\r\n"); first == std::string::npos || text[first] != '{')
    return parse_case(text, path);
  const Result<Json> certificate = parse_json(text);
  if (!certificate) return Error{path, 0, certificate.error().message};
  const auto found = certificate->find("case");
  if (found == certificate->end() || !found->is_string())
    return Error{path, 0, "no text under \"case\"; expected a certificate or a case file"};
  return parse_case(found->get<std::string>(), path + " (key \"case\")");
}

}  // namespace cachet
