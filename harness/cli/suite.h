// What a program with cachet's command line is made of: backends, laws and planted bugs, handed over as values so that the
// command line itself knows none of them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness/zoo.h"

namespace cachet::cli {

/// Deadlines of a child process, in seconds.
struct Deadlines {
  double step = 60;  ///< to start, to load a model, and for each step

  bool operator==(const Deadlines&) const = default;
};

struct Suite {
  std::string program;  ///< as it was called, for the replay commands that reports print
  std::string version;
  std::vector<std::string> backends;  ///< names of the built-in ones
  /// A built-in name, with planted bugs or without: "static_cache", "static_cache+stale_length".
  std::function<Result<BackendFactory>(const std::string& name)> resolve;
  /// The backend in a child process; nothing is started before the factory is called.
  std::function<BackendFactory(const std::vector<std::string>& argv, const Deadlines& deadlines)> process;
  std::vector<Property> laws;
  std::vector<ZooEntry> zoo;
};

/// The whole program: parses, runs one command, returns the exit code (DESIGN.md, section 5).
int run_command_line(int argc, const char* const* argv, const Suite& suite);

}  // namespace cachet::cli
