// What static_cache retains and where it shows: reuse of prefixes, storage that is handed on as it is, poison.
#include <gmock/gmock.h>

#include "tests/backends/traces.h"

namespace cachet {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Rows fed(const Report& report) { return report.calls->front().tokens; }

TEST(StaticCache, FeedsOnlyWhatItDoesNotHold) {
  const std::vector<Report> r = reports_of(
      "static_cache",
      "run m\ncomplete 3 1 4 new=1\nrun m\ncomplete 3 1 5 2 new=1\ncomplete 3 1 new=1\ncomplete 3 1 new=1\ncomplete 6 new=1\n");
  EXPECT_EQ(fed(r[0]), (Rows{{5, 2}}));
  EXPECT_THAT(*r[0].cached, ElementsAre(2));
  EXPECT_EQ(fed(r[1]), (Rows{{1}}));  // fully cached: its last token again
  EXPECT_EQ(fed(r[2]), (Rows{{1}}));
  EXPECT_EQ(fed(r[3]), (Rows{{6}}));
  EXPECT_THAT(*r[3].cached, ElementsAre(0));
}

TEST(StaticCache, WarmCallsEqualColdOnesForEveryOverlap) {
  const std::vector<std::string> prompts = {"3", "3 1", "3 1 4", "3 1 4 1 5", "3 2 4", "2 1 4", "3 1 | 2 2", "3 1 | 3 1"};
  for (const std::string& first : prompts)
    for (const std::string& second : prompts) {
      const std::string last = "complete " + second + " new=5\n";
      const std::vector<Report> warm = reports_of("static_cache", "run m\ncomplete " + first + " new=3\n" + last),
                                cold = reports_of("static_cache", "run m\n" + last);
      EXPECT_EQ(*warm[1].tokens, *cold[0].tokens) << first << " then " << second;
    }
}

TEST(StaticCache, ReusesWhatItEmittedItself) {
  const std::vector<Report> first = reports_of("static_cache", "run m\ncomplete 3 1 new=3\n");
  const std::string turn = fmt::format("3 1 {} 7", fmt::join(first[0].tokens->front(), " "));
  const Case value = case_of("run m\ncomplete 3 1 new=3\ncomplete " + turn + " new=2\n");
  const std::vector<Report> reports = execute_on("static_cache", value.trace).runs.back().reports;
  EXPECT_EQ(fed(reports[1]), (Rows{{7}}));
  EXPECT_THAT(faults_of("static_cache", value), IsEmpty());
}

TEST(StaticCache, RowsReuseWhatAllOfThemShare) {
  const std::vector<Report> r = reports_of("static_cache", "run m\ncomplete 3 1 4 | 2 2 2 new=1\ncomplete 3 1 5 | 2 6 2 new=1\n");
  EXPECT_EQ(fed(r[1]), (Rows{{1, 5}, {6, 2}}));
  EXPECT_THAT(*r[1].cached, ElementsAre(1, 1));
}

TEST(StaticCache, TheLastTokenOfALoopIsInTheCache) {
  const std::vector<Report> r = reports_of("static_cache", "run m\nopen a rows=1 capacity=4\ngenerate a 3 1 new=2\n");
  EXPECT_EQ(r[1].lengths->values.front(), Value(IntegerValue{4}));
  EXPECT_EQ(r[1].calls->size(), 3U);
  EXPECT_EQ(reports_of("static_cache", "run m\nopen a rows=1 capacity=4\ngenerate a 3 1 new=3\n")[1].kind, "capacity");
}

TEST(StaticCache, DirtyStorageOfEndedSessionsIsNotRead) {
  EXPECT_THAT(faults_of("static_cache", case_of("run m\nopen a rows=2 capacity=8\nappend a 3 1 4 1 | 5 5 5 5\npoison a\nclose "
                                                "a\nopen b rows=1 capacity=8\nappend b 2 7 want=all\n"
                                                "open c rows=1 capacity=8\nappend c 6\nappend b 1\nrun m\nopen a rows=1 "
                                                "capacity=8\nappend a 1 2 want=all\ngenerate a new=3\n")),
              IsEmpty());
}

TEST(StaticCache, PoisonReachesEverySlotWithoutATokenAndNoOther) {
  const std::string trace =
      "run m\nopen a rows=2 capacity=6\nappend a 3 1 | 2 2\npoison a\nappend a 4 | 4\ncrop a 1 1\npoison a\nappend a 5 6 | 6 5 "
      "want=all\n";
  EXPECT_THAT(faults_of("static_cache", case_of(trace)), IsEmpty());
  const std::vector<Report> r =
      reports_of("static_cache+masked_by_zero_weight", "run m\nopen a rows=1 capacity=3\npoison a\nappend a 3\n");
  EXPECT_TRUE(std::isnan(r[2].logits->data.front()));  // of the slots of what is yet to come
}

TEST(StaticCache, TwoModelsOfOneLifeRetainApart) {
  Case value = case_of("run m\ncomplete 3 1 new=2\n");
  Load other{"n", std::get<Load>(value.trace.events.front()).spec};
  other.spec.weights.seed = 9;
  value.trace.events.push_back(other);
  value.trace.events.push_back(cachet::Run{"n", value.trace.last_run()->steps});
  const Transcript transcript = execute_on("static_cache", value.trace);
  EXPECT_THAT(*transcript.runs[1].reports[0].cached, ElementsAre(0));
}

}  // namespace
}  // namespace cachet
