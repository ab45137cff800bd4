// The canaries: for each law a planted bug that no other law sees, so that a law which judges nothing cannot hide behind others.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "backends/defect.h"
#include "backends/registry.h"
#include "harness/campaign.h"
#include "properties/properties.h"

namespace cachet {
namespace {

std::vector<std::string> canaries() {
  std::vector<std::string> out;
  for (const backends::Defect& defect : backends::defects())
    if (defect.canary) out.push_back(defect.name);
  return out;
}

class Canary : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Names, Canary, ::testing::ValuesIn(canaries()), [](const auto& name) { return name.param; });

TEST_P(Canary, IsSeenByItsLawAndByNoOther) {
  const std::vector<ZooEntry> zoo = zoo_entries();
  const ZooEntry& entry = *std::find_if(zoo.begin(), zoo.end(), [](const ZooEntry& e) { return e.name == GetParam(); });
  CampaignOptions options;
  options.cases = 800;
  options.shrink_findings = false;
  const CampaignResult result = run_campaign(entry.subject, properties::properties(), options);
  std::set<std::string> laws;
  for (const Finding& finding : result.findings) laws.insert(finding.signature.law);
  EXPECT_EQ(laws, std::set<std::string>(entry.laws.begin(), entry.laws.end()));
}

TEST(Canaries, EveryLawHasOneButWhereNoneIsPossible) {
  std::set<std::string> with, all;
  for (const backends::Defect& defect : backends::defects())
    if (defect.canary) with.insert(defect.laws.begin(), defect.laws.end());
  for (const Property& law : properties::properties()) all.insert(law.name);
  // Rows that do not move where the reference moves by more than both envelopes cannot lie in both (.decisions/0004).
  all.erase("context_matters");
  // A graph that keeps something of the call that it was traced with, or computes otherwise than eager code, is wrong by the
  // reference too.
  all.erase("compile_order_is_free");
  all.erase("eager_equals_compiled");
  EXPECT_EQ(with, all);
}

}  // namespace
}  // namespace cachet
