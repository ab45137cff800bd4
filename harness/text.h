// The text form of cases: one step a line, one to one with the protocol's JSON. Parser and printer are inverse on every case.
// A name or header text that is not plain (blanks in a name, "#", line breaks) stands as a JSON text in quotes; rows without
// any row stand as tokens=[].
#pragma once

#include <string>

#include "harness/trace.h"

namespace cachet {

std::string print_case(const Case& value);
std::string print_trace(const Trace& trace);
std::string print_step(const Step& step);  ///< without a line feed

/// `file` names the input in errors. Errors carry the line and say what was expected; nothing malformed is accepted.
Result<Case> parse_case(const std::string& text, const std::string& file);
/// The case in a file, or in a certificate's JSON (key "case").
Result<Case> read_case(const std::string& path);

}  // namespace cachet
