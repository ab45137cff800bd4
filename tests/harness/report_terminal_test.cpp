// The report for people: a finding stands alone, nothing that was not judged is silent, and exit codes follow the verdicts.
#include <gmock/gmock.h>

#include "harness/reporters.h"
#include "tests/harness/findings.h"

namespace cachet {
namespace {

using testing::failing_result;
using ::testing::HasSubstr;
using testing::laws;
using ::testing::Not;
using testing::result_of;

TEST(TerminalFinding, HoldsClaimMinimalCaseDivergenceAndReplayCommand) {
  const std::string text = terminal_finding(testing::finding_of("tail_slice_is_exact", 17), laws(), false, "./cachet replay");
  EXPECT_EQ(text,
            "FAIL  tail_slice_is_exact on static_cache+stale_length\n"
            "  claim     Each step feeds exactly what was not cached.\n"
            "  minimal   2 steps, shrunk from 4 in 31 evaluations\n"
            "            model    m gpt2 layers=1 heads=1 width=2 vocab=4 context=8 weights=seed:0\n"
            "            run      m\n"
            "            complete 3 1 new=1\n"
            "            complete 3 1 new=1\n"
            "  at        step 2 of run 1: complete 3 1 new=1\n"
            "  kind      empty_slice\n"
            "  expected  a nonempty slice\n"
            "  observed  tokens []\n"
            "  because   no tolerance\n"
            "  seen      in 7 cases; the lowest is case 17, seed 18000000000000000000\n"
            "  replay    ./cachet replay 'out/a finding.case'\n");
}

TEST(TerminalFinding, KeepsControlCharactersOfABackendOffTheTerminal) {
  Finding finding = testing::finding_of("tail_slice_is_exact", 1);
  std::get<Fail>(finding.shrunk->verdict).divergence.observed = "\033[2J\xff";
  const std::string text = terminal_finding(finding, laws(), false);
  EXPECT_THAT(text, HasSubstr("\\x1b[2J\\xff"));
  EXPECT_THAT(text, Not(HasSubstr("\033")));
}

TEST(TerminalFinding, SaysThatACaseCouldNotBeWritten) {
  Finding finding = testing::finding_of("tail_slice_is_exact", 1);
  finding.file.clear();
  EXPECT_THAT(terminal_finding(finding, laws(), false), HasSubstr("could not be written"));
}

TEST(TerminalFinding, SaysWhenTheBudgetEndedTheShrinking) {
  Finding finding = testing::finding_of("tail_slice_is_exact", 1);
  finding.shrunk->exhausted = true;
  EXPECT_THAT(terminal_finding(finding, laws(), false), HasSubstr("budget exhausted"));
}

TEST(TerminalFinding, ANondeterministicOneShowsWhatVariedAndNotTheMinimumsVerdict) {
  Finding finding = testing::finding_of("tail_slice_is_exact", 1);
  finding.verdict = Nondeterministic{"once pass, once fail"};
  const std::string text = terminal_finding(finding, laws(), false);
  EXPECT_THAT(text, HasSubstr("NONDETERMINISTIC"));
  EXPECT_THAT(text, HasSubstr("once pass, once fail"));
}

TEST(TerminalReport, ListsWhatIsUnsupportedAndVacuousWithReasons) {
  const std::string text = terminal_report({result_of("eager")}, laws(), false);
  EXPECT_THAT(text, HasSubstr("unsupported: needs save"));
  EXPECT_THAT(text, HasSubstr("repeat_call: 10 x no second call"));
  EXPECT_THAT(text, HasSubstr("every law that was judged holds"));
}

TEST(TerminalReport, ALawThatWasOnlyVacuousIsNotOk) {
  CampaignResult result = result_of("eager");
  result.laws = {{"repeat_call", {10, {{"vacuous", 10}}, {{"never", 10}}}}};
  const std::string text = terminal_report({result}, laws(), false);
  EXPECT_THAT(text, HasSubstr("none  repeat_call"));
  EXPECT_THAT(text, HasSubstr("nothing was judged"));
}

TEST(TerminalReport, UsesColoursOnlyWhereAskedFor) {
  EXPECT_THAT(terminal_report({failing_result(1)}, laws(), true), HasSubstr("\033[1;31mFAIL"));
  EXPECT_THAT(terminal_report({failing_result(1)}, laws(), false), Not(HasSubstr("\033")));
}

TEST(ExitCode, FollowsTheVerdicts) {
  EXPECT_EQ(exit_code({result_of("a")}), 0);
  EXPECT_EQ(exit_code({result_of("a"), failing_result(1)}), 1);
  EXPECT_EQ(exit_code({}), 4);
  CampaignResult result = result_of("a");
  result.laws = {{"repeat_call", {10, {{"vacuous", 10}, {"unsupported", 2}}, {}}}};
  EXPECT_EQ(exit_code({result}), 4);
  result = result_of("a");
  result.harness_errors = {"we broke"};
  EXPECT_EQ(exit_code({result}), 3);
  EXPECT_EQ(exit_code({result, failing_result(1)}), 1);
  result.broken = "does not start";
  result.harness_errors.clear();
  EXPECT_EQ(exit_code({result}), 2);
  result.interrupted = true;
  EXPECT_EQ(exit_code({result, failing_result(1)}), 130);
}

}  // namespace
}  // namespace cachet
