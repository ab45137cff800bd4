// What several commands share: exit codes, messages, checked flags, and where findings and reports go.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "harness/cli/suite.h"

namespace cachet::cli {

/// DESIGN.md, section 5.
enum ExitCode { kHolds = 0, kFails = 1, kUsage = 2, kHarness = 3, kNothingJudged = 4, kInterrupted = 130 };

/// "cachet: MESSAGE" on standard error; returns the code, so that a command can end with it.
int complain(ExitCode code, const std::string& message);
int complain(const Error& error);  ///< bad input: kUsage

/// Text on standard output, as it stands.
void print(const std::string& text);

/// What CLI11's own checks let through: NaN as a time, a negative seed that wraps, one beyond 64 bits.
CLI::Validator seconds_between(double least, double most);
CLI::Validator whole_number_64();

/// Adds FILE and `--backend` of the commands that judge one case again.
void add_case_flags(CLI::App& app, std::string& file, std::string& backend);

/// Adds `--timeout`; the deadlines outlive the parser.
void add_timeout(CLI::App& app, Deadlines& deadlines);
/// The command that replays a file put behind it, on the same deadlines.
std::string replay_prefix(const Suite& suite, const Deadlines& deadlines);

/// The laws named, in their order; an unknown one is an error that lists them all.
std::optional<Error> check_laws(const std::vector<std::string>& names, const std::vector<Property>& laws);

/// A model spec as text, or a directory in the Hugging Face layout, whose path becomes absolute.
Result<ModelSpec> read_model(const std::string& text);

/// Creates the directory and proves that files can be written there.
std::optional<Error> prepare_directory(const std::string& directory);

/// Writes each finding as DIR/*.case with its certificate beside it and notes the file in it. What cannot be written is said.
std::vector<Error> write_findings(std::vector<CampaignResult>& results, const std::string& directory, const std::string& version);

/// Files that reports go to; empty: none.
struct ReportFiles {
  std::string junit, jsonl;
};
void add_report_files(CLI::App& app, ReportFiles& files);
std::vector<Error> write_reports(const std::vector<CampaignResult>& results, const Suite& suite, const ReportFiles& files,
                                 const std::string& replay);

std::string read_text(const std::string& path, std::optional<Error>& error);

/// Is standard output a terminal that takes colours?
bool colours();

}  // namespace cachet::cli
