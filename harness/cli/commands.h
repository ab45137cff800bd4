// The commands of the command line: each adds itself to the parser and says what to run when it was named.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "harness/cli/suite.h"

namespace cachet::cli {

struct Command {
  CLI::App* app = nullptr;
  std::function<int()> run;  ///< returns the exit code
};

/// The suite outlives the command.
Command check_command(CLI::App& app, const Suite& suite);
Command replay_command(CLI::App& app, const Suite& suite);
Command shrink_command(CLI::App& app, const Suite& suite);
Command merge_command(CLI::App& app, const Suite& suite);
Command zoo_command(CLI::App& app, const Suite& suite);
Command serve_command(CLI::App& app, const Suite& suite);
Command list_command(CLI::App& app, const Suite& suite);
Command export_command(CLI::App& app, const Suite& suite);

}  // namespace cachet::cli
