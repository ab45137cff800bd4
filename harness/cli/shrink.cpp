// `cachet shrink`: reduces a failing case to its normal form and writes that.
#include <fmt/core.h>

#include <memory>

#include "harness/cli/commands.h"
#include "harness/cli/common.h"
#include "harness/cli/subject.h"
#include "harness/files.h"
#include "harness/reporters.h"
#include "harness/shrinker.h"
#include "harness/text.h"

namespace cachet::cli {

namespace {

struct ShrinkFlags {
  std::string file, backend, out;
  ShrinkOptions options;
  Deadlines deadlines;
};

std::string default_output(const std::string& file) {
  const std::size_t dot = file.rfind('.');
  const std::size_t slash = file.rfind('/');
  const bool has_extension = dot != std::string::npos && (slash == std::string::npos || dot > slash + 1);
  return (has_extension ? file.substr(0, dot) : file) + ".min.case";
}

int run_shrink(const ShrinkFlags& flags, const Suite& suite) {
  Result<Case> value = read_case(flags.file);
  if (!value) return complain(value.error());
  if (find_law(suite.laws, value->law) == nullptr)
    return complain(kUsage, flags.file + ": no law is called \"" + value->law + "\"; see cachet list laws");
  const Result<Subject> subject = subject_of_case(*value, flags.backend, suite, flags.deadlines);
  if (!subject) return complain(Error{flags.file, 0, to_string(subject.error())});
  const Result<std::unique_ptr<Judge>> judge = Judge::make(subject->make, subject->configuration, suite.laws);
  if (!judge) return complain(judge.error());
  value->backend = subject->name;
  const Verdict verdict = (*judge)->replay(*value);
  if (!is_failure(verdict)) {
    print(fmt::format("{}  {} on {}: there is nothing to shrink\n", verdict_name(verdict), value->law, subject->name));
    const bool judged = std::holds_alternative<Pass>(verdict) || std::holds_alternative<Tie>(verdict);
    return std::holds_alternative<HarnessError>(verdict) ? kHarness : judged ? kHolds : kNothingJudged;
  }
  Finding finding;
  finding.found = *value;
  finding.verdict = verdict;
  finding.signature = signature_of(value->law, verdict);
  finding.count = 1;
  finding.shrunk = shrink(*value, **judge, suite.laws, subject->configuration, flags.options);
  finding.file = flags.out.empty() ? default_output(flags.file) : flags.out;
  std::optional<Error> error = write_file(finding.file, print_case(finding.shrunk->minimal));
  if (error) finding.file.clear();
  print(terminal_finding(finding, suite.laws, colours(), replay_prefix(suite, flags.deadlines)));
  return error ? complain(kHarness, to_string(*error)) : static_cast<int>(kFails);
}

}  // namespace

Command shrink_command(CLI::App& app, const Suite& suite) {
  auto flags = std::make_shared<ShrinkFlags>();
  CLI::App* shrink = app.add_subcommand("shrink", "Reduce a failing case and write the minimal one: exit code 1 when it fails");
  shrink->footer("Example: cachet shrink found.case --out minimal.case");
  add_case_flags(*shrink, flags->file, flags->backend);
  shrink->add_option("--out", flags->out, "Write the minimal case there (FILE with .min.case for its extension)")
      ->type_name("FILE");
  shrink->add_option("--budget", flags->options.budget, "Evaluations at most")
      ->check(CLI::Range(1L, 100'000'000L))
      ->capture_default_str()
      ->type_name("N");
  add_timeout(*shrink, flags->deadlines);
  return {shrink, [flags, &suite] { return run_shrink(*flags, suite); }};
}

}  // namespace cachet::cli
