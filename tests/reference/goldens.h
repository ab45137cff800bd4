// Golden logits of the published implementation, as tests read them.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "reference/forward.h"

namespace cachet::testing {

struct GoldenRun {
  Tokens tokens;
  std::vector<std::vector<double>> logits;  // (tokens, vocab)
};

struct Golden {
  std::string model;
  std::vector<GoldenRun> runs;
};

inline Golden read_golden(const std::string& path) {
  std::ifstream in(path);
  const auto json = nlohmann::json::parse(in);
  Golden golden{json.at("model").get<std::string>(), {}};
  for (const auto& run : json.at("histories"))
    golden.runs.push_back({run.at("tokens").get<Tokens>(), run.at("logits").get<std::vector<std::vector<double>>>()});
  return golden;
}

inline std::vector<std::string> words_of(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

inline ModelPtr model_of(const std::string& line) {
  auto spec = parse_model_spec(words_of(line));
  if (!spec) ADD_FAILURE() << line << ": " << to_string(spec.error());
  auto model = build_model(*spec);
  if (!model) ADD_FAILURE() << line << ": " << to_string(model.error());
  return *model;
}

/// Every logit of every row within 1e-10.
inline void expect_golden(const Golden& golden, const Model& model) {
  ASSERT_FALSE(golden.runs.empty());
  for (const GoldenRun& run : golden.runs) {
    const auto rows = reference::forward(model, run.tokens);
    ASSERT_EQ(rows.tokens, static_cast<int>(run.logits.size()));
    for (int t = 0; t < rows.tokens; ++t) {
      ASSERT_EQ(rows.vocab, static_cast<int>(run.logits[t].size()));
      for (int j = 0; j < rows.vocab; ++j)
        ASSERT_NEAR(rows.row(t)[j], run.logits[t][j], 1e-10) << golden.model << ", position " << t << ", logit " << j;
    }
  }
}

}  // namespace cachet::testing
