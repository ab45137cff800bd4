// Results of campaigns made by hand, for the tests of reporters.
#pragma once

#include "harness/campaign.h"

namespace cachet::testing {

inline const char* const kSubject = "static_cache+stale_length";

inline Case case_of(const std::string& law, int prompts) {
  Case value;
  value.law = law;
  value.backend = kSubject;
  ModelSpec spec;
  Run run{"m", {}};
  for (int i = 0; i < prompts; ++i) run.steps.push_back(Complete{{{3, 1}}, std::nullopt, Loop{}});
  value.trace.events = {Load{"m", spec}, run};
  return value;
}

/// A failure of `law`, found with four calls and shrunk to two.
inline Finding finding_of(const std::string& law, std::int64_t number) {
  Finding finding;
  finding.signature = {law, "empty_slice", "complete"};
  finding.case_number = number;
  finding.seed = 18000000000000000000ULL;
  finding.count = 7;
  finding.found = case_of(law, 4);
  Divergence divergence{"empty_slice", "complete", 0, 1, "a nonempty slice", "tokens []", "no tolerance", ""};
  finding.verdict = Fail{divergence};
  ShrinkResult shrunk;
  shrunk.minimal = case_of(law, 2);
  shrunk.verdict = Fail{divergence};
  shrunk.signature = finding.signature;
  shrunk.evaluations = 31;
  shrunk.neighbours = {{"drop steps", "pass", "cachet case 1\n"}};
  finding.shrunk = shrunk;
  finding.file = "out/a finding.case";
  return finding;
}

inline CampaignResult result_of(const std::string& subject) {
  CampaignResult result;
  result.subject = subject;
  result.seed = 5;
  result.cases = 100;
  result.laws["repeat_call"] = {60, {{"pass", 50}, {"vacuous", 10}}, {{"no second call", 10}}};
  result.laws["crop_forgets"] = {40, {{"pass", 38}, {"tie", 2}}, {}};
  result.unsupported["save_restores"] = "needs save";
  return result;
}

/// The same with seven failing cases of tail_slice_is_exact, the lowest of which is `number`.
inline CampaignResult failing_result(std::int64_t number) {
  CampaignResult result = result_of(kSubject);
  result.failures = 7;
  result.laws["tail_slice_is_exact"] = {0, {{"pass", 93}, {"fail", 7}}, {}};
  result.findings = {finding_of("tail_slice_is_exact", number)};
  return result;
}

inline std::vector<Property> laws() {
  std::vector<Property> laws(4);
  laws[0].name = "tail_slice_is_exact";
  laws[0].claim = "Each step feeds exactly what was not cached.";
  laws[1].name = "repeat_call";
  laws[1].claim = "A call's result does not depend on the calls before it.";
  laws[2].name = "crop_forgets";
  laws[3].name = "save_restores";
  return laws;
}

}  // namespace cachet::testing
