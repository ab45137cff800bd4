// Whatever a child does costs one life, is blamed on the right step, and leaves nothing behind.
#include "backends/process.h"

#include <dirent.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "harness/json.h"
#include "tests/backends/fake_engine.h"

namespace cachet {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kMeasuresMemory = false;  // the sanitizers' own memory would be measured
#else
constexpr bool kMeasuresMemory = true;
#endif

constexpr double kShort_s = 3;  // deadline of children that hang; the good ones need milliseconds

std::string read_all(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

/// Processes that carry this test's mark in their environment, as every descendant of a child does.
std::vector<std::string> marked_processes(const std::string& mark) {
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string pid = entry.path().filename();
    if (pid.find_first_not_of("0123456789") != std::string::npos) continue;
    if (read_all(entry.path() / "environ").find(mark) != std::string::npos) found.push_back(pid + " " + read_all(entry.path() / "cmdline"));
  }
  return found;
}

std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

std::size_t exported_directories() {
  std::size_t count = 0;
  for (const auto& entry : fs::directory_iterator(fs::temp_directory_path())) count += entry.path().filename().string().rfind("cachet-", 0) == 0;
  return count;
}

long peak_megabytes() {
  std::istringstream status(read_all("/proc/self/status"));
  for (std::string line; std::getline(status, line);)
    if (line.rfind("VmHWM:", 0) == 0) return std::stol(line.substr(6)) / 1024;
  return -1;
}

void forget_peak() { std::ofstream("/proc/self/clear_refs") << 5; }

ModelPtr model(int layers = 1) {
  ModelSpec spec;
  spec.layers = layers;
  Result<ModelPtr> built = build_model(spec);
  EXPECT_TRUE(built);
  return *built;
}

Step call(const std::string& what, const std::string& when = "") {
  return Raw{R"({"op":"do","what":")" + what + (when.empty() ? "" : R"(","when":")" + when) + "\"}"};
}
const Step kGood = Length{"a"};

class ProcessBackend : public ::testing::Test {
 protected:
  ProcessBackend() {
    mark_ = "CACHET_TEST_MARK=" + std::to_string(::getpid()) + "." + std::to_string(++tests_) + ".";
    ::setenv("CACHET_TEST_MARK", mark_.substr(mark_.find('=') + 1).c_str(), 1);
    directory_ = "/tmp/cachet_process_test.XXXXXX";
    const char* made = ::mkdtemp(directory_.data());
    EXPECT_NE(made, nullptr);
    ::setenv("TMPDIR", directory_.c_str(), 1);
    descriptors_ = open_descriptors();
  }

  /// Nothing of any child is left.
  ~ProcessBackend() override {
    EXPECT_THAT(marked_processes(mark_), IsEmpty());
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a process is left unreaped";
    EXPECT_EQ(errno, ECHILD);
    EXPECT_EQ(open_descriptors(), descriptors_);
    EXPECT_EQ(exported_directories(), 0U);
    fs::remove_all(directory_);
  }

  static std::vector<std::string> bad_child(std::vector<std::string> words) {
    std::vector<std::string> argv = {"python3", "-I", "-S", CACHET_TESTS_DIR "/bad_children/bad_child.py"};
    argv.insert(argv.end(), words.begin(), words.end());
    return argv;
  }

  static Result<std::unique_ptr<Backend>> make(std::vector<std::string> words = {}, double step_s = 120) {
    ProcessOptions options;
    options.step_s = options.load_s = step_s;
    return make_process_backend(bad_child(std::move(words)), options);
  }

  /// Executes the steps in a life of their own, then sees that the next life works.
  static RunRecord run(const std::vector<Step>& steps, double step_s = 120, std::vector<std::string> words = {}) {
    Result<std::unique_ptr<Backend>> backend = make(std::move(words), step_s);
    if (!backend) {
      ADD_FAILURE() << to_string(backend.error());
      return {};
    }
    const std::unique_ptr<Life> life = (*backend)->begin("c");
    EXPECT_TRUE(life->load("m", model()).ok);
    RunRecord record = life->run("m", steps);
    if (record.broken) {
      EXPECT_TRUE(life->run("m", {kGood}).broken) << "a life that broke is over";
    }
    expect_good_life(**backend);
    return record;
  }

  static void expect_good_life(Backend& backend) {
    const std::unique_ptr<Life> life = backend.begin("c");
    EXPECT_TRUE(life->load("m", model()).ok);
    const RunRecord record = life->run("m", {kGood, kGood});
    EXPECT_FALSE(record.broken) << record.broken->message;
    EXPECT_EQ(record.reports.size(), 2U);
    EXPECT_FALSE(life->unload("m"));
  }

  std::string mark_, directory_;
  std::size_t descriptors_ = 0;
  static inline int tests_ = 0;
};

struct Misbehaviour {
  const char* what;
  Broken::How how;
  const char* message;  ///< part of it
};

void PrintTo(const Misbehaviour& m, std::ostream* out) { *out << m.what; }

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

constexpr auto kCrash = Broken::How::kCrash;
constexpr auto kTimeout = Broken::How::kTimeout;
constexpr auto kGarbage = Broken::How::kGarbage;
constexpr auto kBroken = Broken::How::kBroken;

INSTANTIATE_TEST_SUITE_P(
    Each, BadStep,
    ::testing::Values(
        Misbehaviour{"segv", kCrash, "ended by signal 11 (SIGSEGV)"}, Misbehaviour{"abort", kCrash, "ended by signal 6 (SIGABRT)"},
        Misbehaviour{"exit0", kCrash, "exited with code 0"}, Misbehaviour{"exit3", kCrash, "exited with code 3"},
        Misbehaviour{"hang", kTimeout, "no answer within 3 s"}, Misbehaviour{"flood_stderr_for_good", kTimeout, "no answer within 3 s"},
        Misbehaviour{"garbage", kGarbage, "\"Loading checkpoint shards: 100%\""}, Misbehaviour{"blank", kGarbage, "\"\""},
        Misbehaviour{"array", kGarbage, "\"[1, 2]\""},
        Misbehaviour{"half_then_hang", kTimeout, "but half a line: \"{\"jsonrpc\": \"2.0\", \"meth\""},
        Misbehaviour{"half_then_exit", kCrash, "exited with code 3, after half a line: \"{\"jsonrpc\": \"2.0\", \"meth\""},
        Misbehaviour{"endless_line", kGarbage, "a line that is too long: \"{\"jsonrpc\": \"2.0\", \"method\": \"xxx"},
        Misbehaviour{"endless_noise", kGarbage, "a line that is not the protocol's: \"xxx"},
        Misbehaviour{"endless_lines", kGarbage, "{\"no\":1}"}, Misbehaviour{"many_values", kGarbage, "a line that needs too much memory"},
        Misbehaviour{"close_stdout", kBroken, "closed its standard output and lives on"},
        Misbehaviour{"grandchild_then_exit", kCrash, "exited with code 3"}, Misbehaviour{"daemon_then_exit", kCrash, "exited with code 3"},
        Misbehaviour{"daemon_then_hang", kTimeout, "no answer within 3 s"}, Misbehaviour{"wrong_id", kGarbage, "another id"},
        Misbehaviour{"text_id", kGarbage, "another id"}, Misbehaviour{"no_jsonrpc", kGarbage, "\"jsonrpc\""},
        Misbehaviour{"result_and_error", kGarbage, "without one of result and error"},
        Misbehaviour{"duplicate", kGarbage, "index 1 where 2 was due"}, Misbehaviour{"missing", kGarbage, "index 3 where 2 was due"},
        Misbehaviour{"not_a_report", kGarbage, "status"}, Misbehaviour{"no_params", kGarbage, "no params"},
        Misbehaviour{"report_as_list", kGarbage, "malformed step notification"}, Misbehaviour{"too_few", kGarbage, "index 3 where 2 was due"},
        Misbehaviour{"early_result", kGarbage, "after 2 step notifications"}, Misbehaviour{"invalid_utf8", kGarbage, "malformed line"},
        Misbehaviour{"nan", kGarbage, "malformed line"}, Misbehaviour{"huge_number", kGarbage, "malformed"},
        Misbehaviour{"huge_index", kGarbage, "malformed"}, Misbehaviour{"deep", kGarbage, "malformed line"},
        Misbehaviour{"deep_and_open", kGarbage, "malformed line"}, Misbehaviour{"notification", kGarbage, "unexpected notification"},
        Misbehaviour{"request", kGarbage, "unexpected notification"}, Misbehaviour{"malformed_error", kGarbage, "an error without code"},
        Misbehaviour{"error-32600", kBroken, "error -32600: as asked"}, Misbehaviour{"error-32601", kBroken, "error -32601: as asked"},
        Misbehaviour{"error-32602", kBroken, "error -32602: as asked"}, Misbehaviour{"error-32603", kBroken, "error -32603: as asked"},
        Misbehaviour{"error-32700", kBroken, "error -32700: as asked"}, Misbehaviour{"error-32001", kBroken, "error -32001: as asked"},
        Misbehaviour{"error-32002", kBroken, "error -32002: as asked"}, Misbehaviour{"error-32003", kBroken, "error -32003: as asked"}),
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
  EXPECT_THAT(record.broken->evidence, AllOf(StartsWith("(1048"), HasSubstr(" bytes before)\n"), HasSubstr("the last words\nabout to crash\n")));
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

TEST_F(ProcessBackend, ContainsWhatGoesWrongInALoad) {
  for (const Misbehaviour& bad : {Misbehaviour{"segv", kCrash, "SIGSEGV"}, Misbehaviour{"exit0", kCrash, "code 0"}, Misbehaviour{"hang", kTimeout, "3 s"},
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
  // The child answers the error and then a result besides; the refusal alone is what counts, and the life ends at the next request.
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
  for (const auto& [what, message] : std::map<std::string, std::string>{{"segv", "ended by signal 11 (SIGSEGV); its standard error ends:\nabout to crash"},
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

  const std::vector<Step> steps = {Open{"a", 1, 8}, Append{"a", {{3, 1}}, {}, Want::kLast, true}, Append{"a", {{2}}, {}, Want::kAll, true}, Length{"a"},
                                   Complete{{{1}}, std::nullopt, {}}, Recompile{}, Reset{"a"}, Open{"b", 3, 8}, Append{"z", {{0}}, {}, Want::kLast, true},
                                   Raw{R"({"op":"open","session":"r","rows":1,"capacity":4})"}, Raw{R"({"op":"nonsense"})"}, Raw{R"({"op":"append","session":"r"})"},
                                   Raw{R"({"op":"open","session":"r","rows":1,"capacity":4,"colour":"red"})"}, Raw{R"({"op":"open","session":3,"rows":1,"capacity":4})"},
                                   Raw{"[]"}, Append{"r", {{1}}, {}, Want::kLast, true}};
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
      for (std::size_t i = 0; i < steps.size(); ++i) EXPECT_EQ(dump(report_to_json(a.reports[i])), dump(report_to_json(b.reports[i]))) << "step " << i;
    }
  }
}

TEST_F(ProcessBackend, StreamsEachReportWhenItArrives) {
  Result<std::unique_ptr<Backend>> backend = make({}, kShort_s);
  ASSERT_TRUE(backend);
  const auto life = (*backend)->begin("c");
  ASSERT_TRUE(life->load("m", model()).ok);
  std::vector<int> seen;
  EXPECT_TRUE(life->run_streaming("m", {kGood, kGood, call("hang")}, [&](const Report& report) { seen.push_back(report.index); }).broken);
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
