// Lives in this process: what the engine says and throws reaches the record, and traces end where they break.
#include "harness/backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "harness/transcript.h"

namespace cachet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Log = std::shared_ptr<std::vector<std::string>>;

/// Writes down what happens to it; `crop` throws, `recompile` throws an int.
class LoggingEngine final : public Engine {
 public:
  LoggingEngine(std::string name, Log log) : name_(std::move(name)), log_(std::move(log)) {}
  ~LoggingEngine() override { log_->push_back(name_ + " gone"); }

  Report execute(const Step& step) override {
    log_->push_back(name_ + " " + op_name(step));
    if (std::holds_alternative<Crop>(step)) throw std::runtime_error("out of range");
    if (std::holds_alternative<Recompile>(step)) throw 3;
    Report report;
    report.index = 99;
    return report;
  }
  void end_run() override { log_->push_back(name_ + " end"); }

 private:
  std::string name_;
  Log log_;
};

/// Within a test, Run is GoogleTest's.
using RunEvent = Run;

class InProcessBackend : public ::testing::Test {
 protected:
  InProcessBackend() {
    Configuration configuration;
    configuration.name = "c";
    backend_ = make_in_process_backend(
        {"logging", "1", {}, {configuration}},
        [this](const std::string& name, const ModelPtr& model) -> Result<std::unique_ptr<Engine>> {
          if (model->spec.layers == 2) return Error{"", 0, "one layer at most"};
          if (model->spec.layers == 3) throw std::runtime_error("no memory");
          return std::unique_ptr<Engine>(std::make_unique<LoggingEngine>(name + std::to_string(engines_++), log_));
        });
  }

  static ModelPtr model(int layers = 1) {
    auto made = std::make_shared<Model>();
    made->spec.layers = layers;
    return made;
  }

  Log log_ = std::make_shared<std::vector<std::string>>();
  int engines_ = 0;
  std::unique_ptr<Backend> backend_;
};

std::vector<int> indices(const RunRecord& record) {
  std::vector<int> out;
  for (const Report& report : record.reports) out.push_back(report.index);
  return out;
}

TEST_F(InProcessBackend, NumbersTheReportsOfEachRunFromZero) {
  const auto life = backend_->begin("c");
  ASSERT_TRUE(life->load("m", model()).ok);
  EXPECT_THAT(indices(life->run("m", {Length{"a"}, Length{"b"}})), ElementsAre(0, 1));
  EXPECT_THAT(indices(life->run("m", {Length{"a"}})), ElementsAre(0));
}

TEST_F(InProcessBackend, EndsEachRunAndNothingElse) {
  const auto life = backend_->begin("c");
  ASSERT_TRUE(life->load("m", model()).ok);
  ASSERT_TRUE(life->load("n", model()).ok);
  life->run("m", {Length{"a"}});
  life->run("m", {});
  EXPECT_FALSE(life->unload("n"));
  life->run("m", {Close{"a"}});
  EXPECT_THAT(*log_, ElementsAre("c0 length", "c0 end", "c0 end", "c1 gone", "c0 close", "c0 end"));
}

TEST_F(InProcessBackend, StreamsEachReportBeforeTheNextStep) {
  const auto life = backend_->begin("c");
  ASSERT_TRUE(life->load("m", model()).ok);
  life->run_streaming("m", {Length{"a"}, Reset{"a"}},
                      [this](const Report& report) { log_->push_back("report " + std::to_string(report.index)); });
  EXPECT_THAT(*log_, ElementsAre("c0 length", "report 0", "c0 reset", "report 1", "c0 end"));
}

TEST_F(InProcessBackend, ExecutesARawStepAsWhatItSpells) {
  const auto life = backend_->begin("c");
  ASSERT_TRUE(life->load("m", model()).ok);
  const RunRecord record = life->run(
      "m", {Raw{R"({"op":"length","session":"a"})"}, Raw{R"({"op":"fly"})"}, Raw{R"({"op":"length"})"},
            Raw{R"({"op":"length","session":"a","loud":1})"}, Raw{"[]"}, Raw{"{"}, Raw{R"({"op":"raw"})"}, Length{"a"}});
  ASSERT_FALSE(record.broken);
  std::vector<std::string> kinds;
  for (const Report& report : record.reports) kinds.push_back(report.status == Status::kRefused ? report.kind : "ok");
  EXPECT_THAT(kinds, ElementsAre("ok", "unsupported", "invalid", "unsupported", "invalid", "invalid", "unsupported", "ok"));
  EXPECT_THAT(indices(record), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(record.reports[1].message, HasSubstr("fly"));
  EXPECT_THAT(record.reports[2].message, HasSubstr("session"));
  EXPECT_THAT(record.reports[3].message, HasSubstr("loud"));
  EXPECT_THAT(*log_, ElementsAre("c0 length", "c0 length", "c0 end"));
}

TEST_F(InProcessBackend, AnEngineThatThrowsEndsTheLifeAtThatStep) {
  for (const Step& thrower : {Step{Crop{"a", {1}}}, Step{Recompile{}}}) {
    const auto life = backend_->begin("c");
    ASSERT_TRUE(life->load("m", model()).ok);
    const RunRecord record = life->run("m", {Length{"a"}, thrower, Length{"a"}});
    ASSERT_TRUE(record.broken);
    EXPECT_EQ(record.broken->how, Broken::How::kCrash);
    EXPECT_EQ(record.broken->step, 1);
    EXPECT_EQ(record.reports.size(), 1U);
    EXPECT_THAT(record.broken->message, HasSubstr("the engine threw"));
    EXPECT_TRUE(life->run("m", {Length{"a"}}).broken);
    EXPECT_TRUE(life->load("n", model()).broken);
    EXPECT_TRUE(life->unload("m"));
  }
}

TEST_F(InProcessBackend, ARefusedModelLeavesTheLifeAlive) {
  const auto life = backend_->begin("c");
  const LoadOutcome refused = life->load("m", model(2));
  EXPECT_FALSE(refused.ok);
  EXPECT_FALSE(refused.broken);
  EXPECT_EQ(refused.refusal, "one layer at most");
  EXPECT_TRUE(life->load("m", model()).ok);
}

TEST_F(InProcessBackend, AFactoryThatThrowsEndsTheLife) {
  const auto life = backend_->begin("c");
  const LoadOutcome outcome = life->load("m", model(3));
  EXPECT_FALSE(outcome.ok);
  ASSERT_TRUE(outcome.broken);
  EXPECT_EQ(outcome.broken->step, -1);
  EXPECT_TRUE(life->load("m", model()).broken);
}

TEST_F(InProcessBackend, ANewLifeEndsTheOneBefore) {
  const auto first = backend_->begin("c");
  ASSERT_TRUE(first->load("m", model()).ok);
  const auto second = backend_->begin("c");
  EXPECT_TRUE(first->run("m", {Length{"a"}}).broken);
  EXPECT_TRUE(second->run("m", {Length{"a"}}).broken) << "nothing of the first life is left in the second";
  EXPECT_THAT(*log_, IsEmpty());
}

ModelSpec spec_of_layers(int layers) {
  ModelSpec spec;
  spec.layers = layers;
  return spec;
}

TEST_F(InProcessBackend, ExecuteKeepsARecordOfEachRun) {
  const Trace trace{
      {Load{"m", spec_of_layers(1)}, RunEvent{"m", {Length{"a"}}}, RunEvent{"m", {Length{"a"}, Reset{"a"}}}, Unload{"m"}}};
  const auto life = backend_->begin("c");
  const Transcript transcript = execute(trace, *life);
  EXPECT_TRUE(transcript.complete());
  ASSERT_EQ(transcript.runs.size(), 2U);
  EXPECT_THAT(indices(transcript.runs[1]), ElementsAre(0, 1));
  EXPECT_EQ(transcript.broken_event, -1);
  EXPECT_EQ(log_->back(), "c0 gone");
}

TEST_F(InProcessBackend, ExecuteStopsWhereATraceBreaks) {
  const Trace trace{{Load{"m", spec_of_layers(1)}, RunEvent{"m", {Length{"a"}}}, RunEvent{"m", {Length{"a"}, Recompile{}}},
                     RunEvent{"m", {Reset{"a"}}}}};
  const auto life = backend_->begin("c");
  const Transcript transcript = execute(trace, *life);
  ASSERT_TRUE(transcript.broken);
  EXPECT_EQ(transcript.broken->step, 1);
  EXPECT_EQ(transcript.broken_event, 2);
  ASSERT_EQ(transcript.runs.size(), 2U);
  EXPECT_TRUE(transcript.runs[1].broken);
  EXPECT_EQ(transcript.runs[1].reports.size(), 1U);
}

TEST_F(InProcessBackend, ExecuteStopsAtARefusedModel) {
  const Trace trace{{Load{"m", spec_of_layers(2)}, RunEvent{"m", {Length{"a"}}}}};
  const auto life = backend_->begin("c");
  const Transcript transcript = execute(trace, *life);
  EXPECT_EQ(transcript.refused, "one layer at most");
  EXPECT_FALSE(transcript.broken);
  EXPECT_THAT(transcript.runs, IsEmpty());
}

TEST_F(InProcessBackend, ExecuteSaysThatAModelCannotBeMade) {
  ModelSpec spec;
  spec.family = "no_such_family";
  const auto life = backend_->begin("c");
  const Transcript transcript = execute(Trace{{Load{"m", spec}, RunEvent{"m", {Length{"a"}}}}}, *life);
  ASSERT_TRUE(transcript.refused);
  EXPECT_THAT(*transcript.refused, HasSubstr("no_such_family"));
  EXPECT_THAT(transcript.runs, IsEmpty());
}

}  // namespace
}  // namespace cachet
