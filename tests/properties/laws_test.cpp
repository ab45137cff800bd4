// Each law over the fake lab: silent on an honest backend, one failure for each kind, and never a crash on mangled reports.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "fake_lab.h"
#include "harness/lab.h"
#include "properties/properties.h"

namespace cachet::testing {
namespace {

Step open(int rows = 1, int capacity = 12) { return Open{"a", rows, capacity}; }
Step append(Tokens tokens, Want want = Want::kLast) { return Append{"a", {std::move(tokens)}, {}, want, true}; }
Step generate(int n, std::optional<Rows> tokens = {}) { return Generate{"a", std::move(tokens), Loop{n, {}, 0, {}}}; }
Step complete(Tokens tokens, int n) { return Complete{{std::move(tokens)}, {}, Loop{n, {}, 0, {}}}; }

Verdict judged(const std::string& law, FakeLab& lab, const std::vector<Step>& steps, std::vector<std::int64_t> vary = {}) {
  Case value;
  value.law = law;
  value.vary = std::move(vary);
  value.trace.events = {Load{"m", lab.main().model->spec}, Run{"m", steps}};
  return find_law(properties::properties(), law)->judge(value, lab);
}

std::string kind_of(const Verdict& verdict) {
  const Divergence* d = divergence_of(verdict);
  return d == nullptr ? verdict_name(verdict) : d->kind;
}

/// What the law says of `steps` when `spoil` has been at the reports.
std::string outcome(const std::string& law, const std::vector<Step>& steps, Spoil spoil = {},
                    const std::function<void(FakeLab&)>& prepare = {}) {
  FakeLab lab(steps, std::move(spoil));
  if (prepare) prepare(lab);
  return kind_of(judged(law, lab, steps));
}

Spoil at(int step, std::function<void(Report&)> change, int life = 0) {
  return [=](const Step&, int index, int in_life, Report& report) {
    if (index == step && in_life == life) change(report);
  };
}

const std::vector<Step> kWalk = {
    open(),         append({3, 1, 2}, Want::kAll), generate(2),        append({0, 1}), Crop{"a", {2}}, append({1}), Reset{"a"},
    append({2, 2}), complete({3, 1}, 2),           complete({3, 1}, 2)};

TEST(Laws, AnHonestBackendHoldsEveryOne) {
  std::vector<Step> steps = kWalk;
  steps.insert(steps.end(), {append({9}), append(Tokens(11, 1)), Poison{"a"}, append({1}), Complete{{{1}, {2}}, {}, Loop{}}});
  for (const Property& law : properties::properties()) {
    FakeLab lab(steps);
    lab.declare().capabilities.insert("poison");
    if (missing_need(law, lab.configuration())) continue;  // laws about compiling: below
    const Verdict verdict = judged(law.name, lab, steps);
    EXPECT_FALSE(is_failure(verdict)) << law.name << ": " << kind_of(verdict);
    EXPECT_STRNE(verdict_name(verdict), "vacuous") << law.name;
  }
}

/// Declares graphs for appends of 1 and 8 tokens.
void compiling(FakeLab& lab) {
  lab.declare().capabilities.insert({"compilations", "recompile"});
  lab.declare().declarations.compile_budget = {{"prefill", 1}};
  lab.declare().declarations.append_buckets = {1, 8};
}

/// Every append of the lives that `in_life` names compiles the graph `signature`.
Spoil compiles(const std::string& signature, const std::function<bool(int index, int life)>& when) {
  return [=](const Step& step, int index, int life, Report& report) {
    if (std::holds_alternative<Append>(step) && when(index, life)) report.compilations = {{{"prefill", signature}}};
  };
}

TEST(CompileBudget, HoldsWhereEachGraphIsCompiledOnceAndAgainAfterRecompile) {
  const char* law = "compile_budget";
  const std::vector<Step> steps = {open(), append({3}), append({1})};
  const auto first = [](int index, int life) { return life != 1 && index == (life == 3 ? 2 : 1); };  // 1: warm, 3: recompiled
  EXPECT_EQ(outcome(law, steps, compiles("a", first), compiling), "pass");
  EXPECT_EQ(outcome(law, steps, {}, compiling), "vacuous");
  EXPECT_EQ(outcome(law, steps, compiles("a", [](int, int life) { return life == 0; }), compiling), "compiled_again");
  EXPECT_EQ(outcome(law, steps, compiles("a", [](int index, int life) { return index == 1 && life < 2; }), compiling),
            "compiled_again");
  EXPECT_EQ(
      outcome(law, steps, compiles("a", [](int index, int life) { return index == 1 && life != 1 && life != 3; }), compiling),
      "not_compiled");
}

TEST(CompileBudget, CountsSignaturesAgainstTheBuckets) {
  const auto each = [](const Step& step, int index, int life, Report& report) {
    if (std::holds_alternative<Append>(step) && life == 0) report.compilations = {{{"prefill", std::to_string(index)}}};
  };
  EXPECT_EQ(outcome("compile_budget", {open(), append({3}), append({1}), append({2})}, each, compiling), "signatures");
}

TEST(EagerEqualsCompiled, ComparesWithTheOtherConfiguration) {
  const char* law = "eager_equals_compiled";
  EXPECT_EQ(outcome(law, kWalk), "pass");
  EXPECT_EQ(outcome(law, kWalk,
                    at(
                        1, [](Report& r) { r.logits->data[0] += 1; }, 1)),
            "logits");
  EXPECT_EQ(outcome(law, kWalk,
                    at(
                        2, [](Report& r) { (*r.tokens)[0][0] ^= 1; }, 1)),
            "tokens");
}

TEST(ShapesStayStatic, FailsOnAShapeOutsideTheBuckets) {
  const char* law = "shapes_stay_static";
  EXPECT_EQ(outcome(law, {open(), append({3})}, {}, compiling), "pass");
  EXPECT_EQ(outcome(law, {open(), append({3, 1})}, {}, compiling), "shape");
  EXPECT_EQ(outcome(law, {open(), append({3, 1})}), "vacuous");
}

TEST(CompileOrderIsFree, ComparesWithTheSessionsInTheOppositeOrder) {
  const std::vector<Step> steps = {open(), append({3}), Open{"b", 1, 8}, Append{"b", {{1}}, {}, Want::kLast, true}};
  const char* law = "compile_order_is_free";
  EXPECT_EQ(outcome(law, steps, {}, compiling), "pass");
  EXPECT_EQ(outcome(law, steps,
                    at(
                        1, [](Report& r) { r.logits->data[0] += 1; }, 1),
                    compiling),
            "logits");
  FakeLab lab(steps);
  judged(law, lab, steps);
  ASSERT_EQ(lab.asked.size(), 1U);
  EXPECT_EQ(lab.asked.front(), (std::vector<Step>{steps[2], steps[3], steps[0], steps[1]}));
  EXPECT_EQ(outcome(law, {open(), append({3})}, {}, compiling), "vacuous");
}

TEST(SeqLengthIsIntegral, FailsOnArraysAndRealsAndIsVacuousWithoutLengths) {
  const char* law = "seq_length_is_integral";
  EXPECT_EQ(outcome(law, kWalk,
                    at(1,
                       [](Report& r) {
                         r.lengths = LengthReport{false, {ArrayValue{"int64", {1}, {3}, "cpu"}}};
                       })),
            "length_type");
  EXPECT_EQ(outcome(law, kWalk,
                    at(1,
                       [](Report& r) {
                         (*r.layer_lengths)[1] = LengthReport{false, {RealValue{3.0}}};
                       })),
            "length_type");
  EXPECT_EQ(outcome(law, kWalk, [](const Step&, int, int, Report& r) { r.lengths.reset(), r.layer_lengths.reset(); }), "vacuous");
}

TEST(SeqLengthCountsTokens, FailsOnWrongValuesInRowsAndLayers) {
  const char* law = "seq_length_counts_tokens";
  EXPECT_EQ(outcome(law, kWalk, at(1, [](Report& r) { r.lengths = LengthReport{false, {IntegerValue{4}}}; })), "length_value");
  EXPECT_EQ(outcome(law, kWalk,
                    at(2,
                       [](Report& r) {
                         r.lengths = LengthReport{false, {IntegerValue{5}}};
                       })),
            "length_value")
      << "the last token is pending";
  EXPECT_EQ(outcome(law, kWalk,
                    at(6,
                       [](Report& r) {
                         (*r.layer_lengths)[1] = LengthReport{false, {IntegerValue{1}}};
                       })),
            "layer_length");
  EXPECT_EQ(outcome(law, kWalk, at(1, [](Report& r) { r.lengths = LengthReport{true, {}}; })), "length_rows");
  EXPECT_EQ(outcome(law, kWalk,
                    at(1,
                       [](Report& r) {
                         r.lengths = LengthReport{false, {ArrayValue{"int64", {1}, {3}, "cpu"}}};
                       })),
            "pass")
      << "the type is another law's matter";
}

TEST(TailSliceIsExact, TellsEmptyGapOverlapAndWrongApart) {
  const char* law = "tail_slice_is_exact";
  const auto feed = [&](int step, Tokens tokens) {
    return outcome(law, kWalk, at(step, [=](Report& r) { r.calls = std::vector<ModelCall>{{{tokens}, {}, {1, 1}}}; }));
  };
  EXPECT_EQ(feed(1, {}), "empty_slice");
  EXPECT_EQ(feed(1, {1, 2}), "gap");
  EXPECT_EQ(feed(5, {1, 1}), "overlap");
  EXPECT_EQ(feed(1, {3, 1, 1}), "fed_wrong");
  EXPECT_EQ(feed(3, {0, 1}), "gap") << "the pending token comes first";
  EXPECT_EQ(outcome(law, kWalk, [](const Step&, int, int, Report& r) { r.calls.reset(); }), "vacuous");
  EXPECT_EQ(outcome(law, kWalk, at(9, [](Report& r) { r.calls = std::vector<ModelCall>{{{{}}, {}, {1, 0}}}; })), "empty_slice");
  const auto breaks = [](Rows fed) {
    return at(1, [=](Report& r) { r.status = Status::kFailed, r.calls = std::vector<ModelCall>{{fed, {}, {1, 1}}}; });
  };
  EXPECT_EQ(outcome(law, kWalk, breaks({{}})), "empty_slice") << "the call that broke the engine counts";
  EXPECT_EQ(outcome(law, kWalk, at(9, [](Report& r) { r.cached = std::vector<std::int64_t>{1}; })), "overlap")
      << "the whole prompt fed beside a cached part";
}

TEST(OverflowIsRefused, JudgesTheLastSlotAndTheOneAfter) {
  const char* law = "overflow_is_refused";
  const std::vector<Step> full = {open(1, 3), append({1, 2, 3}), append({1}), Length{"a"}};
  const auto ok = [](Report& r) { r.status = Status::kOk; };
  const auto refuse = [](Report& r) { r.status = Status::kRefused; };
  EXPECT_EQ(outcome(law, full), "pass");
  EXPECT_EQ(outcome(law, full, at(2, ok)), "answered:past_capacity");
  EXPECT_EQ(outcome(law, full, at(2, [](Report& r) { r.status = Status::kFailed; })), "failed:past_capacity");
  EXPECT_EQ(outcome(law, full, at(1, refuse)), "exact_fill");
  EXPECT_EQ(outcome(law, full, at(2, [](Report& r) { r.calls = std::vector<ModelCall>{{}}; }),
                    [](FakeLab& l) { l.declare().declarations.overflow = "refuse"; }),
            "fed_before_refusal");
  EXPECT_EQ(outcome(law, {open(), append({1})}), "vacuous");
}

TEST(BadCallsAreRefused, FailsOnAnswersFailuresAndSilence) {
  const char* law = "bad_calls_are_refused";
  const std::vector<Step> bad = {open(), append({1}), append({4})};
  EXPECT_EQ(outcome(law, bad), "pass");
  EXPECT_EQ(outcome(law, bad, at(2, [](Report& r) { r.status = Status::kOk; })), "answered:token_outside_vocabulary");
  EXPECT_EQ(outcome(law, bad, at(2, [](Report& r) { r.status = Status::kFailed; })), "failed:token_outside_vocabulary");
  EXPECT_EQ(outcome(law, bad, at(2, [](Report& r) { r.kind.clear(), r.message.clear(); })), "unnamed:token_outside_vocabulary");
  EXPECT_EQ(outcome(law, kWalk), "vacuous");
}

TEST(ValidCallsAreAnswered, FailsOnRefusalAndFailure) {
  const char* law = "valid_calls_are_answered";
  EXPECT_EQ(outcome(law, kWalk, at(3, [](Report& r) { r.status = Status::kRefused; })), "refused");
  EXPECT_EQ(outcome(law, kWalk, at(3, [](Report& r) { r.status = Status::kFailed; })), "failed");
  EXPECT_EQ(outcome(law, {append({1})}), "vacuous");
}

TEST(LogitsMatchReference, JudgesEveryRowAndShape) {
  const char* law = "logits_match_reference";
  EXPECT_EQ(outcome(law, kWalk, at(1, [](Report& r) { r.logits->data[5] += 1e-3; })), "logits") << "a middle row";
  EXPECT_EQ(outcome(law, kWalk, at(1, [](Report& r) { r.logits->data[5] += 1e-7; })), "pass");
  EXPECT_EQ(outcome(law, kWalk, at(1, [](Report& r) { r.logits->data[5] = NAN; })), "not_finite");
  EXPECT_EQ(outcome(law, kWalk, at(1, [](Report& r) { r.logits->n = 1, r.logits->data.resize(4); })), "logits_shape");
  EXPECT_EQ(outcome(law, kWalk, at(1, [](Report& r) { r.logits->vocab = 3, r.logits->data.resize(9); })), "logits_shape");
  EXPECT_EQ(outcome(law, kWalk, at(1, [](Report& r) { r.logits->absent.assign(12, true); })), "logits_absent");
  EXPECT_EQ(outcome(law, kWalk, [](const Step&, int, int, Report& r) { r.logits.reset(); }), "vacuous");
  EXPECT_EQ(outcome(law, kWalk, {}, [](FakeLab& l) { l.reference = false; }), "unsupported");
}

TEST(GreedyTokensMatchReference, JudgesTokensCountsReasonsAndTies) {
  const char* law = "greedy_tokens_match_reference";
  const auto other = [](Report& r) { (*r.tokens)[0][1] = ((*r.tokens)[0][1] + 1) % 4; };
  EXPECT_EQ(outcome(law, kWalk, at(2, other)), "tokens");
  EXPECT_EQ(outcome(law, kWalk, at(2, other), [](FakeLab& l) { l.envelope = 1e9; }), "tie");
  EXPECT_EQ(outcome(law, kWalk, at(2, [](Report& r) { (*r.tokens)[0].pop_back(); })), "token_count");
  EXPECT_EQ(outcome(law, kWalk, at(2, [](Report& r) { r.tokens->clear(); })), "tokens_shape");
  EXPECT_EQ(outcome(law, kWalk, at(2, [](Report& r) { (*r.stopped)[0] = "stop"; })), "stop_reason");
  EXPECT_EQ(outcome(law, {open(), append({1})}), "vacuous");
}

TEST(RepeatCall, FailsWhenASecondCallDiffersFromAFirst) {
  const auto change = [](Report& r) { (*r.tokens)[0][0] = ((*r.tokens)[0][0] + 1) % 4; };
  EXPECT_EQ(outcome("repeat_call", {complete({3, 1}, 1), complete({3, 1}, 1)}, at(1, change)), "tokens");
  EXPECT_EQ(
      outcome("repeat_call", {complete({3, 1}, 1), complete({3, 1}, 1)}, at(1, change), [](FakeLab& l) { l.envelope = 1e9; }),
      "tie");
  EXPECT_EQ(
      outcome("repeat_call", {complete({3, 1}, 1), complete({3, 1}, 1)}, at(1, [](Report& r) { r.status = Status::kFailed; })),
      "status");
  EXPECT_EQ(outcome("repeat_call", {Length{"a"}}), "vacuous");
}

TEST(ResetIsFresh, ComparesWhatFollowsWithANewSession) {
  const std::vector<Step> steps = {open(), append({3, 1, 2}), Reset{"a"}, append({2, 2})};
  EXPECT_EQ(outcome("reset_is_fresh", steps), "pass");
  EXPECT_EQ(outcome("reset_is_fresh", steps,
                    at(2,
                       [](Report& r) {
                         r.lengths = LengthReport{false, {IntegerValue{3}}};
                       })),
            "length_value");
  EXPECT_EQ(outcome("reset_is_fresh", steps, at(3, [](Report& r) { r.logits->data[0] += 1; })), "logits");
  EXPECT_EQ(outcome("reset_is_fresh", {open(), Reset{"a"}, append({2})}), "vacuous") << "nothing to forget";
}

TEST(CropForgets, ComparesWhatFollowsWithAFreshPrefix) {
  const std::vector<Step> steps = {open(), append({3, 1, 2}), Crop{"a", {1}}, append({2, 2})};
  FakeLab lab(steps);
  EXPECT_EQ(kind_of(judged("crop_forgets", lab, steps)), "pass");
  EXPECT_EQ(lab.asked.at(0).at(1), append({3}));
  EXPECT_EQ(outcome("crop_forgets", steps, at(3, [](Report& r) { r.logits->data[0] += 1; })), "logits");
  EXPECT_EQ(outcome("crop_forgets", steps,
                    at(2,
                       [](Report& r) {
                         r.lengths = LengthReport{false, {IntegerValue{3}}};
                       })),
            "length_value");
  EXPECT_EQ(outcome("crop_forgets", {open(), append({3}), Crop{"a", {1}}}), "vacuous");
}

TEST(ChunkedAppend, SplitsEveryAppendAndComparesTheRowsTheyShare) {
  const std::vector<Step> steps = {open(), append({3, 1, 2}, Want::kAll), append({1})};
  FakeLab lab(steps);
  EXPECT_EQ(kind_of(judged("chunked_append", lab, steps, {2})), "pass");
  EXPECT_EQ(lab.asked.at(0),
            (std::vector<Step>{open(), append({3}, Want::kAll), append({1}, Want::kAll), append({2}, Want::kAll), append({1})}));
  EXPECT_EQ(outcome("chunked_append", steps, at(1, [](Report& r) { r.logits->data[0] += 1; })), "logits") << "the first row";
  EXPECT_EQ(outcome("chunked_append", steps,
                    at(
                        2, [](Report& r) { r.logits->data[0] += 1; }, 1)),
            "logits")
      << "a row of the last piece";
  EXPECT_EQ(outcome("chunked_append", {open(), append({1})}), "vacuous");
}

TEST(RefusalsAreAtomic, DropsWhatWasRefusedFromTheTwin) {
  const std::vector<Step> steps = {open(), append({3, 1}), append({4}), append({2})};
  FakeLab lab(steps);
  EXPECT_EQ(kind_of(judged("refusals_are_atomic", lab, steps)), "pass");
  EXPECT_EQ(lab.asked.at(0), (std::vector<Step>{open(), append({3, 1}), append({2})}));
  EXPECT_EQ(outcome("refusals_are_atomic", steps, at(3, [](Report& r) { r.logits->data[0] += 1; })), "logits");
  EXPECT_EQ(outcome("refusals_are_atomic", {open(), append({4})}), "vacuous");
}

TEST(ContextMatters, FailsWhenRowsIgnoreEarlierTokens) {
  const std::vector<Step> steps = {open(), append({3, 1}), append({2})};
  const Spoil blind = [](const Step&, int index, int, Report& r) {
    if (index == 2) r.logits->data = {1, 2, 3, 4};
  };
  EXPECT_EQ(outcome("context_matters", steps), "pass");
  EXPECT_EQ(outcome("context_matters", steps, blind), "ignored");
  EXPECT_EQ(outcome("context_matters", steps, blind, [](FakeLab& l) { l.envelope = 1e9; }), "vacuous");
}

TEST(LogitsAreFinite, LooksAtEveryReturnedRowAndAtNoAbsentOne) {
  const char* law = "logits_are_finite";
  const auto no_reference = [](FakeLab& l) { l.reference = false; };
  EXPECT_EQ(outcome(law, kWalk, {}, no_reference), "pass");
  EXPECT_EQ(outcome(law, kWalk, at(1, [](Report& r) { r.logits->data[5] = NAN; }), no_reference), "not_finite") << "a middle row";
  EXPECT_EQ(outcome(law, kWalk, at(3, [](Report& r) { r.logits->data[0] = -INFINITY; })), "not_finite");
  EXPECT_EQ(outcome(law, kWalk,
                    at(1,
                       [](Report& r) {
                         for (int i = 0; i < 4; ++i) r.logits->data[i] = NAN;
                         r.logits->absent.assign(r.logits->data.size(), false);
                         for (int i = 0; i < 4; ++i) r.logits->absent[i] = true;
                       })),
            "pass")
      << "what is absent is no row";
  EXPECT_EQ(outcome(law, {open(), Length{"a"}}), "vacuous");
}

TEST(StopsWhereItShould, JudgesTheEndByTheBackendsOwnTokens) {
  const char* law = "stops_where_it_should";
  const std::vector<Step> steps = {open(), Generate{"a", Rows{{3, 1}}, Loop{3, Tokens{2}, 0, {}}}, complete({3, 1}, 3),
                                   Complete{{{3, 1}}, {}, Loop{3, Tokens{2}, 2, {}}}};
  const auto says = [&](int step, Tokens tokens, const std::string& reason, const std::function<void(FakeLab&)>& prepare = {}) {
    return outcome(law, steps,
                   at(step, [=](Report& r) { r.tokens = Rows{tokens}, r.stopped = std::vector<std::string>{reason}; }), prepare);
  };
  EXPECT_EQ(outcome(law, steps), "pass");
  EXPECT_EQ(says(1, {2}, "stop"), "pass");
  EXPECT_EQ(says(1, {1, 2}, "stop"), "pass") << "whatever the reference says";
  EXPECT_EQ(says(1, {1, 3, 2}, "length"), "pass") << "both reasons are true";
  EXPECT_EQ(says(1, {2, 1}, "stop"), "token_count") << "on after the stop id";
  EXPECT_EQ(says(1, {1}, "length"), "token_count") << "too few without one";
  EXPECT_EQ(says(1, {1, 1, 1, 1}, "length"), "token_count");
  EXPECT_EQ(says(1, {2}, "length"), "stop_reason");
  EXPECT_EQ(says(1, {1, 1, 1}, "stop"), "stop_reason");
  EXPECT_EQ(says(2, {1, 2, 1}, "length"), "pass") << "no stop id is in force";
  EXPECT_EQ(says(3, {2, 1, 1}, "length"), "stop_before_min_new");
  EXPECT_EQ(says(3, {1, 1, 2}, "stop"), "pass");
  const auto padded = [](FakeLab& l) {
    l.declare().declarations.pads_after_stop = true;
    l.declare().declarations.pad_token = 2;
  };
  EXPECT_EQ(says(1, {1, 2, 2}, "stop", padded), "pass") << "the pad is the stop id";
  EXPECT_EQ(says(1, {2, 1, 2}, "stop", padded), "token_count");
  EXPECT_EQ(outcome(law, steps, at(1, [](Report& r) { r.tokens->push_back({1}); })), "tokens_shape");
  EXPECT_EQ(outcome(law, {open(), append({1})}), "vacuous");
  EXPECT_EQ(outcome(law, steps, [](const Step&, int, int, Report& r) { r.tokens.reset(); }), "vacuous");
}

TEST(ContinuesConversation, ComparesWithTheEmittedTokensFed) {
  const char* law = "continues_conversation";
  const std::vector<Step> steps = {open(), append({3, 1}), generate(2), append({0}), generate(1)};
  FakeLab lab(steps);
  EXPECT_EQ(kind_of(judged(law, lab, steps)), "pass");
  const Tokens emitted = lab.main().record.reports[2].tokens->front();
  EXPECT_EQ(lab.asked.at(0), (std::vector<Step>{open(), append({3, 1}), append(emitted), append({0}), generate(1)}));
  EXPECT_EQ(outcome(law, steps, at(3, [](Report& r) { r.logits->data[0] += 1; })), "logits");
  EXPECT_EQ(outcome(law, steps, at(4, [](Report& r) { (*r.tokens)[0][0] = ((*r.tokens)[0][0] + 1) % 4; })), "tokens");
  EXPECT_EQ(outcome(law, {open(), generate(2, Rows{{3}})}), "vacuous") << "nothing follows";
  EXPECT_EQ(outcome(law, {open(1, 3), generate(3, Rows{{3}}), Length{"a"}}), "vacuous") << "the last token has no slot";
  FakeLab pieces({open(), generate(3, Rows{{3}}), append({0})});
  pieces.declare().declarations.append_max = 2;
  EXPECT_EQ(kind_of(judged(law, pieces, {open(), generate(3, Rows{{3}}), append({0})})), "pass");
  EXPECT_EQ(pieces.asked.at(0).size(), 4U) << "four tokens in two pieces";
  EXPECT_EQ(outcome(law, steps, {}, [](FakeLab& l) { l.declare().declarations.append_min = 2; }), "vacuous");
}

TEST(SessionsAreIsolated, ComparesWithTheSessionAlone) {
  const char* law = "sessions_are_isolated";
  const Step other = Append{"b", {{2}}, {}, Want::kLast, true};
  const std::vector<Step> steps = {open(), append({3, 1}), Open{"b", 1, 4}, other, append({2}), complete({1}, 1)};
  FakeLab lab(steps);
  EXPECT_EQ(kind_of(judged(law, lab, steps)), "pass");
  EXPECT_EQ(lab.asked.at(0), (std::vector<Step>{open(), append({3, 1}), append({2})})) << "the session that answered last";
  FakeLab second(steps);
  EXPECT_EQ(kind_of(judged(law, second, steps, {1})), "pass");
  EXPECT_EQ(second.asked.at(0), (std::vector<Step>{Open{"b", 1, 4}, other}));
  EXPECT_EQ(outcome(law, steps, at(4, [](Report& r) { r.logits->data[0] += 1; })), "logits");
  EXPECT_EQ(outcome(law, steps, at(4, [](Report& r) { r.lengths = LengthReport{false, {IntegerValue{4}}}; })), "length_value");
  EXPECT_EQ(outcome(law, {open(), append({3, 1}), append({2})}), "vacuous") << "alone from the beginning";
  EXPECT_EQ(outcome(law, {open(), append({3, 1}), Fork{"a", "b"}, other}), "vacuous") << "a copy does not begin empty";
}

TEST(ObservingChangesNothing, DropsEveryLookFromTheTwin) {
  const char* law = "observing_changes_nothing";
  const std::vector<Step> steps = {open(), append({3, 1}, Want::kAll), Length{"a"}, Append{"a", {{0}}, {}, Want::kLast, false},
                                   append({2})};
  FakeLab lab(steps);
  EXPECT_EQ(kind_of(judged(law, lab, steps)), "pass");
  EXPECT_EQ(lab.asked.at(0), (std::vector<Step>{open(), append({3, 1}), append({2})}));
  EXPECT_EQ(outcome(law, steps, at(4, [](Report& r) { r.logits->data[0] += 1; })), "logits");
  EXPECT_EQ(outcome(law, steps, at(4, [](Report& r) { r.lengths = LengthReport{false, {IntegerValue{4}}}; })), "length_value");
  EXPECT_EQ(outcome(law, {open(), append({3, 1}), append({2})}), "vacuous") << "nothing was looked at";
  EXPECT_EQ(outcome(law, {open(), append({3, 1}), Length{"a"}}), "vacuous") << "nothing was done after it";
}

TEST(CapacityIsInvisible, ChangesCapacitiesAndBudgetsWithinWhatIsNeeded) {
  const char* law = "capacity_is_invisible";
  const std::vector<Step> steps = {open(1, 6), append({3, 1}), generate(2), complete({3, 1}, 3)};
  FakeLab lab(steps);
  EXPECT_EQ(kind_of(judged(law, lab, steps, {1, 0, 1})), "pass");
  const std::vector<Step> twin = lab.asked.at(0);
  EXPECT_NE(std::get<Open>(twin[0]).capacity, 6);
  EXPECT_GE(std::get<Open>(twin[0]).capacity, 4);
  EXPECT_GE(std::get<Complete>(twin[3]).capacity.value_or(0), 5);
  EXPECT_EQ(std::get<Complete>(twin[3]).loop.new_tokens, 2) << "a prefix of the budget";
  EXPECT_EQ(outcome(law, steps, at(1, [](Report& r) { r.logits->data[0] += 1; })), "logits");
  const auto change = [](std::size_t n) { return [=](Report& r) { (*r.tokens)[0][n] = ((*r.tokens)[0][n] + 1) % 4; }; };
  EXPECT_EQ(outcome(law, steps, at(2, change(0))), "tokens");
  FakeLab reached(steps, at(3, change(1))), beyond(steps, at(3, change(2)));
  EXPECT_EQ(kind_of(judged(law, reached, steps, {1, 0, 1})), "tokens");
  EXPECT_EQ(kind_of(judged(law, beyond, steps, {1, 0, 1})), "pass") << "a token that only one of them reaches";
  EXPECT_EQ(outcome(law, {open(1, 16), append(Tokens(16, 1))}), "vacuous") << "all of the context is needed";
}

TEST(PoisonIsUnread, DropsThePoisonFromTheTwin) {
  const char* law = "poison_is_unread";
  const std::vector<Step> steps = {open(), append({3, 1}), Poison{"a"}, append({2})};
  const auto can = [](FakeLab& l) { l.declare().capabilities.insert("poison"); };
  FakeLab lab(steps);
  can(lab);
  EXPECT_EQ(kind_of(judged(law, lab, steps)), "pass");
  EXPECT_EQ(lab.asked.at(0), (std::vector<Step>{open(), append({3, 1}), append({2})}));
  EXPECT_EQ(outcome(law, steps, at(3, [](Report& r) { r.logits->data[0] += 1; }), can), "logits");
  EXPECT_EQ(outcome(law, steps, at(3, [](Report& r) { r.logits->data[0] = NAN; }), can), "logits");
  EXPECT_EQ(outcome(law, {open(), append({3, 1}), Poison{"a"}}, {}, can), "vacuous") << "nothing was done after it";
  EXPECT_EQ(outcome(law, {open(), append({3, 1})}, {}, can), "vacuous");
}

TEST(RowsAreIndependent, ComparesOneRowWithTheRowAlone) {
  const char* law = "rows_are_independent";
  const std::vector<Step> steps = {open(2), Append{"a", {{3, 1}, {2, 2}}, {}, Want::kAll, true}, generate(2),
                                   Append{"a", {{1}, {0}}, {}, Want::kLast, true}, Complete{{{1}, {2}}, {}, Loop{1, {}, 0, {}}}};
  FakeLab lab(steps);
  EXPECT_EQ(kind_of(judged(law, lab, steps, {1})), "pass");
  EXPECT_EQ(lab.asked.at(0),
            (std::vector<Step>{open(1), append({2, 2}, Want::kAll), generate(2), append({0}), complete({2}, 1)}));
  const auto second = [&](Spoil spoil, const std::function<void(FakeLab&)>& prepare = {}) {
    FakeLab spoiled(steps, std::move(spoil));
    if (prepare) prepare(spoiled);
    return kind_of(judged(law, spoiled, steps, {1}));
  };
  EXPECT_EQ(second(at(1, [](Report& r) { r.logits->data[8] += 1; })), "logits");
  EXPECT_EQ(second(at(1, [](Report& r) { r.logits->data[0] += 1; })), "pass") << "the other row's";
  EXPECT_EQ(second(at(1, [](Report& r) { r.logits->data[8] += 1e-9; })), "pass");
  const auto bits = [](FakeLab& l) { l.declare().declarations.bitwise = {"batch"}; };
  EXPECT_EQ(second(at(1, [](Report& r) { r.logits->data[8] += 1e-9; }), bits), "logits");
  EXPECT_EQ(second(at(2, [](Report& r) { (*r.tokens)[1][0] = ((*r.tokens)[1][0] + 1) % 4; })), "tokens");
  EXPECT_EQ(second(at(4, [](Report& r) { (*r.tokens)[1][0] = ((*r.tokens)[1][0] + 1) % 4; })), "tokens");
  EXPECT_EQ(second(at(4, [](Report& r) { (*r.stopped)[1] = "stop"; })), "stop_reason");
  EXPECT_EQ(second(at(1, [](Report& r) { r.lengths = LengthReport{true, {IntegerValue{2}, IntegerValue{3}}}; })), "length_value");
  EXPECT_EQ(second(at(1, [](Report& r) { r.status = Status::kFailed; })), "status");
  EXPECT_EQ(outcome(law, kWalk), "vacuous") << "one row";
}

/// Any damage to any report: laws may say what they like, but they must say it.
void mangle(Report& r, std::mt19937& random) {
  const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const auto rows = [&] {
    return Rows(static_cast<std::size_t>(pick(3)), Tokens(static_cast<std::size_t>(pick(4)), pick(9) - 3));
  };
  switch (pick(14)) {
    case 0:
      r.status = static_cast<Status>(pick(3));
      break;
    case 1:
      r.logits.reset();
      break;
    case 2:
      r.logits = LogitsArray{pick(3), pick(3), pick(6), {}, {}};
      r.logits->data.assign(static_cast<std::size_t>(r.logits->rows * r.logits->n * r.logits->vocab), pick(2) ? NAN : 1.0);
      break;
    case 3:
      if (r.logits) r.logits->absent.assign(r.logits->data.size(), true);
      break;
    case 4:
      r.lengths = LengthReport{pick(2) == 0, {NoneValue{}}};
      break;
    case 5:
      r.lengths = LengthReport{true, {}};
      break;
    case 6:
      r.lengths = LengthReport{false, {ArrayValue{"int64", {2}, {NAN, 1}, "cpu"}}};
      break;
    case 7:
      r.layer_lengths = std::vector<LengthReport>(static_cast<std::size_t>(pick(3)), LengthReport{false, {TextValue{"3"}}});
      break;
    case 8:
      r.tokens = rows();
      break;
    case 9:
      r.stopped = std::vector<std::string>(static_cast<std::size_t>(pick(3)), "why");
      break;
    case 10:
      r.calls = std::vector<ModelCall>(static_cast<std::size_t>(pick(3)), ModelCall{rows(), {}, {}});
      break;
    case 11:
      r.cached = std::vector<std::int64_t>(static_cast<std::size_t>(pick(3)), pick(9) - 3);
      break;
    case 12:
      r.tokens.reset();
      break;
    default:
      r.calls.reset();
      break;
  }
}

TEST(Laws, NeverCrashOnMangledReports) {
  std::mt19937 random(7);
  std::vector<Step> steps = kWalk;
  steps.insert(steps.begin() + 3,
               {append({4}), Fork{"a", "b"}, Append{"b", {{1}}, {}, Want::kLast, true}, Raw{"{\"op\":\"nothing\"}"}});
  for (int i = 0; i < 6000; ++i) {
    const Property& law = properties::properties()[static_cast<std::size_t>(i) % properties::properties().size()];
    FakeLab lab(steps, [&](const Step&, int, int, Report& r) {
      if (random() % 4 == 0) mangle(r, random);
    });
    lab.declare().declarations.pads_after_stop = i % 3 == 0;
    if (i % 5 == 0) lab.declare().declarations.last_token_cached.reset();
    if (i % 7 == 0) lab.declare().declarations.bitwise = {"repeat", "chunk", "reset"};
    const auto vary = [&] { return static_cast<std::int64_t>(random()) - 2'000'000'000; };
    EXPECT_NE(std::string(verdict_name(judged(law.name, lab, steps, {vary(), vary(), vary()}))), "");
  }
}

}  // namespace
}  // namespace cachet::testing
