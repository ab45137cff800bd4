// Lines and words of the text form: what every line is made of before it means anything.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reference/result.h"

namespace cachet::text {

inline constexpr std::size_t kMaxBytes = std::size_t{16} << 20;  ///< of one case
inline constexpr std::size_t kMaxLine = std::size_t{1} << 20;

/// One word of a line. `quoted` words were written as a JSON text, `json` ones are a list or an object.
struct Word {
  enum class Kind { kPlain, kQuoted, kJson, kBar };
  Kind kind = Kind::kPlain;
  std::string key;   ///< of key=value; empty otherwise
  std::string text;  ///< the value, unquoted; JSON as it was written
};

/// The text's lines, without line feeds. NUL bytes, carriage returns and other control characters, invalid UTF-8, over-long
/// lines and over-long texts are errors with their line.
Result<std::vector<std::string_view>> split_lines(std::string_view text, const std::string& file);

/// The words of a line, without its comment. Errors carry no place.
Result<std::vector<Word>> split_line(std::string_view line);

/// The free text behind a header's word, without its comment; a JSON text when it begins with a quote.
Result<std::string> header_text(std::string_view rest);

/// What one name looks like in a line: as it is where that is one plain word, else as a JSON text.
std::string write_word(const std::string& word);
std::string write_header_text(const std::string& text);

/// The closest of `known` when it is near enough to be a slip of the pen: "; did you mean \"rows\"?", else nothing.
std::string suggestion(std::string_view word, const std::vector<std::string>& known);

}  // namespace cachet::text
