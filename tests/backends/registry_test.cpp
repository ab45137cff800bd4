// Names of backends: what resolves, what does not, and what the error says.
#include "backends/registry.h"

#include <gmock/gmock.h>

#include <set>

#include "backends/defect.h"
#include "tests/backends/traces.h"

namespace cachet {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

TEST(Registry, EveryListedNameResolvesAndDescribesItself) {
  std::vector<std::string> names = backend_names();
  for (const ZooEntry& entry : zoo_entries()) names.push_back(entry.host + "+" + entry.name);
  for (const std::string& name : names) {
    const Result<BackendFactory> factory = resolve_backend(name);
    ASSERT_TRUE(factory) << name;
    const std::unique_ptr<Backend> backend = std::move(*(*factory)());
    EXPECT_EQ(backend->describe().name, name);
    const bool compiles = name.rfind("compiled", 0) == 0;
    ASSERT_EQ(backend->describe().configurations.size(), compiles ? 2U : 1U);
    EXPECT_EQ(backend->describe().configurations.front().name, compiles ? "default" : "eager");
  }
}

TEST(Registry, ErrorsSayWhatThereIs) {
  EXPECT_THAT(resolve_backend("eagre").error().message,
              AllOf(HasSubstr("eagre"), HasSubstr("static_cache"), HasSubstr("eager+pairwise")));
  EXPECT_THAT(resolve_backend("eager+stale_length").error().message,
              AllOf(HasSubstr("stale_length"), HasSubstr("causal_top_left")));
  EXPECT_THAT(resolve_backend("static_cache+").error().message, HasSubstr("stale_length"));
  EXPECT_THAT(resolve_backend("eager+pairwise+pairwise").error().message, HasSubstr("twice"));
  EXPECT_FALSE(resolve_backend(""));
}

TEST(Registry, VariantsAreNoDefects) {
  EXPECT_THAT(backend_names(),
              AllOf(Contains("eager+pairwise"), Contains("eager+reversed"), Contains("static_cache+online_softmax")));
  std::set<std::string> defects;
  for (const backends::Defect& defect : backends::defects()) defects.insert(defect.name);
  for (const backends::Variant& variant : backends::variants()) EXPECT_EQ(defects.count(variant.name), 0U) << variant.name;
}

TEST(Registry, VariantsComputeInAnotherOrder) {
  const std::string trace = "run m\nopen a rows=1 capacity=8\nappend a 3 1 4 1 5 2 6 want=all\n";
  for (const backends::Variant& variant : backends::variants()) {
    if (!variant.conforms) continue;
    EXPECT_NE(reports_of(variant.host + "+" + variant.name, trace)[1].logits->data,
              reports_of(variant.host, trace)[1].logits->data)
        << variant.name;
  }
}

TEST(Registry, TwoPlantedBugsAreBothThere) {
  const std::vector<Report> reports =
      reports_of("static_cache+array_length+tail_overlaps_by_one", "run m\ncomplete 3 1 new=1\ncomplete 3 2 new=1\n");
  EXPECT_TRUE(std::holds_alternative<ArrayValue>(reports[1].lengths->values.front()));
  EXPECT_EQ(reports[1].calls->front().tokens, (Rows{{3, 2}}));
}

}  // namespace
}  // namespace cachet
