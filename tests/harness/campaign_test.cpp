// Findings do not depend on jobs or shards; a failure that needs earlier runs keeps them; one that does not come again is said
// to vary.
#include "harness/campaign.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>

#include "harness/examine.h"
#include "harness/reporters.h"
#include "properties/properties.h"
#include "tests/harness/judging.h"

namespace cachet {
namespace {

CampaignOptions options_of(int jobs, std::int64_t cases = 160) {
  CampaignOptions out;
  out.cases = cases;
  out.jobs = jobs;
  return out;
}

/// Everything of a result that may not depend on who judged which chunk.
std::string told(CampaignResult result) {
  result.seconds_total = result.seconds_backend = result.seconds_reference = 0;
  std::string out = lines_report({result});
  for (const Finding& f : result.findings)
    out += to_string(f.signature) + " " + std::to_string(f.case_number) + " x" + std::to_string(f.count) + "\n" +
           (f.shrunk ? print_case(f.shrunk->minimal) : "unshrunk\n");
  return out;
}

TEST(Campaign, FindsTheSameOnTwoThreadsAsOnOne) {
  const Subject subject = subject_named("static_cache+stale_length");
  const std::string one = told(run_campaign(subject, properties::properties(), options_of(1)));
  EXPECT_EQ(one, told(run_campaign(subject, properties::properties(), options_of(2))));
  EXPECT_NE(one.find("tail_slice_is_exact"), std::string::npos);
}

TEST(Campaign, ShardsTogetherJudgeWhatOneDoes) {
  const Subject subject = subject_named("eager");
  CampaignResult whole = run_campaign(subject, properties::properties(), options_of(1));
  std::map<std::string, std::int64_t> passes;
  std::int64_t cases = 0;
  for (int shard = 0; shard < 3; ++shard) {
    CampaignOptions options = options_of(1);
    options.shard = shard;
    options.shards = 3;
    CampaignResult part = run_campaign(subject, properties::properties(), options);
    cases += part.cases;
    for (auto& [law, tally] : part.laws) passes[law] += tally.verdicts["pass"];
  }
  EXPECT_EQ(cases, whole.cases);
  for (auto& [law, tally] : whole.laws) EXPECT_EQ(passes[law], tally.verdicts["pass"]) << law;
}

TEST(Campaign, CountsNothingBehindTheChunkInWhichEnoughWasFound) {
  CampaignOptions options = options_of(1, 400);
  options.until = {"seq_length_is_integral"};
  const Subject subject = subject_named("eager+real_length");
  const CampaignResult one = run_campaign(subject, properties::properties(), options);
  EXPECT_LT(one.cases, 400);
  options.jobs = 2;
  EXPECT_EQ(told(one), told(run_campaign(subject, properties::properties(), options)));
}

TEST(Campaign, JudgesEveryLawOnEveryCorrectBackend) {
  for (const std::string& name : backend_names()) {
    Subject subject = subject_named(name);
    std::map<std::string, std::int64_t> passes;
    const std::vector<Configuration> configurations = (*subject.make())->describe().configurations;
    for (const Configuration& configuration : configurations) {
      subject.configuration = configuration;
      CampaignResult result = run_campaign(subject, properties::properties(), options_of(1, 440));
      EXPECT_EQ(result.failures, 0) << name;
      EXPECT_TRUE(result.harness_errors.empty()) << result.harness_errors.front();
      for (const Property& law : properties::properties()) passes[law.name] += result.laws[law.name].verdicts["pass"];
    }
    for (const Property& law : properties::properties()) {
      const bool alone = law.name == "eager_equals_compiled" && configurations.size() == 1;
      EXPECT_EQ(passes[law.name] > 0, !missing_need(law, subject.configuration) && !alone) << law.name << " on " << name;
    }
  }
}

/// A backend that counts the lives it begins.
class Counted final : public Backend {
 public:
  Counted(std::unique_ptr<Backend> backend, std::atomic<int>& lives) : backend_(std::move(backend)), lives_(lives) {}
  const Description& describe() const override { return backend_->describe(); }
  std::unique_ptr<Life> begin(const std::string& configuration) override {
    ++lives_;
    return backend_->begin(configuration);
  }

 private:
  std::unique_ptr<Backend> backend_;
  std::atomic<int>& lives_;
};

TEST(Campaign, BeginsALifeAndDrawsModelsForEachChunk) {
  std::atomic<int> lives = 0;
  Subject subject = subject_named("eager");
  const BackendFactory inner = subject.make;
  subject.make = [&]() -> Result<std::unique_ptr<Backend>> {
    return std::unique_ptr<Backend>(new Counted(std::move(*inner()), lives));
  };
  std::set<std::string> models;
  fake_kind() = [&](const Case& c) {
    models.insert(to_string(std::get<Load>(c.trace.events.front()).spec));
    return "";
  };
  constexpr int kChunks = 10;
  run_campaign(subject, {fake_law()}, options_of(1, kChunks * kChunk));
  EXPECT_EQ(lives, kChunks) << "no case failed, and the law asks for no life beside";
  EXPECT_GT(models.size(), static_cast<std::size_t>(kChunks)) << "a chunk shares a pool of one or two";
}

TEST(Campaign, KeepsTheEarlierRunsThatAFailureNeeds) {
  const Subject subject = subject_named("eager+sessions_outlive_run");
  const CampaignResult result = run_campaign(subject, properties::properties(), options_of(1));
  ASSERT_FALSE(result.findings.empty());
  for (const Finding& finding : result.findings) {
    ASSERT_TRUE(finding.shrunk) << to_string(finding.signature) << " " << verdict_name(finding.verdict);
    EXPECT_GE(finding.shrunk->minimal.trace.runs(), 2);
    const Bench fresh("eager+sessions_outlive_run", properties::properties());
    const Verdict again = fresh.judge->replay(finding.shrunk->minimal);
    EXPECT_EQ(signature_of(finding.signature.law, again), finding.signature);
  }
}

TEST(Campaign, SaysThatAFailureWhichDoesNotComeAgainVaries) {
  static int judged = 0;
  judged = 0;
  fake_kind() = [](const Case&) { return ++judged == 5 ? "once" : ""; };
  const CampaignResult result = run_campaign(subject_named("eager"), {fake_law()}, options_of(1, 20));
  ASSERT_EQ(result.findings.size(), 1u);
  EXPECT_EQ(result.findings.front().case_number, 4);
  EXPECT_TRUE(std::holds_alternative<Nondeterministic>(result.findings.front().verdict));
  EXPECT_FALSE(result.findings.front().shrunk);
  EXPECT_EQ(exit_code({result}), 1);
}

TEST(Campaign, PutsAPrefixUnderTheHandlesOfTheLifeItWas) {
  const Case value =
      fake_case("model m gpt2 layers=1 heads=1 width=2 vocab=4 context=8 weights=seed:3\nrun m\ncomplete 0 new=1\n");
  const Case life = fake_case(
      "model m0 gpt2 layers=1 heads=1 width=2 vocab=4 context=8 weights=seed:3\n"
      "model m gpt2 layers=2 heads=1 width=2 vocab=4 context=8 weights=seed:1\nrun m0\ncomplete 1 new=1\n");
  const Case whole = with_prefix(value, life.trace.events);
  EXPECT_EQ(whole.trace.runs(), 2);
  EXPECT_EQ(whole.trace.last_run()->handle, "m0") << "the life holds that model already";
  const Case other = with_prefix(fake_case("model m gpt2 layers=1 heads=1 width=4 vocab=4 context=8 weights=seed:9\n"
                                           "run m\ncomplete 0 new=1\n"),
                                 life.trace.events);
  EXPECT_NE(other.trace.last_run()->handle, "m") << "the life holds another model under that name";
  EXPECT_EQ(other.trace.spec_at(static_cast<int>(other.trace.events.size()) - 1, other.trace.last_run()->handle)->width, 4);
}

}  // namespace
}  // namespace cachet
