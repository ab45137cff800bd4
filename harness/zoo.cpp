// Campaigns on planted bugs, one a seed, and what their findings say together.
#include "harness/zoo.h"

#include <algorithm>
#include <set>

#include "harness/text.h"

namespace cachet {
namespace {

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

/// The minimal case as text with the subject left out, so that minima of different subjects compare.
std::string minimum_of(const Finding& finding) {
  Case minimal = finding.shrunk ? finding.shrunk->minimal : finding.found;
  minimal.backend = "-";
  minimal.notes.clear();
  return print_case(minimal);
}

CampaignOptions campaign_options(const ZooOptions& options, std::uint64_t seed, std::vector<std::string> until) {
  CampaignOptions out;
  out.seed = seed;
  out.cases = options.cases;
  out.jobs = options.jobs;
  out.until = std::move(until);
  return out;
}

}  // namespace

ZooRow run_zoo_entry(const ZooEntry& entry, const std::vector<Property>& laws, const ZooOptions& options) {
  ZooRow row;
  row.defect = entry.name;
  row.host = entry.host;
  row.seeds = options.seeds;
  row.known_steps = entry.known_steps;
  std::set<std::string> caught_by;
  std::vector<double> cases, evaluations;
  std::map<Signature, std::set<std::string>> minima;
  for (int seed = 1; seed <= options.seeds; ++seed) {
    const CampaignResult result =
        run_campaign(entry.subject, laws, campaign_options(options, static_cast<std::uint64_t>(seed), entry.laws));
    for (const std::string& error : result.harness_errors)
      row.missed.push_back("harness error by seed " + std::to_string(seed) + ": " + error);
    if (!result.broken.empty()) row.missed.push_back(result.broken);
    bool all = true;
    for (const std::string& law : entry.laws) {
      if (std::any_of(result.findings.begin(), result.findings.end(),
                      [&](const Finding& f) { return f.signature.law == law && f.shrunk; }))
        continue;
      all = false;
      row.missed.push_back(law + " by seed " + std::to_string(seed));
    }
    row.found += all;
    if (!result.findings.empty()) cases.push_back(static_cast<double>(result.findings.front().case_number + 1));
    std::map<std::string, int> fewest;  // by law: it may show at several kinds of calls
    for (const Finding& finding : result.findings) {
      if (!finding.shrunk || !is_failure(finding.verdict) || std::holds_alternative<Nondeterministic>(finding.verdict)) {
        row.missed.push_back(to_string(finding.signature) + " nondeterministic by seed " + std::to_string(seed));
        continue;
      }
      caught_by.insert(finding.signature.law);
      minima[finding.signature].insert(minimum_of(finding));
      evaluations.push_back(static_cast<double>(finding.shrunk->evaluations));
      row.slippage += signature_of(finding.shrunk->minimal.law, finding.shrunk->verdict) != finding.signature;
      const int steps = finding.shrunk->minimal.trace.steps();
      const auto [shortest, first] = fewest.emplace(finding.signature.law, steps);
      if (!first) shortest->second = std::min(shortest->second, steps);
    }
    for (const std::string& law : entry.laws)
      if (fewest.count(law) > 0) row.steps = std::max(row.steps, fewest[law]);
  }
  row.caught_by.assign(caught_by.begin(), caught_by.end());
  row.median_cases = median(cases);
  row.median_evaluations = median(evaluations);
  for (const auto& [signature, distinct] : minima) {
    row.minima = std::max(row.minima, static_cast<int>(distinct.size()));
    row.minimal[to_string(signature)].assign(distinct.begin(), distinct.end());
  }
  return row;
}

PairRow run_zoo_pair(const ZooEntry& first, const ZooEntry& second, const Subject& both, const std::vector<Property>& laws,
                     const ZooOptions& options) {
  constexpr int kPerSignature = 6;  // one defect may hide behind the other's signature
  const auto minima = [&](const Subject& subject, std::vector<std::string> until, int per_signature) {
    CampaignOptions campaign = campaign_options(options, 1, std::move(until));
    campaign.per_signature = per_signature;
    std::map<std::string, Signature> out;
    for (const Finding& finding : run_campaign(subject, laws, campaign).findings)
      out.emplace(minimum_of(finding), finding.signature);
    return out;
  };
  std::vector<std::string> until = first.laws;
  until.insert(until.end(), second.laws.begin(), second.laws.end());
  const auto alone_first = minima(first.subject, first.laws, kPerSignature);
  const auto alone_second = minima(second.subject, second.laws, kPerSignature);
  const auto together = minima(both, until, kPerSignature);
  PairRow row{first.name, second.name, first.host, false, true, ""};
  const auto met = [&](const std::map<std::string, Signature>& alone) {
    return std::any_of(together.begin(), together.end(), [&](const auto& m) { return alone.count(m.first) > 0; });
  };
  row.both_found = met(alone_first) && met(alone_second);
  if (!row.both_found) row.note = std::string(met(alone_first) ? second.name : first.name) + " is hidden";
  for (const auto& [text, signature] : together) {
    if (alone_first.count(text) > 0 || alone_second.count(text) > 0) continue;
    row.same_minima = false;
    row.note += (row.note.empty() ? "" : "; ") + to_string(signature) + " ends elsewhere than alone";
  }
  return row;
}

}  // namespace cachet
