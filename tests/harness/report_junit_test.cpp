// The report for CI servers is well-formed whatever a backend says, and its counts are those of its testcases.
#include <gmock/gmock.h>

#include <pugixml.hpp>

#include "harness/reporters.h"
#include "tests/harness/findings.h"

namespace cachet {
namespace {

using testing::laws;

pugi::xml_document parsed(const std::vector<CampaignResult>& results) {
  pugi::xml_document document;
  EXPECT_TRUE(document.load_string(junit_report(results, laws()).c_str()));
  return document;
}

TEST(JunitReport, HasASuiteASubjectAndACaseALaw) {
  const pugi::xml_document document = parsed({testing::result_of("eager"), testing::failing_result(3)});
  std::vector<std::string> suites, cases;
  for (const auto& suite : document.child("testsuites").children("testsuite")) {
    suites.push_back(suite.attribute("name").value());
    for (const auto& testcase : suite.children("testcase"))
      cases.push_back(std::string(testcase.attribute("classname").value()) + "." + testcase.attribute("name").value());
    EXPECT_EQ(suite.attribute("tests").as_int(),
              std::distance(suite.children("testcase").begin(), suite.children("testcase").end()));
  }
  EXPECT_THAT(suites, ::testing::ElementsAre("eager", testing::kSubject));
  EXPECT_THAT(cases,
              ::testing::ElementsAre("eager.repeat_call", "eager.crop_forgets", "eager.save_restores",
                                     "static_cache+stale_length.tail_slice_is_exact", "static_cache+stale_length.repeat_call",
                                     "static_cache+stale_length.crop_forgets", "static_cache+stale_length.save_restores"));
}

TEST(JunitReport, AFailingLawHoldsItsMinimalCaseAndCountsOnce) {
  CampaignResult result = testing::failing_result(3);
  result.findings.push_back(result.findings.front());
  const pugi::xml_document document = parsed({result});
  const pugi::xml_node suite = document.child("testsuites").child("testsuite");
  EXPECT_EQ(suite.attribute("failures").as_int(), 1);
  const pugi::xml_node failure = suite.child("testcase").child("failure");
  EXPECT_STREQ(failure.attribute("type").value(), "fail");
  EXPECT_THAT(failure.text().get(), ::testing::HasSubstr("complete 3 1 new=1"));
}

TEST(JunitReport, AnUnsupportedOrVacuousLawIsSkippedAndSaysWhy) {
  CampaignResult result = testing::result_of("eager");
  result.laws["repeat_call"].verdicts = {{"vacuous", 10}};
  const pugi::xml_document document = parsed({result});
  const pugi::xml_node suite = document.child("testsuites").child("testsuite");
  EXPECT_EQ(suite.attribute("skipped").as_int(), 2);
  EXPECT_THAT(suite.find_child_by_attribute("name", "save_restores").child("skipped").attribute("message").value(),
              ::testing::HasSubstr("needs save"));
  EXPECT_THAT(suite.find_child_by_attribute("name", "repeat_call").child("skipped").attribute("message").value(),
              ::testing::HasSubstr("no second call"));
}

TEST(JunitReport, IsWellFormedWhateverABackendSays) {
  CampaignResult result = testing::failing_result(3);
  result.subject = "process:<&\"'\x01>";
  result.harness_errors = {"]]>\x02\xff"};
  Divergence& divergence = std::get<Fail>(result.findings[0].shrunk->verdict).divergence;
  divergence.observed = std::string("a\0b\x1b[1m]]>\xed\xa0\x80", 14);
  const pugi::xml_document document = parsed({result});
  const pugi::xml_node suite = document.child("testsuites").child("testsuite");
  EXPECT_STREQ(suite.attribute("name").value(), "process:<&\"'\\x01>");
  EXPECT_EQ(suite.attribute("errors").as_int(), 1);
  EXPECT_THAT(suite.child("testcase").child("failure").text().get(), ::testing::HasSubstr("a\\x00b\\x1b[1m]]>\\xed\\xa0\\x80"));
}

}  // namespace
}  // namespace cachet
