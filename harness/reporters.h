// Reports of campaigns: text for people, JUnit for CI servers, JSON Lines for scripts and for merging shards.
#pragma once

#include <string>
#include <vector>

#include "harness/campaign.h"

namespace cachet {

/// What is printed at the end of `check`: for each subject the laws with their counts, then each finding with claim, minimal
/// trace, divergence and replay command. `color`: ANSI colours. `replay`: the command that a finding's file is put behind.
std::string terminal_report(const std::vector<CampaignResult>& results, const std::vector<Property>& laws, bool color,
                            const std::string& replay = "cachet replay");

/// One finding as it is printed on the terminal.
std::string terminal_finding(const Finding& finding, const std::vector<Property>& laws, bool color,
                             const std::string& replay = "cachet replay");

/// One testsuite a subject, one testcase a law; a failing law's message holds its minimal case.
std::string junit_report(const std::vector<CampaignResult>& results, const std::vector<Property>& laws,
                         const std::string& replay = "cachet replay");

/// The case that stands for a finding: shrunk where it was, else as it was found.
const Case& minimal_case(const Finding& finding);
const Verdict& minimal_verdict(const Finding& finding);

/// One object a verdict that is not a plain pass (`event law backend verdict case seed steps file`), sorted; last the summary.
/// Tallies ride along under added keys so that shards can be merged.
std::string lines_report(const std::vector<CampaignResult>& results);

/// Reads what lines_report wrote, one text a shard, and keeps the lowest case of each signature. Errors name file and line.
Result<std::vector<CampaignResult>> merge_lines(const std::vector<std::pair<std::string, std::string>>& files);

/// Exit code of a set of results (DESIGN.md, section 5).
int exit_code(const std::vector<CampaignResult>& results);

}  // namespace cachet
