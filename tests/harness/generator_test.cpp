// Cases are valid by construction, the same from the same seed, and reach the situations that their laws are about.
#include "harness/generator.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "harness/checkpoint.h"
#include "harness/shadow.h"
#include "properties/properties.h"
#include "tests/harness/judging.h"

namespace cachet {
namespace {

constexpr int kCases = 100;  // a law and backend

/// Calls `visit` with cases of every law the backend can be judged by.
void for_each_case(const std::string& backend, const std::function<void(const Property&, const Case&, Oracle&)>& visit) {
  const Subject subject = subject_named(backend);
  Oracle oracle;
  for (const Property& law : properties::properties()) {
    if (missing_need(law, subject.configuration)) continue;
    for (std::uint64_t i = 0; i < kCases; ++i) {
      std::vector<ModelPtr> pool;
      for (const ModelSpec& spec : model_pool(hash_seed(7, "models", i), subject.configuration))
        pool.push_back(*load_model(spec));
      visit(law, generate_case({&law, backend, &subject.configuration, pool, hash_seed(7, law.name, i)}, oracle), oracle);
    }
  }
}

TEST(Generator, MakesNothingThatItsLawsCasesMayNotHold) {
  for (const std::string backend : {"eager", "static_cache"}) {
    const Configuration configuration = subject_named(backend).configuration;
    for_each_case(backend, [&](const Property& law, const Case& value, Oracle& oracle) {
      EXPECT_EQ(misfit(value, law, configuration, oracle), std::nullopt) << print_case(value);
      const Result<Case> parsed = parse_case(print_case(value), "generated");
      ASSERT_TRUE(parsed) << to_string(parsed.error());
      EXPECT_EQ(*parsed, value);
    });
  }
}

TEST(Generator, SendsBadCallsOnlyUnderLawsAboutThem) {
  std::map<std::string, int> bad;
  for_each_case("eager", [&](const Property& law, const Case& value, Oracle&) {
    const std::vector<Step>& last = value.trace.last_run()->steps;
    Shadow shadow(std::get<Load>(value.trace.events.front()).spec, subject_named("eager").configuration);
    for (const Step& step : last) {
      const Expectation e = shadow.expect(step);
      bad[law.name] += e.demand == Demand::kRefuse;
      if (e.demand == Demand::kRefuse) return;  // what follows is judged by the fit of the whole case
      if (std::holds_alternative<Generate>(step)) return;
      shadow.assume(step);
    }
  });
  for (const Property& law : properties::properties()) {
    if (law.aim.bad_calls || law.aim.overflow) {
      EXPECT_GT(bad[law.name], kCases / 3) << law.name;
    } else {
      EXPECT_EQ(bad[law.name], 0) << law.name;
    }
  }
}

TEST(Generator, ReachesWhatALawMustHave) {
  std::map<std::string, int> with;
  for_each_case("static_cache", [&](const Property& law, const Case& value, Oracle&) {
    std::set<std::string> ops;
    for (const Step& step : value.trace.last_run()->steps) ops.insert(op_name(step));
    for (const std::string& op : law.aim.must) with[law.name] += static_cast<int>(ops.count(op));
  });
  for (const Property& law : properties::properties())
    if (!law.aim.must.empty() && !missing_need(law, subject_named("static_cache").configuration)) {
      EXPECT_GT(with[law.name], kCases * 8 / 10) << law.name;
    }
}

TEST(Generator, MakesTheSameCaseFromTheSameSeedWhateverWasAskedBefore) {
  std::vector<std::string> first, second;
  for_each_case("eager", [&](const Property&, const Case& value, Oracle&) { first.push_back(print_case(value)); });
  for_each_case("eager", [&](const Property&, const Case& value, Oracle& oracle) {
    oracle.greedy(*load_model(ModelSpec{}), {0}, 2, {});
    second.push_back(print_case(value));
  });
  EXPECT_EQ(first, second);
  EXPECT_GT(std::set<std::string>(first.begin(), first.end()).size(), first.size() * 9 / 10);
}

TEST(Generator, DrawsModelsOfEveryDeclaredFamilyWithAllTheirChoices) {
  Configuration configuration = subject_named("eager").configuration;
  std::map<std::string, int> seen;
  constexpr int kPools = 200;
  for (std::uint64_t i = 0; i < kPools; ++i) {
    std::set<std::string> families;
    for (const ModelSpec& spec : model_pool(i, configuration)) {
      EXPECT_EQ(check_model_spec(spec), std::nullopt) << to_string(spec);
      families.insert(spec.family);
      seen["groups"] += spec.kv_heads > 1;
      seen["one key head"] += spec.kv_heads == 1 && spec.heads > 1;
      seen["as many"] += spec.family == "llama" && spec.kv_heads == 0;
      seen["head size"] += spec.head_dim > 0;
      seen["base"] += spec.rope_theta != 10000 && (spec.head_dim > 0 ? spec.head_dim : spec.width / spec.heads) > 2;
      seen["tied"] += spec.tie_word_embeddings;
    }
    EXPECT_EQ(families, (std::set<std::string>{"gpt2", "llama"}));  // both in each chunk of cases
  }
  for (const auto& [what, count] : seen) EXPECT_GT(count, kPools / 20) << what;
}

TEST(Generator, GivesNoModelOfAFamilyThatIsNotDeclared) {
  const Subject subject = subject_named("eager");
  const Property& law = properties::properties().front();
  for (const std::vector<std::string>& declared : {std::vector<std::string>{}, {"gpt2"}, {"gpt2", "unheard"}, {"llama"}}) {
    Configuration configuration = subject.configuration;
    configuration.declarations.architectures = declared;
    const std::string expected = declared == std::vector<std::string>{"llama"} ? "llama" : "gpt2";
    for (std::uint64_t i = 0; i < 40; ++i)
      for (const ModelSpec& spec : model_pool(i, configuration)) EXPECT_EQ(spec.family, expected);
  }
  Configuration only_gpt2 = subject.configuration;
  only_gpt2.declarations.architectures = {"gpt2"};
  Oracle oracle;
  const Case value = fake_case("model m llama layers=1\nrun m\ncomplete 0 new=1\n");
  EXPECT_EQ(misfit(value, law, subject.configuration, oracle), std::nullopt);
  EXPECT_EQ(misfit(value, law, only_gpt2, oracle), "family llama is not declared");
}

TEST(Generator, HashesSeedsToNumbersThatNeverChange) {
  EXPECT_NE(hash_seed(1, "a", 0), hash_seed(1, "b", 0));
  EXPECT_NE(hash_seed(1, "a", 0), hash_seed(1, "a", 1));
  EXPECT_EQ(hash_seed(0, "", 0), 0xa706dd2f4d197e6fULL);
}

}  // namespace
}  // namespace cachet
