// The report for people: first what held and what was not judged, then each finding as one block that stands alone.
#include <fmt/core.h>

#include <algorithm>

#include "harness/reporters.h"
#include "harness/text.h"
#include "harness/words.h"

namespace cachet {

const Case& minimal_case(const Finding& finding) { return finding.shrunk ? finding.shrunk->minimal : finding.found; }

const Verdict& minimal_verdict(const Finding& finding) {
  const bool stands = finding.shrunk && !std::holds_alternative<Nondeterministic>(finding.verdict);
  return stands ? finding.shrunk->verdict : finding.verdict;
}

namespace {

struct Paint {
  bool on;
  std::string operator()(const char* code, const std::string& text) const {
    return on ? fmt::format("\033[{}m{}\033[0m", code, text) : text;
  }
  std::string red(const std::string& text) const { return (*this)("1;31", text); }
  std::string green(const std::string& text) const { return (*this)("32", text); }
  std::string yellow(const std::string& text) const { return (*this)("33", text); }
  std::string bold(const std::string& text) const { return (*this)("1", text); }
};

std::int64_t count_of(const LawTally& tally, const std::string& verdict) {
  const auto found = tally.verdicts.find(verdict);
  return found == tally.verdicts.end() ? 0 : found->second;
}

std::int64_t failures_of(const LawTally& tally) {
  std::int64_t sum = 0;
  for (const char* name : {"fail", "overclaim", "nondeterministic", "crash", "timeout", "unexpected_pass"})
    sum += count_of(tally, name);
  return sum;
}

/// The name of a field, then its text with every line under the first.
std::string field(const std::string& name, const std::string& text) {
  constexpr std::size_t kColumn = 12;
  std::string out = "  " + name + std::string(name.size() < kColumn - 2 ? kColumn - 2 - name.size() : 1, ' ');
  for (const char c : printable(text)) {
    out += c;
    if (c == '\n') out += std::string(kColumn, ' ');
  }
  while (!out.empty() && (out.back() == ' ' || out.back() == '\n')) out.pop_back();
  return out + "\n";
}

/// The lines of a case after its header: what a reader looks at.
std::string trace_text(const Case& value) {
  std::string text = print_trace(value.trace);
  if (!value.vary.empty()) {
    std::string vary = "vary    ";
    for (const std::int64_t v : value.vary) vary += fmt::format(" {}", v);
    text = vary + "\n" + text;
  }
  return text;
}

std::string size_of(const Finding& finding) {
  const Case& minimal = minimal_case(finding);
  std::string text = fmt::format("{} step{}", minimal.trace.steps(), minimal.trace.steps() == 1 ? "" : "s");
  if (minimal.trace.runs() > 1) text += fmt::format(" in {} runs", minimal.trace.runs());
  if (!finding.shrunk) return text + ", not shrunk";
  text += fmt::format(", shrunk from {} in {} evaluations", finding.found.trace.steps(), finding.shrunk->evaluations);
  return finding.shrunk->exhausted ? text + " (budget exhausted: a smaller case may exist)" : text;
}

std::string place_of(const Divergence& d, const Case& value) {
  std::string text = fmt::format("step {} of run {}", d.step + 1, d.run + 1);
  const std::vector<int> runs = value.trace.run_indices();
  if (d.run < 0 || d.run >= static_cast<int>(runs.size())) return text;
  const auto& steps = std::get<Run>(value.trace.events[static_cast<std::size_t>(runs[static_cast<std::size_t>(d.run)])]).steps;
  if (d.step >= 0 && d.step < static_cast<int>(steps.size())) text += ": " + print_step(steps[static_cast<std::size_t>(d.step)]);
  return text;
}

std::string law_line(const LawTally& tally, const std::string& name, const Paint& paint) {
  const std::int64_t pass = count_of(tally, "pass"), tie = count_of(tally, "tie"), fail = failures_of(tally);
  const bool judged = pass + tie + fail > 0;
  std::string mark = fail > 0 ? paint.red("FAIL") : judged ? paint.green("ok  ") : paint.yellow("none");
  if (count_of(tally, "harness_error") > 0) mark = paint.red("ERR ");
  return fmt::format("  {}  {:32} {:>8} {:>7} {:>5} {:>8} {:>12} {:>7}\n", mark, name, pass, fail, tie,
                     count_of(tally, "vacuous"), count_of(tally, "unsupported"), count_of(tally, "waived"));
}

std::string subject_report(const CampaignResult& result, const std::vector<Property>& laws, const Paint& paint) {
  std::string text = paint.bold(printable(result.subject)) +
                     fmt::format(": {} cases, seed {}, {:.1f} s ({:.1f} backend, {:.1f} reference)\n", result.cases, result.seed,
                                 result.seconds_total, result.seconds_backend, result.seconds_reference);
  if (!result.broken.empty()) text += "  " + paint.red("not judged: ") + printable(result.broken) + "\n";
  text += fmt::format("        {:32} {:>8} {:>7} {:>5} {:>8} {:>12} {:>7}\n", "law", "pass", "fail", "tie", "vacuous",
                      "unsupported", "waived");
  for (const Property& law : laws)
    if (const auto found = result.laws.find(law.name); found != result.laws.end())
      text += law_line(found->second, law.name, paint);
  for (const auto& [law, tally] : result.laws)
    if (find_law(laws, law) == nullptr) text += law_line(tally, law, paint);
  for (const auto& [law, reason] : result.unsupported)
    text += fmt::format("  {}  {:32} unsupported: {}\n", paint.yellow("none"), law, printable(reason));
  for (const auto& [law, tally] : result.laws)
    for (const auto& [reason, count] : tally.reasons) text += fmt::format("        {}: {} x {}\n", law, count, printable(reason));
  for (const std::string& error : result.harness_errors) text += "  " + paint.red("harness error: ") + printable(error) + "\n";
  return text;
}

std::string closing_line(const std::vector<CampaignResult>& results, const Paint& paint) {
  std::int64_t cases = 0, failures = 0;
  std::size_t findings = 0, errors = 0;
  bool interrupted = false, broken = false;
  for (const CampaignResult& r : results) {
    cases += r.cases;
    failures += r.failures;
    findings += r.findings.size();
    errors += r.harness_errors.size();
    interrupted = interrupted || r.interrupted;
    broken = broken || !r.broken.empty();
  }
  std::string text = fmt::format("{} subject{}, {} cases: ", results.size(), results.size() == 1 ? "" : "s", cases);
  if (findings > 0)
    text += paint.red(fmt::format("{} finding{} in {} failing cases", findings, findings == 1 ? "" : "s", failures));
  else if (failures > 0)
    text += paint.red(fmt::format("{} failing cases", failures));
  else if (exit_code(results) == 4)
    text += paint.yellow("nothing was judged");
  else
    text += broken || errors > 0 ? paint.yellow("no law failed") : paint.green("every law that was judged holds");
  if (errors > 0) text += paint.red(fmt::format(", {} harness error{}", errors, errors == 1 ? "" : "s"));
  if (interrupted) text += paint.yellow(", interrupted");
  return text + "\n";
}

}  // namespace

std::string terminal_finding(const Finding& finding, const std::vector<Property>& laws, bool color, const std::string& replay) {
  const Paint paint{color};
  const Case& minimal = minimal_case(finding);
  const Verdict& verdict = minimal_verdict(finding);
  std::string name = verdict_name(verdict);
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  std::string text = paint.red(name) + "  " + paint.bold(printable(finding.signature.law + " on " + minimal.backend)) + "\n";
  if (const Property* law = find_law(laws, finding.signature.law)) text += field("claim", law->claim);
  text += field("minimal", size_of(finding));
  text += field("", trace_text(minimal));
  if (const Divergence* d = divergence_of(verdict)) {
    text += field("at", place_of(*d, minimal));
    text += field("kind", d->kind);
    text += field("expected", d->expected);
    text += field("observed", d->observed);
    if (!d->detail.empty()) text += field("because", d->detail);
    if (!d->twin.empty()) text += field("twin", d->twin);
  } else if (const auto* n = std::get_if<Nondeterministic>(&verdict)) {
    text += field("varied", n->varied);
  }
  if (finding.count > 1)
    text += field("seen",
                  fmt::format("in {} cases; the lowest is case {}, seed {}", finding.count, finding.case_number, finding.seed));
  if (finding.shrunk)
    for (const auto& [signature, other] : finding.shrunk->slipped)
      text += field("also met", to_string(signature) + " while shrinking");
  if (finding.file.empty()) return text + field("replay", "write the lines above to a file; it could not be written here");
  return text + field("replay", replay + " " + quote_word(finding.file));
}

std::string terminal_report(const std::vector<CampaignResult>& results, const std::vector<Property>& laws, bool color,
                            const std::string& replay) {
  const Paint paint{color};
  std::string text;
  for (const CampaignResult& result : results) {
    text += subject_report(result, laws, paint) + "\n";
    for (const Finding& finding : result.findings) text += terminal_finding(finding, laws, color, replay) + "\n";
  }
  return text + closing_line(results, paint);
}

int exit_code(const std::vector<CampaignResult>& results) {
  std::int64_t failures = 0, judged = 0;
  bool harness_error = false, broken = false, interrupted = false;
  for (const CampaignResult& r : results) {
    failures += r.failures + static_cast<std::int64_t>(r.findings.size());
    harness_error = harness_error || !r.harness_errors.empty();
    broken = broken || !r.broken.empty();
    interrupted = interrupted || r.interrupted;
    for (const auto& [law, tally] : r.laws) {
      judged += count_of(tally, "pass") + count_of(tally, "tie") + count_of(tally, "waived");
      harness_error = harness_error || count_of(tally, "harness_error") > 0;
    }
  }
  if (interrupted) return 130;
  if (failures > 0) return 1;
  if (harness_error) return 3;
  if (broken) return 2;
  return judged == 0 ? 4 : 0;
}

}  // namespace cachet
