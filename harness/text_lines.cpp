// Takes lines apart into words: comments, quoted words, JSON values that hold blanks and '#', and the bytes no case may hold.
#include "harness/text_lines.h"

#include <algorithm>
#include <numeric>

#include "harness/json.h"

namespace cachet::text {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t'; }

/// Length of the UTF-8 sequence at the front of `s`, 0 when it is invalid (overlong forms and surrogates included).
std::size_t sequence_length(std::string_view s) {
  const auto byte = [&](std::size_t i) { return i < s.size() ? static_cast<unsigned char>(s[i]) : 0u; };
  const auto tail = [&](std::size_t i) { return (byte(i) & 0xC0u) == 0x80u; };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return tail(1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    const bool proper = (lead != 0xE0 || byte(1) >= 0xA0) && (lead != 0xED || byte(1) <= 0x9F);
    return proper && tail(1) && tail(2) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const bool proper = (lead != 0xF0 || byte(1) >= 0x90) && (lead != 0xF4 || byte(1) <= 0x8F);
    return proper && tail(1) && tail(2) && tail(3) ? 4 : 0;
  }
  return 0;
}

/// What is wrong with the bytes of a line; empty when nothing is.
std::string bad_bytes(std::string_view line) {
  for (std::size_t i = 0; i < line.size();) {
    const char c = line[i];
    const std::string column = " in column " + std::to_string(i + 1);
    if (c == '\r') return "a carriage return" + column + "; expected lines that end in a line feed alone";
    if (c == '\0') return "a NUL byte" + column + "; expected text";
    if (static_cast<unsigned char>(c) < 0x20 && c != '\t') return "a control character" + column + "; expected text";
    const std::size_t length = sequence_length(line.substr(i));
    if (length == 0) return "invalid UTF-8" + column + "; expected UTF-8";
    i += length;
  }
  return {};
}

/// The end of the JSON value at the front of `s` (a text, list or object): one past its last byte, npos when it does not end.
std::size_t json_end(std::string_view s) {
  std::size_t depth = 0;
  bool in_text = false;
  for (std::size_t i = 0; i < s.size(); ++i) {
    const char c = s[i];
    if (in_text) {
      if (c == '\\') ++i;
      if (c == '"') in_text = false;
    } else if (c == '"') {
      in_text = true;
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    } else {
      continue;
    }
    if (depth == 0 && !in_text && (c == '"' || c == ']' || c == '}')) return i + 1;
  }
  return std::string_view::npos;
}

/// Reads a quoted word or a JSON value at the front of `rest` into `word` and steps over it.
std::optional<Error> take_json(std::string_view& rest, Word& word) {
  const bool quoted = rest.front() == '"';
  const std::size_t end = json_end(rest);
  if (end == std::string_view::npos)
    return Error{
        "", 0,
        quoted ? "a quoted word without its end; expected a closing \"" : "JSON without its end; expected a closing ] or }"};
  if (end < rest.size() && !is_blank(rest[end]) && rest[end] != '#')
    return Error{"", 0, std::string("\"") + rest[end] + "\" directly after JSON; expected a blank"};
  Result<Json> value = parse_json(rest.substr(0, end));
  if (!value) return value.error();
  word.kind = quoted ? Word::Kind::kQuoted : Word::Kind::kJson;
  word.text = quoted ? value->get<std::string>() : std::string(rest.substr(0, end));
  rest.remove_prefix(end);
  return std::nullopt;
}

std::optional<Error> take_word(std::string_view& rest, Word& word) {
  if (rest.front() == '|') {
    word = {Word::Kind::kBar, "", "|"};
    rest.remove_prefix(1);
    return std::nullopt;
  }
  if (rest.front() == '"' || rest.front() == '[' || rest.front() == '{') return take_json(rest, word);
  const std::size_t stop = std::min(rest.find_first_of(" \t#|="), rest.size());
  if (stop == rest.size() || rest[stop] != '=') {
    word.text = rest.substr(0, stop);
    rest.remove_prefix(stop);
    return std::nullopt;
  }
  if (stop == 0) return Error{"", 0, "\"=\" without a key; expected key=value"};
  word.key = rest.substr(0, stop);
  rest.remove_prefix(stop + 1);
  if (!rest.empty() && (rest.front() == '"' || rest.front() == '[' || rest.front() == '{')) return take_json(rest, word);
  const std::size_t end = std::min(rest.find_first_of(" \t#"), rest.size());
  if (end == 0) return Error{"", 0, "\"" + word.key + "=\" without a value; expected key=value"};
  word.text = rest.substr(0, end);
  rest.remove_prefix(end);
  return std::nullopt;
}

/// Number of single-letter changes that make `a` into `b`.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

Result<std::vector<std::string_view>> split_lines(std::string_view text, const std::string& file) {
  if (text.empty()) return Error{file, 1, "the file is empty; expected \"cachet case 1\""};
  if (text.size() > kMaxBytes)
    return Error{file, 1,
                 "the case has " + std::to_string(text.size()) + " bytes; expected at most " + std::to_string(kMaxBytes)};
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    const int number = static_cast<int>(lines.size()) + 1;
    if (line.size() > kMaxLine)
      return Error{file, number,
                   "a line of " + std::to_string(line.size()) + " bytes; expected at most " + std::to_string(kMaxLine)};
    if (const std::string problem = bad_bytes(line); !problem.empty()) return Error{file, number, problem};
    lines.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

Result<std::vector<Word>> split_line(std::string_view line) {
  std::vector<Word> words;
  while (true) {
    while (!line.empty() && is_blank(line.front())) line.remove_prefix(1);
    if (line.empty() || line.front() == '#') return words;
    if (std::optional<Error> error = take_word(line, words.emplace_back())) return *error;
  }
}

Result<std::string> header_text(std::string_view rest) {
  while (!rest.empty() && is_blank(rest.front())) rest.remove_prefix(1);
  if (!rest.empty() && rest.front() == '"') {
    Result<std::vector<Word>> words = split_line(rest);
    if (!words) return words.error();
    if (words->size() != 1) return Error{"", 0, "words after a quoted text; expected one quoted text"};
    return words->front().text;
  }
  rest = rest.substr(0, rest.find('#'));
  while (!rest.empty() && is_blank(rest.back())) rest.remove_suffix(1);
  return std::string(rest);
}

std::string write_word(const std::string& word) {
  const bool control = std::any_of(word.begin(), word.end(), [](char c) { return static_cast<unsigned char>(c) <= 0x20; });
  const bool plain =
      !word.empty() && !control && word.find_first_of("#=|\"") == std::string::npos && word[0] != '[' && word[0] != '{';
  return plain ? word : dump(Json(word));
}

std::string write_header_text(const std::string& text) {
  const bool control = std::any_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; });
  const bool plain = !text.empty() && !control && text.find('#') == std::string::npos && text.front() != '"' &&
                     text.front() != ' ' && text.back() != ' ';
  return plain ? text : dump(Json(text));
}

std::string suggestion(std::string_view word, const std::vector<std::string>& known) {
  constexpr std::size_t kFar = 3;
  if (word.size() > 40) return {};
  const std::string* best = nullptr;
  std::size_t distance = std::min(kFar, word.size());
  for (const std::string& candidate : known)
    if (const std::size_t d = edit_distance(word, candidate); d < distance) {
      distance = d;
      best = &candidate;
    }
  return best ? " (did you mean \"" + *best + "\"?)" : "";
}

}  // namespace cachet::text
