// The program: parses the command line, runs one command, and turns every way to end into its exit code.
#include <fmt/core.h>

#include <csignal>
#include <cstdio>
#include <exception>

#include "harness/cli/commands.h"
#include "harness/cli/common.h"

namespace cachet::cli {

namespace {

/// Help and version end well; everything else that the parser throws is a usage error.
int end_of_parse(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
    app.exit(error);
    return kHolds;
  }
  const CLI::App* named = &app;
  if (!app.get_subcommands().empty()) named = app.get_subcommands().front();
  const std::string where = named == &app ? "" : named->get_name() + ": ";
  complain(kUsage, where + error.what());
  const std::string usage = named == &app ? "cachet --help" : "cachet " + named->get_name() + " --help";
  fmt::print(stderr, "see {}\n", usage);
  return kUsage;
}

int run_named(int argc, const char* const* argv, const Suite& suite) {
  CLI::App app("Judges decoder backends by laws, on generated call traces, and shrinks what fails to one minimal case.",
               "cachet");
  app.set_version_flag("--version", "cachet " + suite.version);
  app.require_subcommand(0, 1);  // none is our own message: an unknown word is then blamed before its absence
  app.footer(
      "Exit codes: 0 all hold, 1 a law fails, 2 usage or input, 3 the harness itself failed, 4 nothing was judged, 130 "
      "interrupted.\n"
      "Example: cachet check eager static_cache");
  std::vector<Command> commands;
  for (auto* make :
       {check_command, replay_command, shrink_command, merge_command, zoo_command, serve_command, list_command, export_command})
    commands.push_back(make(app, suite));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return end_of_parse(app, error);
  }
  for (const Command& command : commands)
    if (command.app->parsed()) return command.run();
  return complain(kUsage, "a command is expected; see cachet --help");
}

}  // namespace

int run_command_line(int argc, const char* const* argv, const Suite& suite) {
  std::signal(SIGPIPE, SIG_IGN);  // a reader that went away is a failed write, found below
  int code = kHarness;
  try {
    code = run_named(argc, argv, suite);
  } catch (const std::exception& error) {  // bad_alloc and our own mistakes: never the backend's fault
    code = complain(kHarness, std::string("internal error: ") + error.what());
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) return complain(kHarness, "standard output cannot be written");
  return code;
}

}  // namespace cachet::cli
