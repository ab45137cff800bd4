// `cachet replay`: judges one case or certificate again, in fresh lives.
#include <memory>

#include "harness/cli/commands.h"
#include "harness/cli/common.h"
#include "harness/cli/subject.h"
#include "harness/json.h"
#include "harness/reporters.h"
#include "harness/text.h"
#include "harness/words.h"

namespace cachet::cli {

namespace {

struct ReplayFlags {
  std::string file, backend;
  Deadlines deadlines;
  bool json = false;
};

/// Why a verdict is neither a pass nor a failure.
std::string reason_of(const Verdict& verdict) {
  if (const auto* v = std::get_if<Tie>(&verdict)) return v->where;
  if (const auto* v = std::get_if<Vacuous>(&verdict)) return v->reason;
  if (const auto* v = std::get_if<Unsupported>(&verdict)) return v->reason;
  if (const auto* v = std::get_if<HarnessError>(&verdict)) return v->message;
  if (const auto* v = std::get_if<Nondeterministic>(&verdict)) return v->varied;
  return "";
}

int code_of(const Verdict& verdict) {
  if (is_failure(verdict)) return kFails;
  if (std::holds_alternative<HarnessError>(verdict)) return kHarness;
  const bool judged = std::holds_alternative<Pass>(verdict) || std::holds_alternative<Tie>(verdict);
  return judged ? kHolds : kNothingJudged;
}

int run_replay(const ReplayFlags& flags, const Suite& suite) {
  const Result<Case> value = read_case(flags.file);
  if (!value) return complain(value.error());
  if (find_law(suite.laws, value->law) == nullptr)
    return complain(kUsage, flags.file + ": no law is called \"" + value->law + "\"; see cachet list laws");
  const Result<Subject> subject = subject_of_case(*value, flags.backend, suite, flags.deadlines);
  if (!subject) return complain(Error{flags.file, 0, to_string(subject.error())});
  const Result<std::unique_ptr<Judge>> judge = Judge::make(subject->make, subject->configuration, suite.laws);
  if (!judge) return complain(judge.error());
  Finding finding;
  finding.found = *value;
  finding.found.backend = subject->name;
  finding.verdict = (*judge)->replay(finding.found);
  finding.signature = signature_of(value->law, finding.verdict);
  finding.count = 1;
  finding.file = flags.file;
  const Verdict& verdict = finding.verdict;
  if (flags.json) {
    const Divergence* d = divergence_of(verdict);
    Json object = {{"event", "verdict"},
                   {"law", value->law},
                   {"backend", subject->name},
                   {"verdict", verdict_name(verdict)},
                   {"steps", value->trace.steps()},
                   {"file", printable(flags.file)}};
    if (d != nullptr)
      object["divergence"] = {{"kind", d->kind},
                              {"op", d->op},
                              {"run", d->run},
                              {"step", d->step},
                              {"expected", printable(d->expected)},
                              {"observed", printable(d->observed)}};
    if (const std::string reason = reason_of(verdict); !reason.empty()) object["reason"] = printable(reason);
    print(object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
  } else if (is_failure(verdict)) {
    std::string command = replay_prefix(suite, flags.deadlines);
    if (!flags.backend.empty()) command += " --backend " + quote_word(flags.backend);
    print(terminal_finding(finding, suite.laws, colours(), command));
  } else {
    const std::string reason = reason_of(verdict);
    print(printable(std::string(verdict_name(verdict)) + "  " + value->law + " on " + subject->name +
                    (reason.empty() ? "" : ": " + reason)) +
          "\n");
  }
  return code_of(verdict);
}

}  // namespace

Command replay_command(CLI::App& app, const Suite& suite) {
  auto flags = std::make_shared<ReplayFlags>();
  CLI::App* replay = app.add_subcommand("replay", "Judge one case or certificate again: exit code 1 while it still fails");
  replay->footer("Example: cachet replay out/finding.case\n         cachet replay out/finding.case --backend static_cache");
  add_case_flags(*replay, flags->file, flags->backend);
  replay->add_flag("--json", flags->json, "Print the verdict as one JSON object");
  add_timeout(*replay, flags->deadlines);
  return {replay, [flags, &suite] { return run_replay(*flags, suite); }};
}

}  // namespace cachet::cli
