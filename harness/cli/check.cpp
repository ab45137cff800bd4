// `cachet check`: a campaign on each subject, its findings as case files, and the reports.
#include <fmt/core.h>

#include <cmath>
#include <memory>

#include "harness/cli/commands.h"
#include "harness/cli/common.h"
#include "harness/cli/interrupt.h"
#include "harness/cli/progress.h"
#include "harness/cli/subject.h"
#include "harness/reporters.h"
#include "harness/words.h"

namespace cachet::cli {

namespace {

/// Where `--seconds` alone ends a campaign: more cases than fit into any time given.
constexpr std::int64_t kManyCases = 10'000'000;

struct CheckFlags {
  std::vector<std::string> backends, laws, models;
  std::int64_t cases = 0;  ///< 0: not given
  double seconds = 0;      ///< 0: not given
  std::uint64_t seed = 1;
  int jobs = 1;
  std::string shard, out = "out";
  Deadlines deadlines;
  ReportFiles files;
  bool progress = false, no_shrink = false, out_given = false;
};

std::optional<Error> read_shard(const std::string& text, CampaignOptions& options) {
  if (text.empty()) return std::nullopt;
  int shard = 0, shards = 0, end = 0;
  const bool read = std::sscanf(text.c_str(), "%6d/%6d%n", &shard, &shards, &end) == 2 && end == static_cast<int>(text.size());
  if (!read || text.find_first_not_of("0123456789/") != std::string::npos || shards < 1 || shard >= shards)
    return Error{"--shard", 0, "\"" + text + "\" is no shard; expected I/N with 0 <= I < N, such as 0/2 and 1/2"};
  options.shard = shard;
  options.shards = shards;
  return std::nullopt;
}

Result<CampaignOptions> read_options(const CheckFlags& flags, const Suite& suite) {
  CampaignOptions options;
  options.seed = flags.seed;
  options.jobs = flags.jobs;
  options.laws = flags.laws;
  options.shrink_findings = !flags.no_shrink;
  if (flags.seconds > 0) {
    options.seconds = flags.seconds;
    options.cases = kManyCases;
  }
  if (flags.cases > 0) options.cases = flags.cases;
  if (auto error = read_shard(flags.shard, options)) return *error;
  if (auto error = check_laws(flags.laws, suite.laws)) return *error;
  for (const std::string& text : flags.models) {
    Result<ModelSpec> spec = read_model(text);
    if (!spec) return spec.error();
    options.models.push_back(*spec);
  }
  return options;
}

Result<std::vector<Subject>> read_subjects(const CheckFlags& flags, const Suite& suite) {
  std::vector<Subject> subjects;
  for (const std::string& text : flags.backends)  // all names before any process starts
    if (const Result<SubjectName> name = parse_subject(text); !name) return name.error();
  for (const std::string& text : flags.backends) {
    Result<std::vector<Subject>> found = resolve_subject(text, suite, flags.deadlines);
    if (!found) return found.error();
    for (Subject& subject : *found) {
      for (const Subject& other : subjects)
        if (other.name == subject.name) return Error{"", 0, "\"" + subject.name + "\" is named twice"};
      subjects.push_back(std::move(subject));
    }
  }
  return subjects;
}

int run_check(const CheckFlags& flags, const Suite& suite) {
  const Result<CampaignOptions> options = read_options(flags, suite);
  if (!options) return complain(options.error());
  if (flags.out_given)
    if (auto error = prepare_directory(flags.out)) return complain(*error);
  const Result<std::vector<Subject>> subjects = read_subjects(flags, suite);
  if (!subjects) return complain(subjects.error());

  const std::atomic<bool>& stop = watch_interrupts();
  std::vector<CampaignResult> results;
  {
    ProgressLine line(flags.progress);
    for (const Subject& subject : *subjects) {
      if (stop) break;
      results.push_back(run_campaign(
          subject, suite.laws, *options, [&](const Progress& p) { line.show(p); }, &stop));
    }
  }
  std::vector<Error> errors = write_findings(results, flags.out, suite.version);
  const std::string replay = replay_prefix(suite, flags.deadlines);
  print(terminal_report(results, suite.laws, colours(), replay));
  for (Error& error : write_reports(results, suite, flags.files, replay)) errors.push_back(std::move(error));
  for (const Error& error : errors) complain(kHarness, to_string(error));
  if (stop) return kInterrupted;
  return errors.empty() ? exit_code(results) : static_cast<int>(kHarness);
}

}  // namespace

Command check_command(CLI::App& app, const Suite& suite) {
  auto flags = std::make_shared<CheckFlags>();
  CLI::App* check = app.add_subcommand("check", "Judge backends by the laws");
  check->footer(
      "Example: cachet check eager static_cache --cases 2000 --jobs 2 --junit report.xml\n"
      "         cachet check 'process:python3 adapter.py/static' --law repeat_call");
  check->add_option("BACKEND", flags->backends, "NAME, NAME+DEFECT, NAME/CONFIGURATION or 'process:COMMAND LINE[/CONFIGURATION]'")
      ->required();
  check->add_option("--law", flags->laws, "Only this law; repeatable")->allow_extra_args(false)->type_name("LAW");
  check->add_option("--cases", flags->cases, "Cases a subject (2000, unless --seconds is given)")
      ->check(CLI::Range(std::int64_t{1}, kManyCases))
      ->type_name("N");
  check->add_option("--seconds", flags->seconds, "Begin no chunk of cases after that time, a subject")
      ->check(seconds_between(0.001, 1e8))
      ->type_name("T");
  check->add_option("--seed", flags->seed, "Seed of the campaign")
      ->check(whole_number_64())
      ->capture_default_str()
      ->type_name("S");
  check->add_option("--jobs", flags->jobs, "Threads; findings do not depend on them")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str()
      ->type_name("J");
  check->add_option("--shard", flags->shard, "Run part I of N, counted from 0; see merge")->type_name("I/N");
  add_timeout(*check, flags->deadlines);
  check->add_option("--model", flags->models, "'FAMILY key=value...' or a directory; repeatable; generated where none is given")
      ->allow_extra_args(false)
      ->type_name("MODEL");
  CLI::Option* out = check->add_option("--out", flags->out, "Write failing cases and certificates there")
                         ->capture_default_str()
                         ->type_name("DIR");
  add_report_files(*check, flags->files);
  check->add_flag("--no-shrink", flags->no_shrink, "Report failing cases as they were generated");
  check->add_flag("--progress", flags->progress, "Show progress where standard error is no terminal too");
  return {check, [flags, out, &suite] {
            flags->out_given = out->count() > 0;
            return run_check(*flags, suite);
          }};
}

}  // namespace cachet::cli
