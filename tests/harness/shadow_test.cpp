// The protocol's rules as tables: which call is legal when, and what a session holds afterwards.
#include "harness/shadow.h"

#include <gtest/gtest.h>

namespace cachet {
namespace {

Configuration configured() {
  Configuration c;
  c.capabilities = {"append",  "generate", "complete", "crop",    "all_rows", "batch", "fork",
                    "reorder", "save",     "snapshot", "release", "remove",   "shift", "poison"};
  c.declarations.last_token_cached = false;
  c.declarations.context = "refuse";
  return c;
}

ModelSpec spec() {
  ModelSpec s;
  s.vocab = 4;
  s.context = 8;
  return s;
}

Step append(const std::string& s, Rows rows) { return Append{s, std::move(rows), {}, Want::kLast, true}; }
Step generate(int n, std::optional<Rows> tokens = {}) { return Generate{"a", std::move(tokens), Loop{n, {}, 0, {}}}; }

/// "answer", or the fault; an open question has a "?".
std::string said(const Shadow& shadow, const Step& step) {
  const Expectation e = shadow.expect(step);
  return e.demand == Demand::kAnswer ? "answer" : e.fault + (e.demand == Demand::kUndefined ? "?" : "");
}

Shadow holding(int tokens, int capacity = 5, Configuration c = configured(), int rows = 1) {
  Shadow shadow(spec(), std::move(c));
  shadow.assume(Open{"a", rows, capacity});
  if (tokens > 0) shadow.assume(append("a", Rows(static_cast<std::size_t>(rows), Tokens(static_cast<std::size_t>(tokens), 1))));
  return shadow;
}

TEST(Shadow, NamesTheFaultOfEachBadCall) {
  const Shadow s = holding(2);
  const std::vector<std::pair<Step, std::string>> table = {{Open{"b", 1, 4}, "answer"},
                                                           {Open{"a", 1, 4}, "session_open"},
                                                           {Open{"b", 0, 4}, "bad_open"},
                                                           {Open{"b", 1, 0}, "bad_open"},
                                                           {append("a", {{1, 2, 3}}), "answer"},
                                                           {append("a", {{1, 2, 3, 0}}), "past_capacity"},
                                                           {append("a", {{}}), "empty_append"},
                                                           {append("a", {{4}}), "token_outside_vocabulary"},
                                                           {append("a", {{-1}}), "token_outside_vocabulary"},
                                                           {append("a", {{1}, {1}}), "wrong_rows"},
                                                           {append("b", {{1}}), "unknown_session"},
                                                           {Append{"a", {{1}}, {}, Want::kLast, false}, "undeclared"},
                                                           {Append{"a", {{1}}, {1}, Want::kLast, true}, "undeclared"},
                                                           {generate(4), "answer"},
                                                           {generate(5), "past_capacity"},
                                                           {generate(0), "bad_count"},
                                                           {generate(1, Rows{{}}), "empty_append"},
                                                           {Complete{{{1}}, {}, Loop{7, {}, 0, {}}}, "answer"},
                                                           {Complete{{{1}}, {}, Loop{8, {}, 0, {}}}, "last_position?"},
                                                           {Complete{{{1}}, {}, Loop{9, {}, 0, {}}}, "past_context"},
                                                           {Complete{{{1}}, 2, Loop{2, {}, 0, {}}}, "last_slot?"},
                                                           {Complete{{{1}}, 2, Loop{3, {}, 0, {}}}, "past_capacity"},
                                                           {Complete{{{}}, {}, Loop{}}, "empty_append"},
                                                           {Complete{{}, {}, Loop{}}, "wrong_rows"},
                                                           {Crop{"a", {2}}, "answer"},
                                                           {Crop{"a", {3}}, "crop_beyond"},
                                                           {Crop{"a", {-1}}, "crop_negative"},
                                                           {Crop{"a", {1, 1}}, "wrong_rows"},
                                                           {Fork{"a", "b"}, "answer"},
                                                           {Fork{"a", "a"}, "session_open"},
                                                           {Reorder{"a", {0, 0}}, "more_rows?"},
                                                           {Reorder{"a", {1}}, "bad_rows"},
                                                           {Reorder{"a", {}}, "wrong_rows"},
                                                           {Restore{"a", "x"}, "unknown_blob"},
                                                           {Rollback{"a", "x"}, "unknown_mark"},
                                                           {Shift{"a", 0, {}, -1}, "bad_range"},
                                                           {Shift{"a", 0, {}, 1}, "answer"},
                                                           {Remove{"a", 0, 1}, "answer"},
                                                           {Length{"b"}, "unknown_session"},
                                                           {Reset{"a"}, "answer"},
                                                           {Close{"b"}, "unknown_session"},
                                                           {Poison{"a"}, "answer"},
                                                           {Recompile{}, "undeclared"},
                                                           {Raw{"{\"op\":\"fly\"}"}, "malformed"},
                                                           {Raw{"{"}, "malformed"},
                                                           {Raw{"{\"op\":\"length\",\"session\":\"a\"}"}, "well_formed?"}};
  for (std::size_t i = 0; i < table.size(); ++i)
    EXPECT_EQ(said(s, table[i].first), table[i].second) << "entry " << i << ", " << op_name(table[i].first);
  EXPECT_EQ(said(holding(0), generate(1)), "nothing_to_continue");
}

TEST(Shadow, DeclaredUndefinedCallsAreNotDemanded) {
  Configuration c = configured();
  c.declarations.undefined_calls = {"token_outside_vocabulary"};
  EXPECT_EQ(said(holding(1, 5, c), append("a", {{9}})), "token_outside_vocabulary?");
  EXPECT_EQ(said(holding(5, 5, c), append("a", {{9}})), "token_outside_vocabulary?") << "one undefined fault suffices";
}

TEST(Shadow, TheLastTokenTakesASlotOnlyWhereItIsCached) {
  Configuration c = configured();
  c.declarations.last_token_cached = true;
  EXPECT_EQ(said(holding(2, 5, c), generate(3)), "answer");
  EXPECT_EQ(said(holding(2, 5, c), generate(4)), "past_capacity");
  c.declarations.last_token_cached.reset();
  EXPECT_EQ(said(holding(2, 5, c), generate(4)), "last_slot?");
  EXPECT_EQ(said(holding(2, 5, c), generate(5)), "past_capacity");
}

TEST(Shadow, OverflowPoliciesChangeWhatIsDemanded) {
  Configuration c = configured();
  c.declarations.overflow = "stop";
  EXPECT_EQ(said(holding(2, 5, c), generate(6)), "answer");
  EXPECT_EQ(said(holding(2, 5, c), append("a", {{1, 1, 1, 1}})), "past_capacity");
  c.declarations.overflow = "slide";
  EXPECT_EQ(said(holding(2, 5, c), append("a", {{1, 1, 1, 1}})), "slide?");
  c = configured();
  c.declarations.context = "extrapolate";
  EXPECT_EQ(said(holding(7, 20, c), append("a", {{1, 1}})), "past_context?");
}

TEST(Shadow, APendingTokenIsHistoryButNotCommitted) {
  Shadow s = holding(2);
  s.assume(generate(2), {{3, 0}});
  EXPECT_EQ(s.find("a")->history[0], (Tokens{1, 1, 3, 0}));
  EXPECT_EQ(s.find("a")->committed(0), 3);
  EXPECT_EQ(said(s, append("a", {{1}})), "answer");
  EXPECT_EQ(said(s, append("a", {{1, 1}})), "past_capacity") << "the pending token is fed first";
  Shadow kept = s;
  kept.assume(Crop{"a", {4}});
  EXPECT_EQ(kept.find("a")->committed(0), 3);
  s.assume(Crop{"a", {3}});
  EXPECT_EQ(s.find("a")->committed(0), 3);
  EXPECT_EQ(s.find("a")->pending[0], 0);
}

TEST(Shadow, CropIsOpenWhileThePendingTokenIsUnknown) {
  Configuration c = configured();
  c.declarations.last_token_cached.reset();
  Shadow s = holding(2, 8, c);
  s.assume(generate(1), {{3}});
  EXPECT_EQ(said(s, Crop{"a", {1}}), "pending_unknown?");
  EXPECT_EQ(said(s, Crop{"a", {4}}), "crop_beyond");
  s.assume(append("a", {{1}}));
  EXPECT_EQ(said(s, Crop{"a", {1}}), "answer");
}

TEST(Shadow, FailedStepsTearTheirSessionUntilReset) {
  Shadow s = holding(2);
  Report failed;
  failed.status = Status::kFailed;
  s.apply(append("a", {{1}}), failed);
  EXPECT_EQ(said(s, append("a", {{1}})), "torn?");
  EXPECT_EQ(said(s, Reset{"a"}), "answer");
  s.apply(Reset{"a"}, {});
  EXPECT_EQ(said(s, append("a", {{1}})), "answer");
  EXPECT_EQ(s.find("a")->history[0], Tokens{});
}

TEST(Shadow, AnAnsweredBadCallLeavesNothingToJudge) {
  Shadow s = holding(2);
  s.apply(append("a", {{7}}), {});
  EXPECT_TRUE(s.find("a")->torn);
  s.apply(Length{"z"}, {});
  EXPECT_EQ(said(s, append("z", {{1}})), "torn?");
}

TEST(Shadow, CopiesAreIndependentAndMarksReturn) {
  Shadow s = holding(2);
  s.assume(Save{"a", "x"});
  s.assume(Snapshot{"a", "m"});
  s.assume(Fork{"a", "b"});
  s.assume(append("a", {{3}}));
  EXPECT_EQ(s.find("b")->longest(), 2);
  s.assume(Rollback{"a", "m"});
  EXPECT_EQ(s.find("a")->longest(), 2);
  s.assume(Open{"c", 1, 2});
  s.assume(Restore{"c", "x"});
  EXPECT_EQ(s.find("c")->capacity, 2);
  EXPECT_EQ(s.find("c")->history, s.find("a")->history);
  s.assume(Open{"d", 1, 1});
  EXPECT_EQ(said(s, Restore{"d", "x"}), "past_capacity");
  s.assume(Close{"a"});
  EXPECT_EQ(said(s, Length{"a"}), "unknown_session");
}

TEST(EmittedRows, EndAtTheStopTokenAndDropPads) {
  Declarations d;
  Report r;
  r.tokens = Rows{{1, 2, 0}, {1, 1, 1}};
  const Loop loop{3, Tokens{2}, 0, {}};
  EXPECT_FALSE(emitted_rows(r, loop, 2, 4, d)) << "something follows the stop token";
  d.pads_after_stop = true;
  d.pad_token = 0;
  EXPECT_EQ(emitted_rows(r, loop, 2, 4, d), (Rows{{1, 2}, {1, 1, 1}}));
  EXPECT_FALSE(emitted_rows(r, loop, 1, 4, d));
  EXPECT_FALSE(emitted_rows(r, Loop{2, {}, 0, {}}, 2, 4, d)) << "more than asked for";
}

TEST(AskedRows, NameTheHistoryOfEachCell) {
  const std::vector<Step> steps = {Open{"a", 1, 5}, append("a", {{1}}), Append{"a", {{2, 3}}, {}, Want::kAll, true}};
  RunRecord record;
  record.reports.resize(3);
  record.reports[2].logits = LogitsArray{1, 2, 4, std::vector<double>(8), {}};
  const std::vector<StepView> views = walk(steps, record, spec(), configured());
  const std::vector<AskedRow> asked = asked_rows(views[2]);
  ASSERT_EQ(asked.size(), 2u);
  EXPECT_EQ(asked[0].history, (Tokens{1, 2}));
  EXPECT_EQ(asked[1].history, (Tokens{1, 2, 3}));
  EXPECT_EQ(asked[1].position, 1);
}

}  // namespace
}  // namespace cachet
