// How lives of a process backend begin and end: restart or a new process, loads, initialisation, and neighbours left alone.
#include <thread>

#include "harness/json.h"
#include "tests/backends/fake_engine.h"
#include "tests/backends/process_fixture.h"

namespace cachet {
namespace {

using namespace testing;  // the fixture's
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST_F(ProcessBackend, ContainsWhatGoesWrongInALoad) {
  for (const Misbehaviour& bad :
       {Misbehaviour{"segv", kCrash, "SIGSEGV"}, Misbehaviour{"exit0", kCrash, "code 0"}, Misbehaviour{"hang", kTimeout, "3 s"},
        Misbehaviour{"garbage", kGarbage, "Loading"}, Misbehaviour{"not_a_report", kGarbage, "unexpected notification"},
        Misbehaviour{"error-32002", kBroken, "-32002"}, Misbehaviour{"error-32003", kBroken, "-32003"}}) {
    Result<std::unique_ptr<Backend>> backend = make({"--load", bad.what}, kShort_s);
    ASSERT_TRUE(backend);
    const auto life = (*backend)->begin("c");
    const LoadOutcome outcome = life->load("m", model(2));
    EXPECT_FALSE(outcome.ok);
    ASSERT_TRUE(outcome.broken) << bad.what;
    EXPECT_EQ(static_cast<int>(outcome.broken->how), static_cast<int>(bad.how)) << bad.what << ": " << outcome.broken->message;
    EXPECT_EQ(outcome.broken->step, -1);
    EXPECT_THAT(outcome.broken->message, HasSubstr(bad.message));
    EXPECT_TRUE(life->load("n", model()).broken);
    expect_good_life(**backend);
  }
}

TEST_F(ProcessBackend, GoesOnAfterARefusedModel) {
  Result<std::unique_ptr<Backend>> backend = make_process_backend({CACHET_FAKE_SERVER});
  ASSERT_TRUE(backend) << to_string(backend.error());
  const auto life = (*backend)->begin("picky");
  const LoadOutcome refused = life->load("big", model(2));
  EXPECT_FALSE(refused.ok);
  EXPECT_FALSE(refused.broken);
  EXPECT_EQ(refused.refusal, "one layer at most");
  EXPECT_TRUE(life->load("m", model()).ok);
  EXPECT_FALSE(life->run("m", {Open{"a", 1, 8}}).broken);
}

TEST_F(ProcessBackend, SaysWhyAChildCannotBeInitialised) {
  for (const auto& [what, message] :
       std::map<std::string, std::string>{{"segv", "ended by signal 11 (SIGSEGV); its standard error ends:\nabout to crash"},
                                          {"exit0", "exited with code 0"},
                                          {"garbage", "Loading checkpoint shards"},
                                          {"half_then_exit", "after half a line"},
                                          {"no_configurations", "configurations"},
                                          {"protocol_2", "protocol"},
                                          {"error-32602", "as asked"},
                                          {"daemon_then_exit", "exited with code 3"}}) {
    const Result<std::unique_ptr<Backend>> backend = make({"--initialize", what});
    ASSERT_FALSE(backend) << what;
    EXPECT_THAT(to_string(backend.error()), HasSubstr(message)) << what;
  }
}

TEST_F(ProcessBackend, LimitsTheTimeToInitialise) {
  ProcessOptions options;
  options.initialize_s = kShort_s;
  const Result<std::unique_ptr<Backend>> backend = make_process_backend(bad_child({"--initialize", "daemon_then_hang"}), options);
  ASSERT_FALSE(backend);
  EXPECT_THAT(to_string(backend.error()), HasSubstr("no answer within 3 s"));
}

TEST_F(ProcessBackend, SaysThatACommandDoesNotExist) {
  const Result<std::unique_ptr<Backend>> backend = make_process_backend({"/no/such/program"});
  ASSERT_FALSE(backend);
  EXPECT_THAT(to_string(backend.error()), HasSubstr("could not be started: No such file or directory"));
}

TEST_F(ProcessBackend, EndsAChildThatIgnoresTheEnd) {
  const Result<std::unique_ptr<Backend>> backend = make({"--ignore-end"});
  EXPECT_TRUE(backend);
}

std::string pid_of(Life& life) {
  EXPECT_TRUE(life.load("m", model()).ok);
  const RunRecord record = life.run("m", {kGood});
  EXPECT_FALSE(record.broken);
  return record.reports.empty() ? "" : record.reports[0].message;
}

TEST_F(ProcessBackend, BeginsALifeByANewProcessWithoutRestart) {
  Result<std::unique_ptr<Backend>> backend = make();
  ASSERT_TRUE(backend);
  const std::string first = pid_of(*(*backend)->begin("c"));
  EXPECT_EQ(first, (*backend)->describe().engine.at("pid")) << "the first life needs no second process";
  EXPECT_NE(pid_of(*(*backend)->begin("c")), first);
}

TEST_F(ProcessBackend, BeginsALifeByRestartWhereDeclared) {
  Result<std::unique_ptr<Backend>> backend = make({"--restart"});
  ASSERT_TRUE(backend);
  const auto life = (*backend)->begin("c");
  const std::string first = pid_of(*life);
  EXPECT_EQ(pid_of(*(*backend)->begin("c")), first);
  const auto third = (*backend)->begin("c");
  ASSERT_TRUE(third->load("m", model()).ok);
  EXPECT_TRUE(third->run("m", {call("exit3")}).broken);
  EXPECT_NE(pid_of(*(*backend)->begin("c")), first) << "a life that broke ends its process";
  EXPECT_TRUE(life->run("m", {kGood}).broken) << "a new life ends the one before";
}

TEST_F(ProcessBackend, ALifeMayOutlastItsBackend) {
  std::unique_ptr<Life> life;
  {
    Result<std::unique_ptr<Backend>> backend = make();
    ASSERT_TRUE(backend);
    life = (*backend)->begin("c");
    ASSERT_TRUE(life->load("m", model()).ok);
  }
  EXPECT_TRUE(life->run("m", {kGood}).broken);
}

TEST_F(ProcessBackend, ServedEngineReportsWhatItReportsInThisProcess) {
  const std::unique_ptr<Backend> here = testing::make_fake_backend();
  Result<std::unique_ptr<Backend>> there = make_process_backend({CACHET_FAKE_SERVER});
  ASSERT_TRUE(there) << to_string(there.error());
  Description described = here->describe();
  for (Configuration& c : described.configurations) c.capabilities.insert("restart");
  EXPECT_EQ(description_to_json((*there)->describe()), description_to_json(described));

  const std::vector<Step> steps = {Open{"a", 1, 8},
                                   Append{"a", {{3, 1}}, {}, Want::kLast, true},
                                   Append{"a", {{2}}, {}, Want::kAll, true},
                                   Length{"a"},
                                   Complete{{{1}}, std::nullopt, {}},
                                   Recompile{},
                                   Reset{"a"},
                                   Open{"b", 3, 8},
                                   Append{"z", {{0}}, {}, Want::kLast, true},
                                   Raw{R"({"op":"open","session":"r","rows":1,"capacity":4})"},
                                   Raw{R"({"op":"nonsense"})"},
                                   Raw{R"({"op":"append","session":"r"})"},
                                   Raw{R"({"op":"open","session":"r","rows":1,"capacity":4,"colour":"red"})"},
                                   Raw{R"({"op":"open","session":3,"rows":1,"capacity":4})"},
                                   Raw{"[]"},
                                   Append{"r", {{1}}, {}, Want::kLast, true}};
  for (int lives = 0; lives < 2; ++lives) {
    const auto life_here = here->begin("plain");
    const auto life_there = (*there)->begin("plain");
    ASSERT_TRUE(life_here->load("m", model()).ok);
    ASSERT_TRUE(life_there->load("m", model()).ok);
    for (int runs = 0; runs < 2; ++runs) {  // the second sees what the engine retained
      const RunRecord a = life_here->run("m", steps);
      const RunRecord b = life_there->run("m", steps);
      ASSERT_FALSE(a.broken);
      ASSERT_FALSE(b.broken) << b.broken->message << b.broken->evidence;
      ASSERT_EQ(a.reports.size(), steps.size());
      ASSERT_EQ(b.reports.size(), steps.size());
      for (std::size_t i = 0; i < steps.size(); ++i)
        EXPECT_EQ(dump(report_to_json(a.reports[i])), dump(report_to_json(b.reports[i]))) << "step " << i;
    }
  }
}

TEST_F(ProcessBackend, StreamsEachReportWhenItArrives) {
  Result<std::unique_ptr<Backend>> backend = make({}, kShort_s);
  ASSERT_TRUE(backend);
  const auto life = (*backend)->begin("c");
  ASSERT_TRUE(life->load("m", model()).ok);
  std::vector<int> seen;
  EXPECT_TRUE(
      life->run_streaming("m", {kGood, kGood, call("hang")}, [&](const Report& report) { seen.push_back(report.index); }).broken);
  EXPECT_EQ(seen, (std::vector<int>{0, 1}));
}

TEST_F(ProcessBackend, BackendsOfTwoThreadsDoNotMeet) {
  const ModelPtr shared = model();
  const auto work = [&](int worker) {
    for (int round = 0; round < 4; ++round) {
      Result<std::unique_ptr<Backend>> backend = make();
      ASSERT_TRUE(backend);
      for (const char* what : {"exit3", "daemon_then_exit", "segv"}) {
        const auto life = (*backend)->begin("c");
        ASSERT_TRUE(life->load("m", shared).ok);
        ASSERT_FALSE(life->run("m", {kGood, kGood}).broken) << "worker " << worker;
        const RunRecord record = life->run("m", {kGood, call(what)});
        ASSERT_TRUE(record.broken);
        EXPECT_EQ(record.broken->step, 1);
        EXPECT_EQ(record.broken->message, std::string(what) == "segv" ? "ended by signal 11 (SIGSEGV)" : "exited with code 3");
      }
    }
  };
  std::thread first(work, 1), second(work, 2);
  first.join();
  second.join();
}

TEST_F(ProcessBackend, LeavesOtherChildrenOfThisProcessAlone) {
  const pid_t other = ::fork();
  if (other == 0) ::_exit(7);
  EXPECT_TRUE(run({kGood, call("daemon_then_exit")}).broken);
  int status = 0;
  EXPECT_EQ(::waitpid(other, &status, 0), other);
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

TEST_F(ProcessBackend, DiesWithTheProcessThatMadeIt) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t harness = ::fork();
  if (harness == 0) {
    Result<std::unique_ptr<Backend>> backend = make();
    const char ok = backend ? 'y' : 'n';
    if (::write(ready[1], &ok, 1) != 1) ::_exit(1);
    ::pause();
  }
  char ok = 'n';
  ASSERT_EQ(::read(ready[0], &ok, 1), 1);
  EXPECT_EQ(ok, 'y');
  EXPECT_THAT(marked_processes(mark_), Not(IsEmpty()));
  ::kill(harness, SIGKILL);
  ::waitpid(harness, nullptr, 0);
  for (int i = 0; i < 1000 && !marked_processes(mark_).empty(); ++i) ::usleep(10'000);
  ::close(ready[0]);
  ::close(ready[1]);
}

}  // namespace
}  // namespace cachet
