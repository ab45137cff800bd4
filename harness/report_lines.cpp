// The report for scripts, and how shards come together: what a summary needs to be merged rides along in its last line.
#include <algorithm>
#include <set>
#include <sstream>

#include "harness/json.h"
#include "harness/reporters.h"
#include "harness/text.h"
#include "harness/words.h"

namespace cachet {

namespace {

std::string line(const Json& object) { return object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"; }

Json verdict_json(const Verdict& verdict) {
  Json object = {{"verdict", verdict_name(verdict)}};
  if (const Divergence* d = divergence_of(verdict))
    object["divergence"] = {
        {"kind", d->kind},         {"op", d->op},         {"run", d->run},  {"step", d->step}, {"expected", d->expected},
        {"observed", d->observed}, {"detail", d->detail}, {"twin", d->twin}};
  if (const auto* n = std::get_if<Nondeterministic>(&verdict)) object["reason"] = n->varied;
  if (const auto* u = std::get_if<UnexpectedPass>(&verdict)) object["reason"] = u->reason;
  return object;
}

/// A row of a failing signature. The keys of the contract first in meaning; the rest lets shards be merged.
Json finding_json(const CampaignResult& result, const Finding& finding) {
  const Case& minimal = minimal_case(finding);
  Json row = verdict_json(minimal_verdict(finding));
  row["event"] = "verdict";
  row["law"] = finding.signature.law;
  row["backend"] = result.subject;
  row["case"] = finding.case_number;
  row["seed"] = finding.seed;
  row["steps"] = minimal.trace.steps();
  row["file"] = finding.file;
  row["kind"] = finding.signature.kind;
  row["op"] = finding.signature.op;
  row["count"] = finding.count;
  row["minimal"] = print_case(minimal);
  row["found"] = print_case(finding.found);
  row["shrunk"] = finding.shrunk.has_value();
  if (finding.shrunk) {
    row["evaluations"] = finding.shrunk->evaluations;
    row["exhausted"] = finding.shrunk->exhausted;
  }
  return row;
}

/// Verdicts of a law that are neither passes nor failures: counted, since single ones would drown the rest.
void add_counted(const CampaignResult& result, std::vector<Json>& rows) {
  const auto row = [&](const std::string& law, const std::string& verdict, std::int64_t count) {
    return Json{{"event", "verdict"}, {"law", law},       {"backend", result.subject}, {"verdict", verdict}, {"case", nullptr},
                {"seed", nullptr},    {"steps", nullptr}, {"file", nullptr},           {"count", count}};
  };
  for (const auto& [law, tally] : result.laws)
    for (const auto& [verdict, count] : tally.verdicts) {
      if (verdict != "tie" && verdict != "vacuous" && verdict != "unsupported" && verdict != "waived" &&
          verdict != "harness_error")
        continue;
      rows.push_back(row(law, verdict, count));
      if (!tally.reasons.empty() && (verdict == "vacuous" || verdict == "unsupported")) rows.back()["reasons"] = tally.reasons;
    }
  for (const auto& [law, reason] : result.unsupported) {
    rows.push_back(row(law, "unsupported", 0));
    rows.back()["reason"] = reason;
  }
}

Json campaign_json(const CampaignResult& r) {
  Json laws = Json::object();
  for (const auto& [law, tally] : r.laws)
    laws[law] = {{"cases", tally.cases}, {"verdicts", tally.verdicts}, {"reasons", tally.reasons}};
  return {{"backend", r.subject},
          {"seed", r.seed},
          {"cases", r.cases},
          {"failures", r.failures},
          {"laws", laws},
          {"unsupported", r.unsupported},
          {"harness_errors", r.harness_errors},
          {"broken", r.broken},
          {"interrupted", r.interrupted},
          {"seconds", {{"total", r.seconds_total}, {"backend", r.seconds_backend}, {"reference", r.seconds_reference}}}};
}

std::int64_t sum_of(const std::vector<CampaignResult>& results, const std::string& verdict) {
  std::int64_t sum = 0;
  for (const CampaignResult& r : results)
    for (const auto& [law, tally] : r.laws)
      if (const auto found = tally.verdicts.find(verdict); found != tally.verdicts.end()) sum += found->second;
  return sum;
}

Json summary_json(const std::vector<CampaignResult>& results) {
  Json backends = Json::array(), campaigns = Json::array();
  std::set<std::string> laws;
  std::int64_t cases = 0, failures = 0, unsupported = 0;
  double total = 0, backend = 0, reference = 0;
  for (const CampaignResult& r : results) {
    backends.push_back(r.subject);
    campaigns.push_back(campaign_json(r));
    for (const auto& [law, tally] : r.laws) laws.insert(law);
    cases += r.cases;
    failures += r.failures;
    unsupported += static_cast<std::int64_t>(r.unsupported.size());
    total += r.seconds_total;
    backend += r.seconds_backend;
    reference += r.seconds_reference;
  }
  return {{"event", "summary"},
          {"backends", backends},
          {"laws", laws},
          {"cases", cases},
          {"failures", failures},
          {"ties", sum_of(results, "tie")},
          {"vacuous", sum_of(results, "vacuous")},
          {"unsupported", unsupported + sum_of(results, "unsupported")},
          {"seconds", {{"total", total}, {"backend", backend}, {"reference", reference}}},
          {"exit_code", exit_code(results)},
          {"campaigns", campaigns}};
}

/// Reads one field of a row or throws Json's own error, which read_lines turns into ours.
template <typename T>
T get(const Json& object, const char* key) {
  return object.at(key).get<T>();
}

Result<Verdict> verdict_from(const Json& row) {
  const auto name = get<std::string>(row, "verdict");
  if (name == "nondeterministic") return Verdict(Nondeterministic{row.value("reason", "")});
  if (name == "unexpected_pass") return Verdict(UnexpectedPass{row.value("reason", "")});
  const Json& d = row.at("divergence");
  Divergence divergence{get<std::string>(d, "kind"),   get<std::string>(d, "op"),       get<int>(d, "run"),
                        get<int>(d, "step"),           get<std::string>(d, "expected"), get<std::string>(d, "observed"),
                        get<std::string>(d, "detail"), get<std::string>(d, "twin")};
  if (name == "fail") return Verdict(Fail{divergence});
  if (name == "overclaim") return Verdict(Overclaim{divergence});
  if (name == "crash") return Verdict(Crash{divergence});
  if (name == "timeout") return Verdict(Timeout{divergence});
  return Error{"", 0, "verdict \"" + name + "\" has no case; expected a failing one"};
}

Result<Finding> finding_from(const Json& row) {
  Finding finding;
  finding.signature = {get<std::string>(row, "law"), get<std::string>(row, "kind"), get<std::string>(row, "op")};
  finding.case_number = get<std::int64_t>(row, "case");
  finding.seed = get<std::uint64_t>(row, "seed");
  finding.count = get<std::int64_t>(row, "count");
  finding.file = get<std::string>(row, "file");
  const Result<Verdict> verdict = verdict_from(row);
  if (!verdict) return verdict.error();
  finding.verdict = *verdict;
  Result<Case> found = parse_case(get<std::string>(row, "found"), "key found");
  if (!found) return found.error();
  Result<Case> minimal = parse_case(get<std::string>(row, "minimal"), "key minimal");
  if (!minimal) return minimal.error();
  finding.found = *found;
  if (get<bool>(row, "shrunk")) {
    ShrinkResult shrunk;
    shrunk.minimal = *minimal;
    shrunk.verdict = *verdict;
    shrunk.signature = finding.signature;
    shrunk.evaluations = get<long>(row, "evaluations");
    shrunk.exhausted = get<bool>(row, "exhausted");
    finding.shrunk = std::move(shrunk);
  }
  return finding;
}

CampaignResult campaign_from(const Json& object) {
  CampaignResult r;
  r.subject = get<std::string>(object, "backend");
  r.seed = get<std::uint64_t>(object, "seed");
  r.cases = get<std::int64_t>(object, "cases");
  r.failures = get<std::int64_t>(object, "failures");
  for (const auto& [law, tally] : object.at("laws").items())
    r.laws[law] = {get<std::int64_t>(tally, "cases"), get<std::map<std::string, std::int64_t>>(tally, "verdicts"),
                   get<std::map<std::string, std::int64_t>>(tally, "reasons")};
  r.unsupported = get<std::map<std::string, std::string>>(object, "unsupported");
  r.harness_errors = get<std::vector<std::string>>(object, "harness_errors");
  r.broken = get<std::string>(object, "broken");
  r.interrupted = get<bool>(object, "interrupted");
  const Json& seconds = object.at("seconds");
  r.seconds_total = get<double>(seconds, "total");
  r.seconds_backend = get<double>(seconds, "backend");
  r.seconds_reference = get<double>(seconds, "reference");
  return r;
}

/// One shard's file: its campaigns with their findings.
Result<std::vector<CampaignResult>> read_lines(const std::string& file, const std::string& text) {
  std::vector<CampaignResult> results;
  std::vector<std::pair<std::string, Finding>> findings;
  bool ended = false;
  int number = 0;
  std::istringstream in(text);
  for (std::string content; std::getline(in, content);) {
    ++number;
    if (content.empty()) continue;
    if (ended) return Error{file, number, "a line after the summary; expected the end of the file"};
    try {
      const Json object = Json::parse(content);
      const auto event = get<std::string>(object, "event");
      if (event == "summary") {
        for (const Json& campaign : object.at("campaigns")) results.push_back(campaign_from(campaign));
        ended = true;
      } else if (event == "verdict" && object.contains("minimal")) {
        Result<Finding> finding = finding_from(object);
        if (!finding) return Error{file, number, to_string(finding.error())};
        findings.emplace_back(get<std::string>(object, "backend"), std::move(*finding));
      } else if (event != "verdict") {
        return Error{file, number, "unknown event \"" + event + "\"; expected verdict or summary"};
      }
    } catch (const Json::exception& error) {
      return Error{file, number, std::string("not a line that check --jsonl writes: ") + error.what()};
    }
  }
  if (!ended) return Error{file, number, "the file ends without a summary; expected what check --jsonl writes"};
  for (auto& [backend, finding] : findings) {
    const auto result =
        std::find_if(results.begin(), results.end(), [&, &name = backend](const CampaignResult& r) { return r.subject == name; });
    if (result == results.end()) return Error{file, 0, "a finding of \"" + backend + "\", which the summary does not name"};
    result->findings.push_back(std::move(finding));
  }
  return results;
}

/// Lowest case of a signature wins, counts add; other minima of the same signature and case stay.
void merge_findings(std::vector<Finding>& into, std::vector<Finding> from) {
  std::map<Signature, std::pair<std::int64_t, std::int64_t>> lowest;  // case number, count
  const auto note = [&](const std::vector<Finding>& findings) {
    std::map<Signature, std::pair<std::int64_t, std::int64_t>> own;
    for (const Finding& f : findings) {
      auto& [number, count] = own.try_emplace(f.signature, f.case_number, f.count).first->second;
      number = std::min(number, f.case_number);
    }
    for (const auto& [signature, entry] : own) {
      const auto [at, fresh] = lowest.try_emplace(signature, entry);
      if (fresh) continue;
      at->second.first = std::min(at->second.first, entry.first);
      at->second.second += entry.second;
    }
  };
  note(into);
  note(from);
  std::vector<Finding> kept;
  for (std::vector<Finding>* side : {&into, &from})
    for (Finding& f : *side)
      if (f.case_number == lowest.at(f.signature).first) {
        f.count = lowest.at(f.signature).second;
        kept.push_back(std::move(f));
      }
  std::stable_sort(kept.begin(), kept.end(), [](const Finding& a, const Finding& b) {
    return std::tie(a.case_number, a.signature) < std::tie(b.case_number, b.signature);
  });
  into = std::move(kept);
}

void merge_result(CampaignResult& into, CampaignResult from) {
  into.cases += from.cases;
  into.failures += from.failures;
  for (const auto& [law, tally] : from.laws) {
    LawTally& sum = into.laws[law];
    sum.cases += tally.cases;
    for (const auto& [verdict, count] : tally.verdicts) sum.verdicts[verdict] += count;
    for (const auto& [reason, count] : tally.reasons) sum.reasons[reason] += count;
  }
  into.unsupported.insert(from.unsupported.begin(), from.unsupported.end());
  into.harness_errors.insert(into.harness_errors.end(), from.harness_errors.begin(), from.harness_errors.end());
  if (into.broken.empty()) into.broken = from.broken;
  into.interrupted = into.interrupted || from.interrupted;
  into.seconds_total += from.seconds_total;
  into.seconds_backend += from.seconds_backend;
  into.seconds_reference += from.seconds_reference;
  merge_findings(into.findings, std::move(from.findings));
}

}  // namespace

std::string lines_report(const std::vector<CampaignResult>& results) {
  std::vector<Json> rows;
  for (const CampaignResult& result : results) {
    for (const Finding& finding : result.findings) rows.push_back(finding_json(result, finding));
    add_counted(result, rows);
  }
  const auto key = [](const Json& row) {
    return std::make_tuple(get<std::string>(row, "backend"), get<std::string>(row, "law"), get<std::string>(row, "verdict"),
                           row.at("case").is_null() ? -1 : get<std::int64_t>(row, "case"));
  };
  std::stable_sort(rows.begin(), rows.end(), [&](const Json& a, const Json& b) { return key(a) < key(b); });
  std::string text;
  for (const Json& row : rows) text += line(row);
  return text + line(summary_json(results));
}

Result<std::vector<CampaignResult>> merge_lines(const std::vector<std::pair<std::string, std::string>>& files) {
  std::vector<CampaignResult> merged;
  for (const auto& [file, text] : files) {
    Result<std::vector<CampaignResult>> results = read_lines(file, text);
    if (!results) return results.error();
    for (CampaignResult& result : *results) {
      const auto same =
          std::find_if(merged.begin(), merged.end(), [&](const CampaignResult& r) { return r.subject == result.subject; });
      if (same == merged.end()) {
        merged.push_back(std::move(result));
      } else if (same->seed != result.seed) {
        return Error{file, 0,
                     "\"" + result.subject + "\" was run with seed " + std::to_string(result.seed) + ", other files with " +
                         std::to_string(same->seed)};
      } else {
        merge_result(*same, std::move(result));
      }
    }
  }
  return merged;
}

}  // namespace cachet
