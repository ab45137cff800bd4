// Whatever a child does in a run costs one life, is blamed on the right step, and leaves nothing behind.
#include "tests/backends/process_fixture.h"

namespace cachet {
namespace {

using namespace testing;  // the fixture's
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

class BadStep : public ProcessBackend, public ::testing::WithParamInterface<Misbehaviour> {};

TEST_P(BadStep, CostsOneLifeAndIsBlamedOnItsStep) {
  const Misbehaviour& bad = GetParam();
  const bool waits = bad.how == Broken::How::kTimeout;
  forget_peak();
  const long before = peak_megabytes();
  const RunRecord record = run({kGood, kGood, call(bad.what), kGood}, waits ? kShort_s : 120);
  ASSERT_TRUE(record.broken);
  EXPECT_EQ(record.broken->step, 2);
  EXPECT_EQ(record.reports.size(), 2U);
  EXPECT_EQ(static_cast<int>(record.broken->how), static_cast<int>(bad.how)) << record.broken->message;
  EXPECT_THAT(record.broken->message, HasSubstr(bad.message));
  EXPECT_LT(record.broken->message.size(), 1000U);
  EXPECT_LT(record.broken->evidence.size(), 40000U);
  EXPECT_THAT(record.broken->evidence, Not(IsEmpty()));
  if (kMeasuresMemory) {
    EXPECT_LT(peak_megabytes() - before, 600) << "memory must be bounded";
  }
  RecordProperty("peak_megabytes", std::to_string(peak_megabytes()));
}

INSTANTIATE_TEST_SUITE_P(
    Each, BadStep,
    ::testing::Values(
        Misbehaviour{"segv", kCrash, "ended by signal 11 (SIGSEGV)"},
        Misbehaviour{"abort", kCrash, "ended by signal 6 (SIGABRT)"}, Misbehaviour{"exit0", kCrash, "exited with code 0"},
        Misbehaviour{"exit3", kCrash, "exited with code 3"}, Misbehaviour{"hang", kTimeout, "no answer within 3 s"},
        Misbehaviour{"flood_stderr_for_good", kTimeout, "no answer within 3 s"},
        Misbehaviour{"garbage", kGarbage, "\"Loading checkpoint shards: 100%\""}, Misbehaviour{"blank", kGarbage, "\"\""},
        Misbehaviour{"array", kGarbage, "\"[1, 2]\""},
        Misbehaviour{"half_then_hang", kTimeout, "but half a line: \"{\"jsonrpc\": \"2.0\", \"meth\""},
        Misbehaviour{"half_then_exit", kCrash, "exited with code 3, after half a line: \"{\"jsonrpc\": \"2.0\", \"meth\""},
        Misbehaviour{"endless_line", kGarbage, "a line that is too long: \"{\"jsonrpc\": \"2.0\", \"method\": \"xxx"},
        Misbehaviour{"endless_noise", kGarbage, "a line that is not the protocol's: \"xxx"},
        Misbehaviour{"endless_lines", kGarbage, "{\"no\":1}"},
        Misbehaviour{"many_values", kGarbage, "a line that needs too much memory"},
        Misbehaviour{"close_stdout", kBroken, "closed its standard output and lives on"},
        Misbehaviour{"grandchild_then_exit", kCrash, "exited with code 3"},
        Misbehaviour{"daemon_then_exit", kCrash, "exited with code 3"},
        Misbehaviour{"daemon_then_hang", kTimeout, "no answer within 3 s"}, Misbehaviour{"wrong_id", kGarbage, "another id"},
        Misbehaviour{"text_id", kGarbage, "another id"}, Misbehaviour{"no_jsonrpc", kGarbage, "\"jsonrpc\""},
        Misbehaviour{"result_and_error", kGarbage, "without one of result and error"},
        Misbehaviour{"duplicate", kGarbage, "index 1 where 2 was due"},
        Misbehaviour{"missing", kGarbage, "index 3 where 2 was due"}, Misbehaviour{"not_a_report", kGarbage, "status"},
        Misbehaviour{"no_params", kGarbage, "no params"}, Misbehaviour{"report_as_list", kGarbage, "malformed step notification"},
        Misbehaviour{"too_few", kGarbage, "index 3 where 2 was due"},
        Misbehaviour{"early_result", kGarbage, "after 2 step notifications"},
        Misbehaviour{"invalid_utf8", kGarbage, "malformed line"}, Misbehaviour{"nan", kGarbage, "malformed line"},
        Misbehaviour{"huge_number", kGarbage, "malformed"}, Misbehaviour{"huge_index", kGarbage, "malformed"},
        Misbehaviour{"deep", kGarbage, "malformed line"}, Misbehaviour{"deep_and_open", kGarbage, "malformed line"},
        Misbehaviour{"notification", kGarbage, "unexpected notification"},
        Misbehaviour{"request", kGarbage, "unexpected notification"},
        Misbehaviour{"malformed_error", kGarbage, "an error without code"},
        Misbehaviour{"error-32600", kBroken, "error -32600: as asked"},
        Misbehaviour{"error-32601", kBroken, "error -32601: as asked"},
        Misbehaviour{"error-32602", kBroken, "error -32602: as asked"},
        Misbehaviour{"error-32603", kBroken, "error -32603: as asked"},
        Misbehaviour{"error-32700", kBroken, "error -32700: as asked"},
        Misbehaviour{"error-32001", kBroken, "error -32001: as asked"},
        Misbehaviour{"error-32002", kBroken, "error -32002: as asked"},
        Misbehaviour{"error-32003", kBroken, "error -32003: as asked"}),
    [](const ::testing::TestParamInfo<Misbehaviour>& each) {
      std::string name = each.param.what;
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

TEST_F(ProcessBackend, BlamesACrashBeforeAnyStepOnTheFirst) {
  const RunRecord record = run({kGood, call("abort", "before")});
  ASSERT_TRUE(record.broken);
  EXPECT_EQ(record.broken->step, 0);
  EXPECT_EQ(record.broken->message, "ended by signal 6 (SIGABRT)");
}

TEST_F(ProcessBackend, BlamesACrashAfterAllStepsOnNoneOfThem) {
  const RunRecord record = run({call("exit3", "after"), kGood});
  ASSERT_TRUE(record.broken);
  EXPECT_EQ(record.broken->step, 2);
  EXPECT_EQ(record.reports.size(), 2U);
  EXPECT_EQ(record.broken->message, "exited with code 3");
}

TEST_F(ProcessBackend, RejectsStepsBeyondTheLast) {
  const RunRecord record = run({kGood, call("too_many")});
  ASSERT_TRUE(record.broken);
  EXPECT_EQ(record.broken->step, 2);
  EXPECT_THAT(record.broken->message, HasSubstr("one more than the 2 steps"));
}

TEST_F(ProcessBackend, RejectsTooFewStepsAtTheEnd) {
  const RunRecord record = run({kGood, call("too_few")});
  ASSERT_TRUE(record.broken);
  EXPECT_EQ(record.broken->step, 1);
  EXPECT_THAT(record.broken->message, HasSubstr("run of 2 steps after 1 step notifications"));
}

TEST_F(ProcessBackend, RejectsAWrongCountOfSteps) {
  for (const char* what : {"wrong_count", "no_count"}) {
    const RunRecord record = run({kGood, call(what)});
    ASSERT_TRUE(record.broken) << what;
    EXPECT_EQ(record.broken->how, kGarbage) << what;
    EXPECT_EQ(record.broken->step, 2) << what;
  }
}

TEST_F(ProcessBackend, KeepsTheTailOfAFloodOfStandardError) {
  const RunRecord record = run({call("flood_stderr"), call("segv")});
  ASSERT_TRUE(record.broken);
  EXPECT_EQ(record.broken->step, 1);
  EXPECT_THAT(record.broken->evidence,
              AllOf(StartsWith("(1048"), HasSubstr(" bytes before)\n"), HasSubstr("the last words\nabout to crash\n")));
}

TEST_F(ProcessBackend, LetsASlowButCorrectChildPass) {
  const RunRecord record = run({call("slow"), kGood, call("slow")});
  EXPECT_FALSE(record.broken);
  EXPECT_EQ(record.reports.size(), 3U);
}

TEST_F(ProcessBackend, GivesEachStepItsOwnDeadline) {
  std::vector<Step> steps(50, call("slow"));  // each takes 70 ms and more, all of them more than the deadline
  const RunRecord record = run(steps, kShort_s);
  EXPECT_FALSE(record.broken) << record.broken->message;
  EXPECT_EQ(record.reports.size(), steps.size());
}

TEST_F(ProcessBackend, EndsDaemonsThatLetGoOfThePipes) {
  const RunRecord record = run({call("quiet_daemons"), kGood});
  EXPECT_FALSE(record.broken);
}

TEST_F(ProcessBackend, DoesNotBlockOnAChildThatReadsNothing) {
  Result<std::unique_ptr<Backend>> backend = make({}, kShort_s);
  ASSERT_TRUE(backend);
  const auto life = (*backend)->begin("c");
  ASSERT_TRUE(life->load("m", model()).ok);
  ASSERT_FALSE(life->run("m", {call("stop_reading")}).broken);
  const RunRecord record = life->run("m", std::vector<Step>(100'000, kGood));
  ASSERT_TRUE(record.broken);
  EXPECT_EQ(record.broken->how, kTimeout);
  EXPECT_EQ(record.broken->step, 0);
  expect_good_life(**backend);
}

TEST_F(ProcessBackend, DrainsStandardErrorWhileItWrites) {
  const RunRecord record = run(std::vector<Step>(20'000, kGood), 120, {"--flood-before-reading"});
  EXPECT_FALSE(record.broken) << record.broken->message;
  EXPECT_EQ(record.reports.size(), 20'000U);
}

TEST_F(ProcessBackend, FindsAnAnswerNobodyAskedForAtTheNextRequest) {
  Result<std::unique_ptr<Backend>> backend = make();
  ASSERT_TRUE(backend);
  const auto life = (*backend)->begin("c");
  ASSERT_TRUE(life->load("m", model()).ok);
  ASSERT_FALSE(life->run("m", {kGood, call("extra_answer")}).broken);
  const RunRecord record = life->run("m", {kGood});
  ASSERT_TRUE(record.broken);
  EXPECT_EQ(record.broken->how, kGarbage);
  EXPECT_EQ(record.broken->step, 0);
  expect_good_life(**backend);
}

}  // namespace
}  // namespace cachet
