// The report for scripts keeps its keys, and merging shards gives what one campaign would have given.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "harness/reporters.h"
#include "tests/harness/findings.h"

namespace cachet {
namespace {

using Json = nlohmann::json;
using testing::failing_result;
using testing::result_of;

std::vector<Json> parsed(const std::string& text) {
  std::vector<Json> rows;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) rows.push_back(Json::parse(line));
  return rows;
}

std::vector<CampaignResult> merged(const std::vector<std::pair<std::string, std::string>>& files) {
  Result<std::vector<CampaignResult>> results = merge_lines(files);
  EXPECT_TRUE(results) << to_string(results.error());
  return results ? *results : std::vector<CampaignResult>{};
}

TEST(LinesReport, AFindingHasTheKeysOfTheContract) {
  const std::vector<Json> rows = parsed(lines_report({failing_result(17)}));
  const Json& row = *std::find_if(rows.begin(), rows.end(), [](const Json& r) { return r["verdict"] == "fail"; });
  EXPECT_EQ(row["event"], "verdict");
  EXPECT_EQ(row["law"], "tail_slice_is_exact");
  EXPECT_EQ(row["backend"], testing::kSubject);
  EXPECT_EQ(row["case"], 17);
  EXPECT_EQ(row["seed"], 18000000000000000000ULL);
  EXPECT_EQ(row["steps"], 2);
  EXPECT_EQ(row["file"], "out/a finding.case");
}

TEST(LinesReport, EveryVerdictThatIsNoPlainPassHasARowAndTheyAreSorted) {
  std::vector<std::string> verdicts;
  for (const Json& row : parsed(lines_report({failing_result(17)})))
    if (row["event"] == "verdict") verdicts.push_back(row["law"].get<std::string>() + " " + row["verdict"].get<std::string>());
  EXPECT_THAT(verdicts, ::testing::ElementsAre("crop_forgets tie", "repeat_call vacuous", "save_restores unsupported",
                                               "tail_slice_is_exact fail"));
}

TEST(LinesReport, TheSummaryIsLastAndAddsUp) {
  const Json summary = parsed(lines_report({failing_result(17), result_of("eager")})).back();
  EXPECT_EQ(summary["event"], "summary");
  EXPECT_EQ(summary["backends"], Json::array({testing::kSubject, "eager"}));
  EXPECT_EQ(summary["cases"], 200);
  EXPECT_EQ(summary["failures"], 7);
  EXPECT_EQ(summary["ties"], 4);
  EXPECT_EQ(summary["vacuous"], 20);
  EXPECT_EQ(summary["unsupported"], 2);
  EXPECT_TRUE(summary["seconds"].contains("total") && summary["seconds"].contains("backend") &&
              summary["seconds"].contains("reference"));
}

TEST(LinesReport, SurvivesBytesThatAreNoText) {
  CampaignResult result = failing_result(17);
  std::get<Fail>(result.findings[0].shrunk->verdict).divergence.observed = "\xff\xfe";
  EXPECT_FALSE(parsed(lines_report({result})).empty());
}

TEST(MergeLines, OneFileComesBackAsItWas) {
  const std::string text = lines_report({failing_result(17), result_of("eager")});
  EXPECT_EQ(lines_report(merged({{"a", text}})), text);
}

TEST(MergeLines, KeepsTheLowestCaseOfASignatureAndAddsTheCounts) {
  for (const bool swapped : {false, true}) {
    const std::string low = lines_report({failing_result(17)}), high = lines_report({failing_result(40)});
    const std::vector<CampaignResult> results = merged({{"a", swapped ? high : low}, {"b", swapped ? low : high}});
    ASSERT_EQ(results.size(), 1U);
    ASSERT_EQ(results[0].findings.size(), 1U);
    EXPECT_EQ(results[0].findings[0].case_number, 17);
    EXPECT_EQ(results[0].findings[0].count, 14);
    EXPECT_EQ(results[0].cases, 200);
    EXPECT_EQ(results[0].failures, 14);
    EXPECT_EQ(results[0].laws.at("repeat_call").verdicts.at("vacuous"), 20);
  }
}

TEST(MergeLines, KeepsFindingsOfDifferentSignaturesByCaseNumber) {
  CampaignResult other = failing_result(3);
  other.findings[0].signature.kind = "overlap";
  const std::vector<CampaignResult> results = merged({{"a", lines_report({failing_result(17)})}, {"b", lines_report({other})}});
  ASSERT_EQ(results[0].findings.size(), 2U);
  EXPECT_EQ(results[0].findings[0].case_number, 3);
  EXPECT_EQ(results[0].findings[1].case_number, 17);
}

TEST(MergeLines, AnInterruptedShardMakesTheWholeInterrupted) {
  CampaignResult cut = result_of("eager");
  cut.interrupted = true;
  EXPECT_EQ(exit_code(merged({{"a", lines_report({result_of("eager")})}, {"b", lines_report({cut})}})), 130);
}

TEST(MergeLines, BlamesTheLineThatIsWrong) {
  const std::string good = lines_report({result_of("eager")});
  const auto error_of = [&](const std::string& text) {
    const auto result = merge_lines({{"shard.jsonl", text}});
    return result ? "no error" : to_string(result.error());
  };
  EXPECT_THAT(error_of("{}\n"), ::testing::StartsWith("shard.jsonl:1: "));
  EXPECT_THAT(error_of(good + "{}\n"), ::testing::HasSubstr("after the summary"));
  EXPECT_THAT(error_of(good.substr(0, good.find('\n') + 1)), ::testing::HasSubstr("without a summary"));
  EXPECT_THAT(error_of("{\"event\":\"summary\",\"campaigns\":[3]}\n"), ::testing::StartsWith("shard.jsonl:1: "));
}

TEST(MergeLines, RefusesShardsOfDifferentSeeds) {
  CampaignResult other = result_of("eager");
  other.seed = 6;
  EXPECT_FALSE(merge_lines({{"a", lines_report({result_of("eager")})}, {"b", lines_report({other})}}));
}

}  // namespace
}  // namespace cachet
