// `cachet merge`: one summary from the files that shards wrote.
#include <memory>

#include "harness/cli/commands.h"
#include "harness/cli/common.h"
#include "harness/reporters.h"

namespace cachet::cli {

namespace {

struct MergeFlags {
  std::vector<std::string> files;
  ReportFiles reports;
};

int run_merge(const MergeFlags& flags, const Suite& suite) {
  std::vector<std::pair<std::string, std::string>> texts;
  for (const std::string& file : flags.files) {
    std::optional<Error> error;
    texts.emplace_back(file, read_text(file, error));
    if (error) return complain(*error);
  }
  const Result<std::vector<CampaignResult>> results = merge_lines(texts);
  if (!results) return complain(results.error());
  const std::string replay = replay_prefix(suite, {});
  print(terminal_report(*results, suite.laws, colours(), replay));
  const std::vector<Error> errors = write_reports(*results, suite, flags.reports, replay);
  for (const Error& error : errors) complain(kHarness, to_string(error));
  return errors.empty() ? exit_code(*results) : static_cast<int>(kHarness);
}

}  // namespace

Command merge_command(CLI::App& app, const Suite& suite) {
  auto flags = std::make_shared<MergeFlags>();
  CLI::App* merge =
      app.add_subcommand("merge", "One summary from the JSON Lines of all shards; exit code as if it were one campaign");
  merge->footer("Example: cachet merge shard0.jsonl shard1.jsonl --junit report.xml");
  merge->add_option("JSONL", flags->files, "What `check --jsonl` wrote, a file a shard")->required();
  add_report_files(*merge, flags->reports);
  return {merge, [flags, &suite] { return run_merge(*flags, suite); }};
}

}  // namespace cachet::cli
