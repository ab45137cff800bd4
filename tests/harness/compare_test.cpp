// Two runs side by side, over an honest backend whose first run is spoiled: what counts as equal under each declaration, and what
// is left alone after a tie or a failure.
#include "harness/compare.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/properties/fake_lab.h"

namespace cachet::testing {
namespace {

Step open(const std::string& session = "a", int rows = 1) { return Open{session, rows, 12}; }
Step append(Tokens tokens, const std::string& session = "a", Want want = Want::kLast) {
  return Append{session, {std::move(tokens)}, {}, want, true};
}
Step generate(int n, Tokens tokens, const std::string& session = "a", std::optional<Tokens> stop = {}) {
  return Generate{session, Rows{std::move(tokens)}, Loop{n, std::move(stop), 0, {}}};
}
Step complete(Tokens tokens, int n) { return Complete{{std::move(tokens)}, {}, Loop{n, {}, 0, {}}}; }

using Change = std::function<void(Report&)>;
using Prepare = std::function<void(FakeLab&)>;

/// Changes reports of the first run by step.
Spoil in_main(std::map<int, Change> changes) {
  return [=](const Step&, int index, int life, Report& report) {
    if (const auto at = changes.find(index); life == 0 && at != changes.end()) at->second(report);
  };
}
/// Changes reports of both runs by step.
Spoil in_both(std::map<int, Change> both, std::map<int, Change> main = {}) {
  return [=](const Step&, int index, int life, Report& report) {
    if (const auto at = both.find(index); at != both.end()) at->second(report);
    if (const auto at = main.find(index); life == 0 && at != main.end()) at->second(report);
  };
}

struct Asked {
  std::vector<Step> main = {};
  Spoil spoil = {};
  Prepare prepare = {};
  std::string relation = {};
  bool lengths = false;
  std::vector<Step> twin = {};  ///< empty: the main steps
  Pairing pairs = {};           ///< empty: each with its own
};

Verdict compared(const Asked& asked) {
  FakeLab lab(asked.main, asked.spoil);
  if (asked.prepare) asked.prepare(lab);
  Comparison comparison{asked.pairs, asked.relation, asked.lengths};
  for (int i = 0; asked.pairs.empty() && i < static_cast<int>(asked.main.size()); ++i) comparison.pairs.emplace_back(i, i);
  const Observed& main = lab.main();
  return compare_runs(lab, main, lab.fresh(asked.twin.empty() ? asked.main : asked.twin), comparison);
}

std::string kind(const Asked& asked) {
  const Verdict verdict = compared(asked);
  const Divergence* d = divergence_of(verdict);
  return d == nullptr ? verdict_name(verdict) : d->kind;
}

Change add(double much, std::size_t at = 0) {
  return [=](Report& r) { r.logits->data[at] += much; };
}
Change set(double value) {
  return [=](Report& r) { r.logits->data[0] = value; };
}
Change turn(std::size_t token = 0) {
  return [=](Report& r) { (*r.tokens)[0][token] = ((*r.tokens)[0][token] + 1) % 4; };
}
Change status(Status value) {
  return [=](Report& r) { r.status = value; };
}

Prepare declares(std::vector<std::string> bitwise) {
  return [=](FakeLab& lab) { lab.declare().declarations.bitwise = bitwise; };
}
/// No reference: within the drift, if there is one.
Prepare drifts(std::optional<double> drift, std::vector<std::string> bitwise = {}) {
  return [=](FakeLab& lab) {
    lab.reference = false;
    lab.declare().declarations.drift = drift;
    lab.declare().declarations.bitwise = bitwise;
  };
}
/// Envelopes so wide that every choice is a tie.
void ties(FakeLab& lab) { lab.envelope = 1e9; }

const std::vector<Step> kRow = {open(), append({3, 1})};

TEST(CompareRows, AllowsTheSumOfBothEnvelopesAndNoMore) {
  EXPECT_EQ(kind({kRow}), "pass");
  EXPECT_EQ(kind({kRow, in_main({{1, add(1.9e-6)}})}), "pass");
  EXPECT_EQ(kind({kRow, in_main({{1, add(2.1e-6)}})}), "logits");
  EXPECT_EQ(kind({kRow, in_main({{1, add(-2.1e-6, 3)}})}), "logits") << "the last logit";
  const std::vector<Step> all = {open(), append({3, 1}, "a", Want::kAll)};
  EXPECT_EQ(kind({all, in_main({{1, add(1e-3, 0)}})}), "logits") << "a row before the last";
}

TEST(CompareRows, AllowsTheDriftWhereThereIsNoReference) {
  EXPECT_EQ(kind({kRow, in_main({{1, add(0.009)}}), drifts(0.01)}), "pass");
  EXPECT_EQ(kind({kRow, in_main({{1, add(0.011)}}), drifts(0.01)}), "logits");
  EXPECT_EQ(kind({kRow, in_main({{1, add(5)}}), drifts({})}), "vacuous") << "nothing says how far rows may be apart";
}

TEST(CompareRows, TakesTheEnvelopeBeforeTheDrift) {
  const auto both = [](FakeLab& lab) { lab.declare().declarations.drift = 1.0; };
  EXPECT_EQ(kind({kRow, in_main({{1, add(0.5)}}), both}), "logits");
}

TEST(CompareRows, AreEqualBitForBitWhereTheRelationIsDeclared) {
  EXPECT_EQ(kind({kRow, in_main({{1, add(1e-9)}}), declares({"chunk"}), "chunk"}), "logits");
  EXPECT_EQ(kind({kRow, in_main({{1, add(1e-9)}}), declares({"chunk"}), "reset"}), "pass") << "another relation";
  EXPECT_EQ(kind({kRow, in_main({{1, add(1e-9)}}), drifts({}, {"chunk"}), "chunk"}), "logits") << "needs no reference";
  const auto zero = [](double main, double both) { return in_both({{1, set(both)}}, {{1, set(main)}}); };
  EXPECT_EQ(kind({kRow, zero(-0.0, 0.0), declares({"chunk"}), "chunk"}), "logits") << "zeros have signs";
  EXPECT_EQ(kind({kRow, zero(-0.0, 0.0)}), "pass");
}

TEST(CompareRows, TakeTwoNaNsForEqualAndOneForDifferent) {
  EXPECT_EQ(kind({kRow, in_both({{1, set(NAN)}})}), "pass") << "finite rows are another law's matter";
  EXPECT_EQ(kind({kRow, in_both({{1, set(NAN)}}), declares({"chunk"}), "chunk"}), "pass");
  EXPECT_EQ(kind({kRow, in_main({{1, set(NAN)}})}), "logits");
  EXPECT_EQ(kind({kRow, in_both({{1, set(INFINITY)}})}), "pass");
  EXPECT_EQ(kind({kRow, in_main({{1, set(INFINITY)}})}), "logits");
}

TEST(CompareRows, AreRepeatedBitForBitOnlyByEqualWork) {
  const auto with = [](std::vector<std::int64_t> cached) {
    return in_main({{1, [=](Report& r) { r.logits->data[0] += 1e-9, r.cached = cached; }}});
  };
  const auto cached = [](Report& r) { r.cached = std::vector<std::int64_t>{0}; };
  const auto other_calls = [](Report& r) {
    r.logits->data[0] += 1e-9;
    r.calls = std::vector<ModelCall>{{{{3}}, {}, {1, 1}}, {{{1}}, {}, {1, 1}}};
  };
  EXPECT_EQ(kind({kRow, in_main({{1, add(1e-9)}}), declares({"repeat"}), "repeat"}), "logits");
  EXPECT_EQ(kind({kRow, with({0}), declares({"repeat"}), "repeat"}), "pass") << "only one of them says what was cached";
  EXPECT_EQ(kind({kRow, in_both({{1, cached}}, {{1, add(1e-9)}}), declares({"repeat"}), "repeat"}), "logits");
  EXPECT_EQ(kind({kRow, in_main({{1, other_calls}}), declares({"repeat"}), "repeat"}), "pass") << "fed in other pieces";
}

TEST(CompareRows, OfOtherHistoriesAreNotCompared) {
  EXPECT_EQ(kind({kRow, {}, {}, "", false, {open(), append({2, 1})}}), "vacuous");
  EXPECT_EQ(kind({{open(), append({3}), append({1})}, in_main({{2, add(1)}}), {}, "", false, kRow, {{2, 1}}}), "logits")
      << "one history in other pieces";
}

TEST(CompareRows, HaveOneShape) {
  const auto shape = [](int rows, int n, int vocab) {
    return in_main({{1, [=](Report& r) {
                       r.logits = LogitsArray{rows, n, vocab, {}, {}};
                       r.logits->data.resize(static_cast<std::size_t>(rows * n * vocab));
                     }}});
  };
  EXPECT_EQ(kind({kRow, shape(2, 1, 4)}), "logits_shape");
  EXPECT_EQ(kind({kRow, shape(1, 2, 4)}), "logits_shape");
  EXPECT_EQ(kind({kRow, shape(1, 1, 3)}), "logits_shape");
  const std::vector<Step> pieces = {open(), append({3}), append({1})};
  const Spoil narrow = in_main({{2, [](Report& r) { r.logits = LogitsArray{1, 1, 2, {0, 0}, {}}; }}});
  EXPECT_EQ(kind({pieces, narrow, {}, "", false, kRow, {{2, 1}}}), "logits_shape") << "also where the steps differ";
}

TEST(CompareTokens, DifferAsATieOnlyWithinTheMargin) {
  const std::vector<Step> steps = {open(), generate(2, {3, 1})};
  EXPECT_EQ(kind({steps}), "pass");
  EXPECT_EQ(kind({steps, in_main({{1, turn()}})}), "tokens");
  EXPECT_EQ(kind({steps, in_main({{1, turn()}}), ties}), "tie");
  EXPECT_EQ(kind({steps, in_main({{1, turn(1)}}), ties}), "tie") << "the first token agrees";
  EXPECT_EQ(kind({steps, in_main({{1, turn()}}), drifts(0.01)}), "tie") << "no margin is known";
  EXPECT_EQ(kind({steps, in_main({{1, turn()}}), drifts({})}), "vacuous");
  const auto exact = [](FakeLab& lab) { ties(lab), lab.declare().declarations.bitwise = {"reset"}; };
  EXPECT_EQ(kind({steps, in_main({{1, turn()}}), exact, "reset"}), "tokens") << "equal bits choose equal tokens";
  EXPECT_EQ(kind({steps, in_main({{1, turn()}}), drifts({}, {"reset"}), "reset"}), "tokens");
}

TEST(CompareTokens, AreAsManyForOneReason) {
  const std::vector<Step> steps = {open(), generate(2, {3, 1})};
  EXPECT_EQ(kind({steps, in_main({{1, [](Report& r) { (*r.tokens)[0].pop_back(); }}})}), "token_count");
  EXPECT_EQ(kind({steps, in_main({{1, [](Report& r) { r.tokens->push_back({1}); }}})}), "token_count") << "a row too many";
  EXPECT_EQ(kind({steps, in_main({{1, [](Report& r) { (*r.stopped)[0] = "capacity"; }}})}), "stop_reason");
  EXPECT_EQ(kind({steps, in_main({{1, [](Report& r) { r.tokens.reset(); }}})}), "vacuous");
}

TEST(CompareTokens, OfSuppressedStopIdsAreNoTie) {
  FakeLab probe({open()});
  const Token first = probe.row({3, 1}).argmax();
  const std::vector<Step> steps = {open(), Generate{"a", Rows{{3, 1}}, Loop{2, Tokens{first}, 2, {}}}};
  const auto emits = [=](Report& r) { (*r.tokens)[0][0] = first; };
  EXPECT_EQ(kind({steps, in_main({{1, emits}}), ties}), "tokens") << "minus infinity is near nothing";
}

TEST(CompareTokens, OfAnotherBudgetAreComparedAsFarAsBothReach) {
  const std::vector<Step> long_run = {complete({3, 1}, 3)}, short_run = {complete({3, 1}, 2)};
  EXPECT_EQ(kind({long_run, {}, {}, "", false, short_run}), "pass");
  EXPECT_EQ(kind({short_run, {}, {}, "", false, long_run}), "pass");
  EXPECT_EQ(kind({long_run, in_main({{0, turn(1)}}), {}, "", false, short_run}), "tokens");
  EXPECT_EQ(kind({long_run, in_main({{0, turn(2)}}), {}, "", false, short_run}), "pass");
  EXPECT_EQ(kind({long_run, in_main({{0, [](Report& r) { (*r.tokens)[0].resize(1); }}}), {}, "", false, short_run}),
            "token_count");
}

TEST(CompareAfterATie, TheSessionIsLeftAloneUntilItIsEmptied) {
  const std::vector<Step> steps = {open(), generate(1, {3, 1}), append({2}), Reset{"a"}, append({1})};
  EXPECT_EQ(kind({steps, in_main({{1, turn()}, {2, add(1)}}), ties}), "tie");
  EXPECT_EQ(kind({steps, in_main({{1, turn()}, {2, status(Status::kFailed)}}), ties}), "tie") << "not even its status";
  EXPECT_EQ(kind({steps, in_main({{1, turn()}, {4, add(1e10)}}), ties}), "logits") << "emptied it is compared again";
}

TEST(CompareAfterATie, OtherSessionsAreStillCompared) {
  const std::vector<Step> steps = {open(), open("b"), generate(1, {3, 1}), append({2}, "b")};
  EXPECT_EQ(kind({steps, in_main({{2, turn()}, {3, add(1e10)}}), ties}), "logits");
}

TEST(CompareAfterATie, CopiesAreLeftAloneToo) {
  const std::vector<Step> fork = {open(), generate(1, {3, 1}), Fork{"a", "b"}, append({2}, "b")};
  EXPECT_EQ(kind({fork, in_main({{1, turn()}, {3, status(Status::kFailed)}}), ties}), "tie");
  const std::vector<Step> saved = {open(),           open("b"),  generate(1, {3, 1}), Save{"a", "s"}, Restore{"b", "s"},
                                   append({2}, "b"), Reset{"b"}, append({2}, "b")};
  EXPECT_EQ(kind({saved, in_main({{2, turn()}, {5, status(Status::kFailed)}}), ties}), "tie");
  EXPECT_EQ(kind({saved, in_main({{2, turn()}, {7, status(Status::kFailed)}}), ties}), "status");
}

TEST(CompareAfterATie, OneShotCallsPartNothing) {
  const std::vector<Step> steps = {open(), complete({3, 1}, 1), append({2})};
  EXPECT_EQ(kind({steps, in_main({{1, turn()}, {2, add(1e10)}}), ties}), "logits");
}

TEST(CompareStatus, DiffersWhereOnlyOneRunAnswers) {
  EXPECT_EQ(kind({kRow, in_main({{1, status(Status::kFailed)}})}), "status");
  EXPECT_EQ(kind({kRow, in_main({{1, status(Status::kRefused)}})}), "status");
  EXPECT_EQ(kind({{open(), append({9})}}), "vacuous") << "refused in both";
}

TEST(CompareStatus, OfABadCallThatWasAnsweredIsAnotherLawsMatter) {
  const std::vector<Step> steps = {open(), append({9}), append({1})};
  EXPECT_EQ(kind({steps, in_main({{1, status(Status::kOk)}})}), "vacuous") << "what it left in the session is not known";
}

TEST(CompareTornSessions, NothingIsJudgedUntilReset) {
  const std::vector<Step> steps = {open(), append({3}), append({1}), Reset{"a"}, append({2})};
  const std::map<int, Change> fails = {{1, status(Status::kFailed)}};
  EXPECT_EQ(kind({steps, in_both(fails, {{2, add(1)}})}), "pass");
  EXPECT_EQ(kind({steps, in_both(fails, {{2, status(Status::kRefused)}})}), "pass");
  EXPECT_EQ(kind({steps, in_both(fails, {{4, add(1)}})}), "logits");
  const std::vector<Step> beside = {open(), open("b"), append({3}), append({1}, "b")};
  EXPECT_EQ(kind({beside, in_both({{2, status(Status::kFailed)}}, {{3, add(1)}})}), "logits") << "another session is not torn";
}

TEST(CompareLengths, ByValueWhereBothSessionsHoldOneHistory) {
  const auto length = [](Value value) { return Change([=](Report& r) { r.lengths = LengthReport{false, {value}}; }); };
  EXPECT_EQ(kind({kRow, in_main({{1, length(IntegerValue{3})}}), {}, "", true}), "length_value");
  EXPECT_EQ(kind({kRow, in_main({{1, length(IntegerValue{3})}}), {}, "", false}), "pass") << "not asked for";
  EXPECT_EQ(kind({kRow, in_main({{1, length(RealValue{2.0})}}), {}, "", true}), "pass") << "the type is another law's matter";
  EXPECT_EQ(kind({kRow, in_main({{1, length(ArrayValue{"int64", {1}, {3}, "cpu"})}}), {}, "", true}), "length_value");
  EXPECT_EQ(kind({kRow, in_main({{1, length(TextValue{"2"})}}), {}, "", true}), "pass") << "no number";
  const std::vector<Step> shots = {complete({3, 1}, 1)};
  EXPECT_EQ(kind({shots, in_main({{0, length(IntegerValue{7})}}), {}, "", true}), "pass") << "of a cache that is kept";
  EXPECT_EQ(kind({kRow, {}, {}, "", true, {open(), append({3, 1, 2})}, {{1, 1}}}), "vacuous") << "another history";
}

TEST(CompareLengths, OfEveryRow) {
  const std::vector<Step> steps = {open("a", 2), Append{"a", {{3}, {1}}, {}, Want::kLast, true}};
  const Change second = [](Report& r) { r.lengths = LengthReport{true, {IntegerValue{1}, IntegerValue{2}}}; };
  EXPECT_EQ(kind({steps, in_main({{1, second}}), {}, "", true}), "length_value");
}

TEST(ComparePairs, OutsideARunAreSkipped) {
  EXPECT_EQ(kind({kRow, {}, {}, "", false, {}, {{-1, 0}, {0, 7}, {9, 1}}}), "vacuous");
}

TEST(CompareFailures, CarryTheTwinAndTheStep) {
  const Verdict verdict = compared({kRow, in_main({{1, add(1)}}), {}, "crop"});
  const Divergence& d = *divergence_of(verdict);
  EXPECT_EQ(d.op, "append");
  EXPECT_EQ(d.step, 1);
  EXPECT_NE(d.twin.find("append   a 3 1"), std::string::npos) << d.twin;
  EXPECT_NE(d.detail.find("relation crop"), std::string::npos) << d.detail;
}

TEST(GatheredVerdicts, RankFailureOverTieOverPassOverVacuous) {
  const auto name = [](const std::vector<Verdict>& verdicts) {
    Gathered gathered;
    for (const Verdict& verdict : verdicts) gathered.add(verdict);
    return std::string(verdict_name(gathered.verdict("")));
  };
  EXPECT_EQ(name({Vacuous{"nothing"}}), "vacuous");
  EXPECT_EQ(name({Vacuous{"nothing"}, Pass{}}), "pass");
  EXPECT_EQ(name({Pass{}, Tie{"here"}, Pass{}}), "tie");
  EXPECT_EQ(name({Tie{"here"}, Fail{}, Pass{}}), "fail");
  Gathered gathered;
  gathered.add(Vacuous{"first"});
  gathered.add(Vacuous{"second"});
  EXPECT_EQ(std::get<Vacuous>(gathered.verdict("")).reason, "first");
  EXPECT_EQ(std::get<Vacuous>(gathered.verdict("own")).reason, "own");
}

}  // namespace
}  // namespace cachet::testing
