// Words as in a POSIX shell, without expansion: how a command line inside one argument is taken apart, and how commands that
// reports print are put together so that they work when pasted. And text from backends made safe to show.
#pragma once

#include <string>
#include <vector>

#include "reference/result.h"

namespace cachet {

/// Blanks separate; '...' is literal, in "..." a backslash escapes only $ ` " \ and a line break, outside it escapes anything.
/// An unclosed quote or a trailing backslash is an error.
Result<std::vector<std::string>> split_words(const std::string& text);

/// The word as a shell must be given it: bare where it is safe, else in single quotes.
std::string quote_word(const std::string& word);

std::string join_words(const std::vector<std::string>& words);

/// Valid UTF-8 without control characters but line breaks and tabs; what is replaced shows as \xNN. Backends say what they
/// like, and terminals and XML must not believe it.
std::string printable(const std::string& text);

}  // namespace cachet
