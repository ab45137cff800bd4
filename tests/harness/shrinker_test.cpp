// Each pass against a case that needs it, alone; then the whole search: one normal form, the same failure, the budget.
#include "harness/shrinker.h"

#include <gmock/gmock.h>

#include <set>

#include "harness/order.h"
#include "harness/shrink_search.h"
#include "harness/step_parts.h"
#include "tests/harness/judging.h"

namespace cachet {
namespace {

constexpr char kModel[] = "model m gpt2 layers=1 heads=1 width=4 vocab=4 context=16 weights=seed:0\n";

std::vector<Step> all_steps(const Case& value) {
  std::vector<Step> out;
  for (const At at : places(value)) out.push_back(step_at(value, at));
  return out;
}

template <typename S>
int count(const Case& value) {
  const std::vector<Step> steps = all_steps(value);
  return static_cast<int>(std::count_if(steps.begin(), steps.end(), [](const Step& s) { return std::holds_alternative<S>(s); }));
}

/// The ids that a case's calls give, in order.
Tokens ids(const Case& value) {
  Tokens out;
  for (const Step& step : all_steps(value))
    if (const Rows* rows = rows_of(step))
      for (const Tokens& row : *rows) out.insert(out.end(), row.begin(), row.end());
  return out;
}

const ModelSpec& spec(const Case& value) { return std::get<Load>(value.trace.events.front()).spec; }

template <typename S>
const S& first(const Case& value) {
  static S none;
  for (const At at : places(value))
    if (const auto* s = std::get_if<S>(&step_at(value, at))) return *s;
  return none;
}

struct PassCase {
  std::string pass;
  std::string before;
  std::function<bool(const Case&)> fails;
  std::string after;
  std::string headers = {}, headers_after = {};
};

std::string on_m(const std::string& steps) { return kModel + std::string("run m\n") + steps; }

const std::vector<PassCase>& pass_cases() {
  static const std::vector<PassCase> table = {
      {"drop_runs", on_m("complete 0 new=1\nrun m\ncomplete 1 new=1\nrun m\ncomplete 2 new=1\n"),
       [](const Case& c) { return count<Complete>(c) > 0; }, on_m("complete 2 new=1\n")},
      {"one_model",
       kModel + std::string("model n gpt2 layers=1 heads=1 width=2 vocab=4 context=8 weights=seed:1\n"
                            "run n\ncomplete 1 new=1\nrun m\ncomplete 0 new=1\n"),
       [](const Case& c) { return c.trace.runs() == 2; }, on_m("complete 1 new=1\nrun m\ncomplete 0 new=1\n")},
      {"drop_events",
       kModel + std::string("model n gpt2 layers=1 heads=1 width=2 vocab=4 context=8 weights=seed:1\nunload n\n"
                            "run m\ncomplete 0 new=1\n"),
       [](const Case&) { return true; }, on_m("complete 0 new=1\n")},
      {"merge_runs", on_m("complete 0 new=1\nrun m\ncomplete 1 new=1\n"), [](const Case& c) { return count<Complete>(c) == 2; },
       on_m("complete 0 new=1\ncomplete 1 new=1\n")},
      {"drop_steps", on_m("open a rows=1 capacity=8\nappend a 1\nlength a\nappend a 2\nlength a\n"),
       [](const Case& c) { return count<Open>(c) == 1 && !ids(c).empty() && ids(c).back() == 2; },
       on_m("open a rows=1 capacity=8\nappend a 2\n")},
      {"drop_sessions", on_m("open a rows=1 capacity=8\nopen b rows=1 capacity=8\nappend a 1\nappend b 2\nappend a 3\n"),
       [](const Case& c) {  // either both sessions whole, or b alone
         return ids(c) == Tokens{1, 2, 3} ? count<Open>(c) == 2 : ids(c) == Tokens{2} && count<Open>(c) == 1;
       },
       on_m("open b rows=1 capacity=8\nappend b 2\n")},
      {"merge_sessions", on_m("open a rows=1 capacity=8\nappend a 1\nopen b rows=1 capacity=8\nappend b 2\n"),
       [](const Case& c) {
         return ids(c) == Tokens{1, 2};
       },
       on_m("open a rows=1 capacity=16\nappend a 1\nappend a 2\n")},
      {"swap_neighbours", on_m("complete 0 new=1\nopen a rows=1 capacity=8\nappend a 1\n"),
       [](const Case& c) { return count<Complete>(c) == 1 && count<Append>(c) == 1; },
       on_m("open a rows=1 capacity=8\ncomplete 0 new=1\nappend a 1\n")},
      {"drop_pairs", on_m("open a rows=1 capacity=8\nreset a\nappend a 1\nlength a\n"),
       [](const Case& c) { return count<Append>(c) == 1 && count<Open>(c) == 1 && count<Reset>(c) == count<Length>(c); },
       on_m("open a rows=1 capacity=8\nappend a 1\n")},
      {"merge_appends", on_m("open a rows=1 capacity=8\nappend a 1\ncomplete 3 new=1\nappend a 2\n"),
       [](const Case& c) { return ids(c).size() == 3 && count<Complete>(c) == 1; },
       on_m("open a rows=1 capacity=8\ncomplete 3 new=1\nappend a 1 2\n")},
      {"fewer_rows", on_m("open a rows=3 capacity=8\nappend a 1 | 2 | 3\n"),
       [](const Case& c) { return first<Append>(c).tokens.size() == 1 ? ids(c) == Tokens{2} : true; },
       on_m("open a rows=1 capacity=8\nappend a 2\n")},
      {"shorten_together", on_m("complete 1 2 3 new=1\ncomplete 1 2 3 new=1\n"),
       [](const Case& c) {
         const Tokens t = ids(c);
         return t.size() % 2 == 0 && std::equal(t.begin(), t.begin() + static_cast<std::ptrdiff_t>(t.size() / 2),
                                                t.begin() + static_cast<std::ptrdiff_t>(t.size() / 2));
       },
       on_m("complete 1 new=1\ncomplete 1 new=1\n")},
      {"shorten", on_m("open a rows=1 capacity=5\nappend a 0 1 2 3\n"),
       [](const Case& c) { return first<Open>(c).capacity == static_cast<int>(ids(c).size()) + 1; },
       on_m("open a rows=1 capacity=2\nappend a 0\n")},
      {"shorten_loops", on_m("open a rows=1 capacity=5\ngenerate a 0 new=4\n"),
       [](const Case& c) { return first<Open>(c).capacity == first<Generate>(c).loop.new_tokens + 1; },
       on_m("open a rows=1 capacity=2\ngenerate a 0 new=1\n")},
      {"move_tokens", on_m("open a rows=1 capacity=8\nappend a 1 2 3\nappend a 0\n"),
       [](const Case& c) {
         return ids(c) == Tokens{1, 2, 3, 0};
       },
       on_m("open a rows=1 capacity=8\nappend a 1\nappend a 2 3 0\n")},
      {"plainer_calls", on_m("open a rows=1 capacity=8\ngenerate a 1 new=1\n"), [](const Case& c) { return ids(c) == Tokens{1}; },
       on_m("open a rows=1 capacity=8\nappend a 1\n")},
      {"drop_fields",
       on_m("open a rows=1 capacity=8\nappend a 1 want=all keep=false\ngenerate a 2 new=3 stop=1,2 min_new=2\n"
            "complete 0 capacity=8 new=2\n"),
       [](const Case&) { return true; }, on_m("open a rows=1 capacity=8\nappend a 1\ngenerate a new=1\ncomplete 0 new=1\n")},
      {"lower_vary", on_m("complete 0 new=1\n"), [](const Case& c) { return !c.vary.empty() && c.vary[0] >= 2; },
       on_m("complete 0 new=1\n"), "vary 5 7\n", "vary 2\n"},
      {"lower_numbers", on_m("open a rows=1 capacity=9\nappend a 0 1 2 3\ncrop a 3\n"),
       [](const Case& c) { return first<Crop>(c).length == std::vector<int>{1} || first<Crop>(c).length == std::vector<int>{3}; },
       on_m("open a rows=1 capacity=1\nappend a 0 1 2 3\ncrop a 1\n")},
      {"lower_together", on_m("open a rows=1 capacity=6\nappend a 0 1 2 3\ncrop a 4\n"),
       [](const Case& c) { return first<Open>(c).capacity == first<Crop>(c).length.front() + 2; },
       on_m("open a rows=1 capacity=5\nappend a 0 1 2 3\ncrop a 3\n")},
      {"lower_tokens", on_m("complete 3 2 3 new=1\n"),
       [](const Case& c) { return ids(c)[0] == ids(c)[2] && ids(c)[0] != ids(c)[1]; }, on_m("complete 1 0 1 new=1\n")},
      {"lower_stops", on_m("complete 0 new=1 stop=3\n"), [](const Case& c) { return first<Complete>(c).loop.stop->front() >= 2; },
       on_m("complete 0 new=1 stop=2\n")},
      {"smaller_models",
       "model m gpt2 layers=3 heads=2 width=8 vocab=8 context=16 activation=gelu weights=seed:0\nrun m\n"
       "complete 7 2 new=1\n",
       [](const Case&) { return true; },
       "model m gpt2 layers=1 heads=1 width=2 vocab=2 context=16 weights=seed:0\nrun m\ncomplete 1 0 new=1\n"},
      {"simpler_families",
       "model m llama layers=2 heads=2 width=4 vocab=4 context=16 kv_heads=1 rope_theta=100 tie_word_embeddings=true "
       "weights=seed:3\nrun m\ncomplete 0 new=1\n",
       [](const Case&) { return true; },
       "model m gpt2 layers=2 heads=2 width=4 vocab=4 context=16 weights=seed:3\nrun m\ncomplete 0 new=1\n"},
      {"plainer_choices",
       "model m llama layers=1 heads=4 width=4 vocab=4 context=16 kv_heads=2 head_dim=6 rope_theta=500000 "
       "tie_word_embeddings=true weights=seed:0\nrun m\ncomplete 0 new=1\n",
       [](const Case& c) { return spec(c).rope_theta != 10000 && spec(c).kv_heads > 0; },
       "model m llama layers=1 heads=4 width=24 vocab=4 context=16 kv_heads=1 rope_theta=100 weights=seed:0\nrun m\n"
       "complete 0 new=1\n"},
      {"plainer_weights", "model m gpt2 layers=1 heads=1 width=4 vocab=4 context=16 weights=seed:9\nrun m\ncomplete 0 new=1\n",
       [](const Case& c) { return spec(c).weights.kind == WeightRecipe::Kind::kSeed; }, on_m("complete 0 new=1\n")},
      {"smaller_context", on_m("complete 0 1 new=2\n"), [](const Case& c) { return spec(c).context >= 4; },
       "model m gpt2 layers=1 heads=1 width=4 vocab=4 context=4 weights=seed:0\nrun m\ncomplete 0 1 new=2\n"},
  };
  return table;
}

class ShrinkPasses : public ::testing::TestWithParam<PassCase> {};

TEST_P(ShrinkPasses, DoesAloneWhatItIsFor) {
  const PassCase& row = GetParam();
  fake_kind() = [&](const Case& c) { return row.fails(c) ? "fake" : ""; };
  const Bench bench("eager", {fake_law()});
  const Case before = fake_case(row.before, row.headers);
  Search search(before, bench.judge->replay(before), *bench.judge, bench.laws.front(), bench.subject.configuration, {});
  for (const ShrinkPass& pass : shrink_passes())
    if (pass.name == row.pass) search.run(pass.name, pass.propose);
  EXPECT_EQ(print_case(search.best()), print_case(fake_case(row.after, row.headers_after)));
  const ShrinkResult result = std::move(search).result();
  ASSERT_EQ(result.passes.size(), 1u);
  EXPECT_GT(result.passes.front().useful, 0);
}

INSTANTIATE_TEST_SUITE_P(All, ShrinkPasses, ::testing::ValuesIn(pass_cases()), [](const auto& row) { return row.param.pass; });

TEST(Shrinker, HasACaseForEachPass) {
  std::set<std::string> shown, known;
  for (const PassCase& row : pass_cases()) shown.insert(row.pass);
  for (const ShrinkPass& pass : shrink_passes()) known.insert(pass.name);
  EXPECT_EQ(shown, known);
}

ShrinkResult shrunk(const Case& value, const ShrinkOptions& options = {}) {
  const Bench bench("eager", {fake_law()});
  return shrink(value, *bench.judge, bench.laws, bench.subject.configuration, options);
}

/// A reset of an open session with content, then tokens.
bool appends_after_reset(const Case& value) {
  bool open = false, content = false, reset = false;
  for (const Step& step : all_steps(value)) {
    open |= std::holds_alternative<Open>(step);
    if (const auto* a = std::get_if<Append>(&step)) {
      const bool tokens = std::any_of(a->tokens.begin(), a->tokens.end(), [](const Tokens& row) { return !row.empty(); });
      if (reset && tokens) return true;
      content |= open && a->keep && tokens;
    }
    if (std::holds_alternative<Reset>(step)) reset = content;
  }
  return false;
}

TEST(Shrinker, EndsInOneCaseWhereverItBegan) {
  fake_kind() = [](const Case& c) { return appends_after_reset(c) ? "fake" : ""; };
  const std::string minimal =
      "model m gpt2 layers=1 heads=1 width=2 vocab=2 context=1 weights=pattern:ramp\n"
      "run m\nopen a rows=1 capacity=1\nappend a 0\nreset a\nappend a 0\n";
  const std::vector<std::string> starts = {
      on_m("complete 1 2 new=2\nrun m\nopen b rows=2 capacity=9\nappend b 1 2 | 3 1\nlength b\nreset b\nappend b 3 | 2 "
           "want=all\n"),
      "model n gpt2 layers=2 heads=2 width=8 vocab=16 context=24 weights=seed:77\nrun n\n"
      "open c rows=1 capacity=20\nappend c 9 8 7\nappend c 5\ncrop c 2\nreset c\ngenerate c 3 new=2\nappend c 4 1\n",
  };
  for (const std::string& start : starts) EXPECT_EQ(print_case(shrunk(fake_case(start)).minimal), print_case(fake_case(minimal)));
}

TEST(Shrinker, EndsInOneModelOfAFamilyThatTheFailureNeeds) {
  fake_kind() = [](const Case& c) {
    return spec(c).kv_heads > 1 && spec(c).rope_theta != 10000 && spec(c).width / spec(c).heads >= 2 ? "fake" : "";
  };
  const std::string minimal =
      "model m llama layers=1 heads=4 width=8 vocab=2 context=1 kv_heads=2 rope_theta=100 weights=pattern:ramp\n"
      "run m\n";
  for (const std::string model :
       {"layers=3 heads=6 width=12 vocab=9 context=20 kv_heads=3 rope_theta=7 weights=seed:5",
        "layers=1 heads=4 width=32 vocab=2 context=9 kv_heads=2 rope_theta=500000 "
        "tie_word_embeddings=true norm_epsilon=0.001 weights=pattern:ramp",
        "layers=2 heads=4 width=16 vocab=8 context=8 kv_heads=2 head_dim=2 rope_theta=100 weights=seed:1"})
    EXPECT_EQ(
        print_case(shrunk(fake_case("model m llama " + model + "\nrun m\nopen a rows=2 capacity=4\nappend a 0 | 1\n")).minimal),
        print_case(fake_case(minimal)));
}

TEST(Shrinker, FollowsOnlyTheSameFailureAndKeepsTheOther) {
  fake_kind() = [](const Case& c) { return c.trace.steps() >= 3 ? "first" : "second"; };
  const ShrinkResult result = shrunk(fake_case(on_m("complete 0 new=1\ncomplete 1 new=1\ncomplete 2 new=1\ncomplete 3 new=1\n")));
  EXPECT_EQ(result.minimal.trace.steps(), 3);
  EXPECT_EQ(result.signature.kind, "first");
  ASSERT_EQ(result.slipped.size(), 1u);
  EXPECT_EQ(result.slipped.begin()->first.kind, "second");
}

TEST(Shrinker, StopsAtItsBudget) {
  const Case start = fake_case(on_m("open a rows=2 capacity=9\nappend a 1 2 3 | 3 2 1\ncomplete 3 2 new=3\ncrop a 2 2\n"));
  const std::string only = print_case(start);
  fake_kind() = [&](const Case& c) { return print_case(c) == only ? "fake" : ""; };
  for (long budget = 0; budget < 40; ++budget) {
    const ShrinkResult result = shrunk(start, {budget});
    EXPECT_TRUE(result.exhausted);
    EXPECT_EQ(result.evaluations, budget);
    EXPECT_EQ(result.minimal, start);
  }
}

TEST(Shrinker, ShowsSimplerNeighboursThatHold) {
  fake_kind() = [](const Case& c) { return ids(c).size() >= 3 ? "fake" : ""; };
  const ShrinkResult result = shrunk(fake_case(on_m("open a rows=1 capacity=8\nappend a 3 2 1 3\n")));
  EXPECT_EQ(ids(result.minimal), (Tokens{0, 0, 0}));
  EXPECT_FALSE(result.exhausted);
  ASSERT_FALSE(result.neighbours.empty());
  for (const Neighbour& n : result.neighbours) {
    EXPECT_EQ(n.verdict, "pass");
    EXPECT_TRUE(simpler(*parse_case(n.text, "neighbour"), result.minimal)) << n.text;
  }
}

TEST(Order, PutsCountsBeforeModelsAndModelsBeforeIds) {
  const auto of = [](const std::string& body) { return fake_case(body); };
  const Case two_runs = of(on_m("complete 0 new=1\nrun m\ncomplete 0 new=1\n"));
  const Case one_run = of(on_m("complete 3 3 3 new=1\ncomplete 3 3 3 new=1\ncomplete 3 new=1\n"));
  EXPECT_TRUE(simpler(one_run, two_runs));
  const Case large = of("model m gpt2 layers=2 heads=1 width=4 vocab=4 context=16 weights=seed:0\nrun m\ncomplete 0 new=1\n");
  EXPECT_TRUE(simpler(of(on_m("complete 3 new=1\n")), large));
  EXPECT_FALSE(simpler(large, large));
  EXPECT_TRUE(simpler(of(on_m("complete 1 new=1\n")), of(on_m("complete 2 new=1\n"))));
}

}  // namespace
}  // namespace cachet
