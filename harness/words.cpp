// POSIX.1-2017, Shell Command Language, section 2.2 (quoting) and 2.3 (token recognition), without expansion and operators.
#include "harness/words.h"

#include <fmt/core.h>

#include <cstring>

namespace cachet {

namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n'; }

/// Reads the quoted part that begins at text[at] (the quote itself) into `word`; false when it never closes.
bool read_quoted(const std::string& text, std::size_t& at, std::string& word) {
  const char quote = text[at];
  for (++at; at < text.size(); ++at) {
    char c = text[at];
    if (c == quote) return true;
    if (quote == '"' && c == '\\' && at + 1 < text.size() && std::strchr("$`\"\\\n", text[at + 1]) != nullptr) {
      c = text[++at];
      if (c == '\n') continue;
    }
    word += c;
  }
  return false;
}

/// Length of the well-formed UTF-8 sequence at text[at], 0 when there is none (RFC 3629, section 4).
std::size_t utf8_length(const std::string& text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const unsigned first = byte(at);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(at + i) & 0xC0U) != 0x80U) return 0;
  const unsigned second = byte(at + 1);
  const bool wrong = (first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) || (first == 0xF0 && second < 0x90) ||
                     (first == 0xF4 && second > 0x8F);
  return wrong ? 0 : length;
}

/// C0, DEL, C1 and the two code points that XML 1.0 forbids.
bool is_control(const std::string& text, std::size_t at, std::size_t length) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (length == 1) return (byte(at) < 0x20 && text[at] != '\n' && text[at] != '\t') || byte(at) == 0x7F;
  if (length == 2) return byte(at) == 0xC2 && byte(at + 1) < 0xA0;
  return length == 3 && byte(at) == 0xEF && byte(at + 1) == 0xBF && byte(at + 2) >= 0xBE;
}

}  // namespace

Result<std::vector<std::string>> split_words(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  bool inside = false;  // an empty quoted word is a word
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (is_blank(c)) {
      if (inside) words.push_back(std::move(word));
      word.clear();
      inside = false;
    } else if (c == '\'' || c == '"') {
      inside = true;
      if (!read_quoted(text, at, word))
        return Error{"", 0, std::string("the quote ") + c + " in \"" + text + "\" is never closed"};
    } else if (c == '\\') {
      if (++at == text.size()) return Error{"", 0, "\"" + text + "\" ends in a backslash; expected a character after it"};
      if (text[at] == '\n') continue;
      inside = true;
      word += text[at];
    } else {
      inside = true;
      word += c;
    }
  }
  if (inside) words.push_back(std::move(word));
  return words;
}

std::string quote_word(const std::string& word) {
  static const char* const kSafe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
  if (!word.empty() && word.find_first_not_of(kSafe) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'')
      quoted += "'\\''";
    else
      quoted += c;
  }
  return quoted + "'";
}

std::string join_words(const std::vector<std::string>& words) {
  std::string joined;
  for (const std::string& word : words) joined += (joined.empty() ? "" : " ") + quote_word(word);
  return joined;
}

std::string printable(const std::string& text) {
  std::string shown;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text, at);
    if (length > 0 && !is_control(text, at, length)) {
      shown.append(text, at, length);
      at += length;
    } else {
      shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[at++]));
    }
  }
  return shown;
}

}  // namespace cachet
