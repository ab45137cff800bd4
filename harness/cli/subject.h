// BACKEND on the command line: which backend, which of its configurations, and under which name cases and reports know them.
#pragma once

#include <string>
#include <vector>

#include "harness/cli/suite.h"

namespace cachet::cli {

/// The parts of BACKEND before anything is started.
struct SubjectName {
  std::string backend;            ///< "static_cache+stale_length"; "process" for a command line
  std::vector<std::string> argv;  ///< of "process"
  std::string configuration;      ///< empty: none was given

  bool operator==(const SubjectName&) const = default;
};

/// NAME[/CONFIGURATION] or process:COMMAND[/CONFIGURATION]. A command is split at the last `/` of its last word unless that
/// word names an existing path; a final `/` forces none.
Result<SubjectName> parse_subject(const std::string& text);

/// The text that parses to these parts again, whatever paths exist then. `configuration` is left out when it is empty.
std::string subject_text(const SubjectName& name);

/// Starts the backend once to learn its configurations: all of them, or the one named. At least one.
Result<std::vector<Subject>> resolve_subject(const std::string& text, const Suite& suite, const Deadlines& deadlines);

/// The one subject a case is judged on: its own, or `instead` when that is not empty. A name that stands for several
/// configurations means the first.
Result<Subject> subject_of_case(const Case& value, const std::string& instead, const Suite& suite, const Deadlines& deadlines);

}  // namespace cachet::cli
