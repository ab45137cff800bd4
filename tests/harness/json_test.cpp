// The protocol's JSON: exactly as PROTOCOL.md writes it, both ways, with everything malformed named and nothing thrown.
#include "harness/json.h"

#include <gmock/gmock.h>

#include <cmath>
#include <set>

#include "harness/json_array.h"
#include "harness/verdict.h"
#include "tests/harness/drawn_cases.h"

namespace cachet {
namespace {

using ::testing::HasSubstr;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

Json parsed(const std::string& text) {
  Result<Json> value = parse_json(text);
  EXPECT_TRUE(value) << text << ": " << (value ? "" : value.error().message);
  return value ? *value : Json();
}

void expect_step(const Step& step, const std::string& text) {
  EXPECT_EQ(dump(step_to_json(step)), dump(parsed(text)));
  const Result<Step> again = step_from_json(parsed(text));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(*again == step) << text;
}

TEST(StepJson, IsTheProtocols) {
  expect_step(Open{"a", 1, 8}, R"({"op":"open","session":"a","rows":1,"capacity":8})");
  expect_step(Append{"a", {{3, 1}, {}}, {0, 2}, Want::kAll, false},
              R"({"op":"append","session":"a","tokens":[[3,1],[]],"pad":[0,2],"want":"all","keep":false})");
  expect_step(Append{"a", {}, {}, Want::kLast, true}, R"({"op":"append","session":"a","tokens":[]})");
  expect_step(Generate{"a", std::nullopt, Loop{2, std::nullopt, 0, {}}}, R"({"op":"generate","session":"a","new":2})");
  expect_step(Generate{"a", Rows{{1}}, Loop{2, Tokens{}, 1, {{"beams", R"({"width":2})"}}}},
              R"({"op":"generate","session":"a","tokens":[[1]],"new":2,"stop":[],"min_new":1,"beams":{"width":2}})");
  expect_step(Complete{{{1}}, 8, Loop{1, Tokens{-5}, 0, {}}},
              R"({"op":"complete","tokens":[[1]],"capacity":8,"new":1,"stop":[-5]})");
  expect_step(Crop{"a", {2, -1}}, R"({"op":"crop","session":"a","length":[2,-1]})");
  expect_step(Remove{"a", 1, std::nullopt}, R"({"op":"remove","session":"a","begin":1})");
  expect_step(Shift{"a", 1, 3, -1}, R"({"op":"shift","session":"a","begin":1,"end":3,"delta":-1})");
  expect_step(Fork{"a", "b"}, R"({"op":"fork","session":"a","into":"b"})");
  expect_step(Reorder{"a", {1, 0, 1}}, R"({"op":"reorder","session":"a","rows":[1,0,1]})");
  expect_step(Save{"a", "x"}, R"({"op":"save","session":"a","blob":"x"})");
  expect_step(Rollback{"a", "x"}, R"({"op":"rollback","session":"a","mark":"x"})");
  expect_step(Recompile{}, R"({"op":"recompile"})");
  expect_step(Close{"a"}, R"({"op":"close","session":"a"})");
}

TEST(StepJson, EveryWellFormedStepSurvivesBothWays) {
  std::set<std::size_t> kinds;
  for (std::uint64_t seed = 0; seed < 6000; ++seed) {
    const Step step = Drawn(seed).step();
    if (std::holds_alternative<Raw>(step)) continue;
    kinds.insert(step.index());
    const Result<Json> wire = parse_json(dump(step_to_json(step)));
    ASSERT_TRUE(wire);
    const Result<Step> again = step_from_json(*wire);
    ASSERT_TRUE(again) << again.error().message << dump(*wire);
    ASSERT_TRUE(*again == step) << dump(*wire);
  }
  EXPECT_EQ(kinds.size(), std::variant_size_v<Step> - 1);
}

TEST(StepJson, RawIsSentAsItStandsAndDecodedAsServeDoes) {
  const Json sent = step_to_json(Raw{R"({"op":"warp","x":[1]})"});
  EXPECT_EQ(dump(sent), R"({"op":"warp","x":[1]})");
  EXPECT_EQ(step_from_json(sent).error().file, "unsupported");
  EXPECT_FALSE(step_from_json(step_to_json(Raw{"not json"})));
}

TEST(StepJson, DefaultsMayBeWrittenOut) {
  const Result<Step> step = step_from_json(parsed(R"({"op":"append","session":"a","tokens":[[1]],"want":"last","keep":true})"));
  ASSERT_TRUE(step);
  EXPECT_TRUE(*step == Step(Append{"a", {{1}}, {}, Want::kLast, true}));
}

struct BadStep {
  const char* text;
  const char* kind;
  const char* word;
};

TEST(StepJson, MalformedStepsAreRefusedByKind) {
  const std::vector<BadStep> bad = {
      {"[]", "invalid", "expected an object"},
      {"null", "invalid", "expected an object"},
      {"{}", "invalid", "op: is missing"},
      {R"({"op":1})", "invalid", "op"},
      {R"({"op":"warp"})", "unsupported", "unknown op"},
      {R"({"op":"raw"})", "unsupported", "unknown op"},
      {R"({"op":"Open"})", "unsupported", "unknown op"},
      {R"({"op":"recompile","now":true})", "unsupported", "now"},
      {R"({"op":"reset","session":"a","rows":1})", "unsupported", "rows"},
      {R"({"op":"reset","extra":1})", "unsupported", "extra"},
      {R"({"op":"reset"})", "invalid", "session: is missing"},
      {R"({"op":"reset","session":null})", "invalid", "session"},
      {R"({"op":"reset","session":["a"]})", "invalid", "session"},
      {R"({"op":"open","session":"a","rows":1})", "invalid", "capacity: is missing"},
      {R"({"op":"open","session":"a","rows":0,"capacity":1})", "invalid", "at least 1"},
      {R"({"op":"open","session":"a","rows":1.0,"capacity":1})", "invalid", "an integer"},
      {R"({"op":"open","session":"a","rows":true,"capacity":1})", "invalid", "an integer"},
      {R"({"op":"open","session":"a","rows":4294967297,"capacity":1})", "invalid", "32 bits"},
      {R"({"op":"append","session":"a"})", "invalid", "tokens: is missing"},
      {R"({"op":"append","session":"a","tokens":[1]})", "invalid", "tokens[0]"},
      {R"({"op":"append","session":"a","tokens":[[1],[2,"3"]]})", "invalid", "tokens[1][1]"},
      {R"({"op":"append","session":"a","tokens":[[9223372036854775808]]})", "invalid", "64 bits"},
      {R"({"op":"append","session":"a","tokens":{}})", "invalid", "a list"},
      {R"({"op":"append","session":"a","tokens":[[1]],"pad":[]})", "invalid", "a row"},
      {R"({"op":"append","session":"a","tokens":[[1]],"pad":[1,1]})", "invalid", "a row"},
      {R"({"op":"append","session":"a","tokens":[[1]],"pad":[-1]})", "invalid", "at least 0"},
      {R"({"op":"append","session":"a","tokens":[[1]],"want":"some"})", "invalid", "\"last\" or \"all\""},
      {R"({"op":"append","session":"a","tokens":[[1]],"keep":0})", "invalid", "true or false"},
      {R"({"op":"complete","tokens":[[1]]})", "invalid", "new: is missing"},
      {R"({"op":"complete","tokens":[[1]],"new":0})", "invalid", "at least 1"},
      {R"({"op":"complete","tokens":[[1]],"new":1,"min_new":-1})", "invalid", "at least 0"},
      {R"({"op":"complete","tokens":[[1]],"new":1,"capacity":0})", "invalid", "at least 1"},
      {R"({"op":"complete","tokens":[[1]],"new":1,"stop":7})", "invalid", "a list"},
      {R"({"op":"complete","tokens":[[1]],"new":1,"session":"a"})", "unsupported", "session"},
      {R"({"op":"complete","tokens":[[1]],"new":1,"beams":[]})", "invalid", "an object"},
      {R"({"op":"complete","tokens":[[1]],"new":1,"processors":{}})", "invalid", "list of objects"},
      {R"({"op":"complete","tokens":[[1]],"new":1,"processors":[1]})", "invalid", "list of objects"},
      {R"({"op":"crop","session":"a","length":2})", "invalid", "a list"},
      {R"({"op":"shift","session":"a","begin":1})", "invalid", "delta: is missing"},
      {R"({"op":"remove","session":"a","begin":1,"end":null})", "invalid", "end"},
      {R"({"op":"fork","session":"a"})", "invalid", "into"},
  };
  for (const BadStep& b : bad) {
    const Result<Step> step = step_from_json(parsed(b.text));
    ASSERT_FALSE(step) << b.text;
    EXPECT_EQ(step.error().file, b.kind) << b.text << step.error().message;
    EXPECT_THAT(step.error().message, HasSubstr(b.word)) << b.text;
  }
}

TEST(StepJson, DeepNestingThatNoParserBoundedIsRefused) {
  Json deep = Json::object();
  for (int i = 0; i < 200; ++i) deep = Json{{"a", std::move(deep)}};
  EXPECT_FALSE(
      step_from_json(Json{{"op", "complete"}, {"tokens", Json::array({Json::array({1})})}, {"new", 1}, {"beams", deep}}));
}

TEST(ParseJson, RefusesWhatIsNotOneText) {
  for (const char* text :
       {"", " ", "{", "[1,]", "{\"a\":1}x", "{\"a\":1,\"a\":2}", "nul", "01", "1e999", "\"\xFF\"", "'a'", "NaN", "[1] [2]"})
    EXPECT_FALSE(parse_json(text)) << text;
  EXPECT_FALSE(parse_json(std::string("{}\0x", 4)));
  EXPECT_FALSE(parse_json(std::string(1000000, '[')));
  EXPECT_TRUE(parse_json(std::string(kMaxJsonDepth, '[') + std::string(kMaxJsonDepth, ']')));
  EXPECT_FALSE(parse_json(std::string(kMaxJsonDepth + 1, '[') + std::string(kMaxJsonDepth + 1, ']')));
  EXPECT_TRUE(parse_json(R"({"a":{"x":1},"b":{"x":1}})"));
}

Report full_report() {
  Report report;
  report.index = 3;
  report.status = Status::kFailed;
  report.kind = "RuntimeError";
  report.message = "it \"broke\"\n";
  report.state_unchanged = false;
  report.logits = LogitsArray{1, 2, 2, {0.25, -1.5, 0.1, kInf}, {}};
  report.lengths = LengthReport{
      true,
      {IntegerValue{3}, RealValue{3.0}, RealValue{kNan}, TextValue{"three"}, NoneValue{}, ArrayValue{"int64", {1}, {3}, "cpu"}}};
  report.layer_lengths = {LengthReport{false, {IntegerValue{1}}}, LengthReport{true, {}}};
  report.tokens = Rows{{1, 2}, {}};
  report.stopped = {{"stop", "length"}};
  report.scores = {{{-0.5, -kInf}}};
  report.calls = {{ModelCall{{{}}, {{{4}}}, {1, 0}}, ModelCall{{{1}}, std::nullopt, {}}}};
  report.compilations = {{Compilation{"decode", "f32[1,1]"}}};
  report.cached = {{2}};
  report.changed = {{0, 3}};
  report.seconds = 0.125;
  return report;
}

TEST(ReportJson, EveryFieldSurvivesBothWays) {
  const Json once = report_to_json(full_report());
  const Result<Report> again = report_from_json(parsed(dump(once)));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(dump(report_to_json(*again)), dump(once));
  EXPECT_EQ(once.size(), 16u) << "every field of a report was written";
  EXPECT_EQ(again->status, Status::kFailed);
  EXPECT_EQ(again->logits->data, (std::vector<double>{0.25, -1.5, 0.1, kInf})) << "0.1 needs float64";
  EXPECT_EQ(again->layer_lengths, full_report().layer_lengths);
  EXPECT_TRUE(std::holds_alternative<RealValue>(again->lengths->values[1]));
  EXPECT_TRUE(again->lengths->values[5] == full_report().lengths->values[5]);
  EXPECT_EQ(again->calls->at(0).tokens, Rows{{}}) << "an empty slice is kept as it is";
  EXPECT_EQ(again->calls->at(0).positions, full_report().calls->at(0).positions);
  EXPECT_EQ(again->tokens, full_report().tokens);
  EXPECT_EQ(again->seconds, 0.125);
}

TEST(ReportJson, WhatIsNotToldIsNotObserved) {
  const Result<Report> report =
      report_from_json(parsed(R"({"index":0,"status":"ok","state_unchanged":null,"unknown":{"a":[1]}})"));
  ASSERT_TRUE(report);
  EXPECT_FALSE(report->state_unchanged || report->logits || report->lengths || report->layer_lengths || report->tokens ||
               report->stopped || report->scores || report->calls || report->compilations || report->cached || report->changed ||
               report->seconds);
  EXPECT_EQ(dump(report_to_json(*report)), R"({"index":0,"status":"ok"})");
}

TEST(ReportJson, AListOfOneLengthIsApartFromOneForAllRows) {
  Report report;
  report.lengths = LengthReport{true, {IntegerValue{3}}};
  EXPECT_EQ(report_from_json(report_to_json(report))->lengths, report.lengths);
  report.lengths->per_row = false;
  EXPECT_EQ(report_from_json(report_to_json(report))->lengths, report.lengths);
}

TEST(ReportJson, TheProtocolsExampleReadsAsDocumented) {
  const Result<Report> report = report_from_json(
      parsed(R"({"index":1,"status":"ok","lengths":{"kind":"integer","value":2},"logits":{"shape":[1,1,2],"values":[0.25,-1.5]},)"
             R"("calls":[{"tokens":[[3,1]],"shape":[1,2]}]})"));
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->logits->at(0, 0), (std::vector<double>{0.25, -1.5}));
  EXPECT_TRUE(*report->lengths->of_row(5) == Value(IntegerValue{2}));
  EXPECT_EQ(report->calls->at(0).shape, (std::vector<std::int64_t>{1, 2}));
}

TEST(ReportJson, AbsentCellsAreApartFromNan) {
  const Result<Report> report =
      report_from_json(parsed(R"({"index":0,"status":"ok","logits":{"shape":[2,1,2],"values":[null,null,"NaN","-Infinity"]}})"));
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->logits->is_absent(0, 0));
  EXPECT_FALSE(report->logits->is_absent(1, 0));
  EXPECT_TRUE(std::isnan(report->logits->at(1, 0)[0]));
  EXPECT_EQ(dump(report_to_json(*report)["logits"]), R"({"shape":[2,1,2],"values":[null,null,"NaN","-Infinity"]})");
}

std::string array_text(const std::string& dtype, const std::string& shape, const std::vector<std::uint8_t>& bytes) {
  return R"({"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data":")" + json::encode_base64(bytes) + "\"}";
}

TEST(ArrayJson, EveryTypeIsLittleEndian) {
  struct Packed {
    const char* dtype;
    std::vector<std::uint8_t> bytes;
    std::vector<double> numbers;
  };
  for (const Packed& p :
       std::vector<Packed>{{"float32", {0, 0, 128, 62, 0, 0, 192, 191}, {0.25, -1.5}},
                           {"float64", {0, 0, 0, 0, 0, 0, 208, 63}, {0.25}},
                           {"float16", {0, 52, 0, 190, 1, 0, 255, 123, 0, 124, 0, 128}, {0.25, -1.5, 0x1p-24, 65504, kInf, -0.0}},
                           {"bfloat16", {128, 62, 192, 191}, {0.25, -1.5}},
                           {"int8", {255, 127}, {-1, 127}},
                           {"uint8", {255}, {255}},
                           {"int16", {254, 255}, {-2}},
                           {"uint16", {254, 255}, {65534}},
                           {"int32", {253, 255, 255, 255}, {-3}},
                           {"uint32", {253, 255, 255, 255}, {4294967293.0}},
                           {"int64", {252, 255, 255, 255, 255, 255, 255, 255}, {-4}},
                           {"uint64", {0, 0, 0, 0, 0, 0, 0, 128}, {0x1p63}},
                           {"bool", {0, 1}, {0, 1}}}) {
    json::Array array;
    json::Flaw flaw;
    ASSERT_TRUE(json::read(parsed(array_text(p.dtype, "[" + std::to_string(p.numbers.size()) + "]", p.bytes)), array, flaw))
        << p.dtype << to_string(flaw);
    EXPECT_EQ(array.data, p.numbers) << p.dtype;
  }
}

TEST(ArrayJson, TheProtocolsFormIsFloat32WhereThatIsExact) {
  EXPECT_EQ(dump(json::array_to_json({{2}, {0.25, -1.5}, {}})), R"({"data":"AACAPgAAwL8=","dtype":"float32","shape":[2]})");
  EXPECT_EQ(json::array_to_json({{1}, {0.1}, {}})["dtype"], "float64");
  EXPECT_EQ(json::array_to_json({{1}, {1e300}, {}})["dtype"], "float64");
  EXPECT_EQ(json::array_to_json({{1}, {kNan}, {}})["dtype"], "float32");
}

TEST(Base64, IsStrictAndInverse) {
  std::vector<std::uint8_t> out;
  for (std::size_t size = 0; size < 70; ++size) {
    std::vector<std::uint8_t> bytes;
    for (std::size_t i = 0; i < size; ++i) bytes.push_back(static_cast<std::uint8_t>(i * 37 + size));
    ASSERT_TRUE(json::decode_base64(json::encode_base64(bytes), out));
    EXPECT_EQ(out, bytes);
  }
  EXPECT_EQ(json::encode_base64({'f', 'o', 'o', 'b'}), "Zm9vYg==");
  for (const char* bad : {"A", "AA", "AAA", "AA=A", "A===", "====", "AB==", "AAB=", "AA A", "AA-_", "Zm9vYg==Zm9v",
                          "\xC3\xA9"
                          "AA"})
    EXPECT_FALSE(json::decode_base64(bad, out)) << bad;
}

struct BadReport {
  std::string field;
  const char* word;
};

TEST(ReportJson, MalformedFieldsAreNamed) {
  const std::vector<BadReport> bad = {
      {R"("logits":[])", "logits: "},
      {R"("logits":null)", "logits: "},
      {R"("logits":{"values":[]})", "logits.shape: is missing"},
      {R"("logits":{"shape":[1,1,1]})", "neither"},
      {R"("logits":{"shape":[1,1,1],"values":[1],"data":""})", "both"},
      {R"("logits":{"shape":[1,1],"values":[1]})", "logits.shape: "},
      {R"("logits":{"shape":[1,1,2],"values":[1]})", "logits.values: "},
      {R"("logits":{"shape":[1,1,2],"values":[[1,2]]})", "logits.values: "},
      {R"("logits":{"shape":[1,1,1],"values":["nan"]})", "logits.values[0]: "},
      {R"("logits":{"shape":[1,-1,1],"values":[]})", "logits.shape[1]: "},
      {R"("logits":{"shape":[4294967296,4294967296,4294967296],"values":[]})", "logits.shape[0]: "},
      {R"("logits":{"shape":[60000000,60000000,60000000],"values":[]})", "too many"},
      {R"("logits":{"shape":[60000000,0,60000000],"values":[]})", "too many"},
      {R"("logits":{"shape":[1,1,60000000],"dtype":"float32","data":"AAAA"})", "holds 3 bytes"},
      {R"("logits":{"shape":[1,1,1],"data":"AAAAAA=="})", "logits.dtype: is missing"},
      {R"("logits":{"shape":[1,1,1],"dtype":"float8","data":"AA=="})", "logits.dtype: "},
      {R"("logits":{"shape":[1,1,1],"dtype":"float32","data":"AAAA"})", "logits.data: "},
      {R"("logits":{"shape":[1,1,1],"dtype":"float32","data":"AAAAAA"})", "base64"},
      {R"("logits":{"shape":[1,1,1],"dtype":"float32","data":[0]})", "base64"},
      {R"("logits":{"shape":[1.0,1,1],"values":[1]})", "logits.shape[0]: is 1.0"},
      {R"("lengths":3)", "lengths: is 3; expected a Value"},
      {R"("lengths":null)", "lengths: "},
      {R"("lengths":{"kind":"float","value":3})", "lengths.kind: "},
      {R"("lengths":{"kind":"integer","value":3.0})", "lengths.value: is 3.0"},
      {R"("lengths":{"kind":"integer"})", "lengths.value: is missing"},
      {R"("lengths":{"kind":"real","value":"3"})", "lengths.value: "},
      {R"("lengths":[{"kind":"none"},{"value":1}])", "lengths[1].kind: is missing"},
      {R"("lengths":{"kind":"array","dtype":"int64","shape":[2],"value":[3]})", "lengths.value: holds 1"},
      {R"("lengths":{"kind":"array","dtype":"int64","shape":[1],"value":[[[3]]]})", "lengths.value[0]"},
      {R"("lengths":{"kind":"array","dtype":"int64","shape":[1],"value":["x"]})", "lengths.value[0]"},
      {R"("lengths":{"kind":"array","dtype":"int64","shape":[1]})", "value"},
      {R"("lengths":{"kind":"array","dtype":"int64","shape":[1,1,1,1,1,1,1,1,1],"value":[3]})", "lengths.shape: "},
      {R"("layer_lengths":{"kind":"none"})", "layer_lengths: "},
      {R"("tokens":[1])", "tokens[0]: "},
      {R"("stopped":["stop",1])", "stopped[1]: "},
      {R"("scores":[[true]])", "scores[0][0]: "},
      {R"("calls":[{"shape":[1]}])", "calls[0].tokens: is missing"},
      {R"("calls":[{"tokens":[[1]]}])", "calls[0].shape: is missing"},
      {R"("calls":[7])", "calls[0]: "},
      {R"("compilations":[{"what":"decode"}])", "compilations[0].signature: is missing"},
      {R"("cached":2)", "cached: "},
      {R"("changed":[0.5])", "changed[0]: "},
      {R"("seconds":true)", "seconds: "},
      {R"("message":7)", "message: "},
      {R"("state_unchanged":"yes")", "state_unchanged: "},
  };
  for (const BadReport& b : bad) {
    const Result<Report> report = report_from_json(parsed(R"({"index":3,"status":"ok",)" + b.field + "}"));
    ASSERT_FALSE(report) << b.field;
    EXPECT_THAT(report.error().message, HasSubstr(b.word)) << b.field;
    EXPECT_THAT(report.error().message, ::testing::StartsWith("step 3: ")) << b.field;
  }
  for (const char* text : {"7", "{}", R"({"index":0})", R"({"index":-1,"status":"ok"})", R"({"index":0,"status":"fine"})",
                           R"({"index":0,"status":1})", R"({"index":4294967296,"status":"ok"})", R"({"status":"ok"})"})
    EXPECT_FALSE(report_from_json(parsed(text))) << text;
}

Description full_description() {
  Declarations d;
  d.numeric = NumericClass{"float32", "bfloat16", "quantised"};
  d.undefined_calls = {"empty_append"};
  d.reuse = "caller";
  d.context = "undefined";
  d.length_counts = "positions";
  d.drift = 0.5;
  d.bitwise = {"repeat", "chunk"};
  d.architectures = {"gpt2"};
  d.max_rows = 4, d.max_capacity = 64, d.append_min = 1, d.append_max = 8;
  d.append_buckets = {1, 8}, d.capacity_buckets = {16}, d.row_buckets = {1, 4};
  d.block = 16, d.ring = 32;
  d.pad_side = "left", d.mask_source = "token_ids", d.pad_token = 0;
  d.pads_use_capacity = d.idle_rows = d.rotated_keys_stay = d.pads_after_stop = true;
  d.last_token_cached = false;
  d.overflow = "slide";
  d.window_counts_current = true;
  d.compile_budget = {{"decode", 1}};
  d.load_cost_s = 0.5, d.step_cost_s = 0.25;
  return {"toy", "1", {{"device", "cpu"}}, {{"static", {"append", "crop"}, d}, {"plain", {"complete"}, {}}}};
}

TEST(DescriptionJson, EveryDeclarationSurvivesBothWays) {
  const Json once = description_to_json(full_description());
  EXPECT_EQ(once["protocol"], 1);
  EXPECT_EQ(once["configurations"][0]["declarations"].size(), 30u) << "every declaration of the protocol was written";
  const Result<Description> again = description_from_json(parsed(dump(once)));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(dump(description_to_json(*again)), dump(once));
  EXPECT_EQ(again->configurations[0].declarations.numeric, full_description().configurations[0].declarations.numeric);
  EXPECT_TRUE(again->configurations[0].can("crop"));
  EXPECT_FALSE(again->configurations[1].can("crop"));
  EXPECT_EQ(again->engine, full_description().engine);
  EXPECT_FALSE(again->configurations[1].declarations.last_token_cached);
}

TEST(DescriptionJson, OneWordStandsForAllThreeNumericParts) {
  const Result<Configuration> c =
      configuration_from_json(parsed(R"({"name":"eager","capabilities":["append"],"declarations":{"numeric":"float32"}})"));
  ASSERT_TRUE(c) << c.error().message;
  EXPECT_EQ(c->declarations.numeric, (NumericClass{"float32", "float32", "float32"}));
  EXPECT_EQ(configuration_to_json(*c)["declarations"]["numeric"], "float32");
}

TEST(DescriptionJson, MalformedOnesAreNamed) {
  struct Bad {
    const char* declarations;
    const char* word;
  };
  for (const Bad& b : std::vector<Bad>{{R"({"numeric":"float31"})", "declarations.numeric"},
                                       {R"({"numeric":{"compute":"float32"}})", "numeric.weights: is missing"},
                                       {R"({"numeric":"quantised"})", "not quantised"},
                                       {R"({"numeric":1})", "numeric"},
                                       {R"({"reuse":"maybe"})", "declarations.reuse: "},
                                       {R"({"overflow":"wrap"})", "overflow"},
                                       {R"({"bitwise":["all"]})", "bitwise"},
                                       {R"({"last_token_cache":true})", "last_token_cache: is no declaration"},
                                       {R"({"max_rows":"4"})", "max_rows: "},
                                       {R"({"append_buckets":[1,2.5]})", "append_buckets[1]: "},
                                       {R"({"compile_budget":{"decode":"one"}})", "compile_budget.decode: "},
                                       {R"({"idle_rows":1})", "idle_rows: "},
                                       {R"([])", "declarations: "}}) {
    const auto c = configuration_from_json(
        parsed(std::string(R"({"name":"a","capabilities":["append"],"declarations":)") + b.declarations + "}"));
    ASSERT_FALSE(c) << b.declarations;
    EXPECT_THAT(c.error().message, HasSubstr(b.word));
  }
  const std::string good = R"({"name":"a","capabilities":["append"]})";
  for (const std::string& text :
       {std::string("[]"), std::string("{}"), R"({"protocol":2,"name":"t","version":"1","configurations":[)" + good + "]}",
        R"({"name":"t","version":"1","configurations":[)" + good + "]}",
        std::string(R"({"protocol":1,"name":"t","version":"1","configurations":[]})"),
        R"({"protocol":1,"name":"t","version":"1","configurations":[)" + good + "," + good + "]}",
        std::string(R"({"protocol":1,"name":"t","version":"1","configurations":[{"name":"a","capabilities":["crop"]}]})"),
        std::string(R"({"protocol":1,"name":"t","version":"1","configurations":[{"name":"a","capabilities":["append","fly"]}]})"),
        R"({"protocol":1,"name":"t","version":"1","engine":{"a":[1]},"configurations":[)" + good + "]}"})
    EXPECT_FALSE(description_from_json(parsed(text))) << text;
}

TEST(SpecJson, SurvivesBothWaysAndNamesWhatIsWrong) {
  ModelSpec spec;
  spec.layers = 2;
  spec.norm_epsilon = 1e-6;
  spec.inner = 8;
  EXPECT_EQ(*spec_from_json(parsed(dump(spec_to_json(spec)))), spec);
  EXPECT_EQ(*spec_from_json(spec_to_json(ModelSpec{})), ModelSpec{});
  EXPECT_EQ(spec_to_json(spec)["weights"], "seed:0");
  ModelSpec llama = standard_spec("llama");
  EXPECT_EQ(*spec_from_json(spec_to_json(llama)), llama);
  llama.heads = 4;
  llama.width = 8;
  llama.kv_heads = 2;
  llama.head_dim = 6;
  llama.rope_theta = 0.1;
  llama.tie_word_embeddings = true;
  EXPECT_EQ(*spec_from_json(parsed(dump(spec_to_json(llama)))), llama);
  EXPECT_EQ(spec_to_json(llama)["tie_word_embeddings"], true);
  for (const char* text :
       {"[]", "{}", R"({"family":1})", R"({"family":"gpt2","layers":[1]})", R"({"family":"gpt2","wings":2})",
        R"({"family":"gpt2","layers":"x"})", R"({"family":"gpt2","kv_heads":1})", R"({"family":"llama","tie_word_embeddings":1})",
        R"({"family":"llama","rope_theta":{"a":1}})", R"({"family":"llama","head_dim":3})"})
    EXPECT_FALSE(spec_from_json(parsed(text))) << text;
}

/// Puts some other value in place of one somewhere in `value`.
void disturb(Json& value, Drawn& drawn) {
  if (value.is_structured() && !value.empty() && drawn.chance(80)) {
    auto item = value.begin();
    std::advance(item, static_cast<std::ptrdiff_t>(drawn.below(value.size())));
    if (drawn.chance(10)) {
      value.erase(item);
    } else {
      disturb(*item, drawn);
    }
    return;
  }
  value = drawn.pick<Json>({nullptr, true, -1, 0, 1, 2.5, "NaN", "", "ok", "array", "AAAAAA==", Json::array(), Json::object(),
                            Json::array({1}), Json::array({Json::array()}), std::numeric_limits<std::uint64_t>::max(),
                            std::numeric_limits<std::int64_t>::min(), 1e300, 67108864});
}

/// Decodes by every decoder; what is accepted must be a fixpoint, what is not must say so. The number accepted.
int decode_all(const Json& value) {
  int accepted = 0;
  const auto check = [&](const auto& result, auto to_json, auto from_json) {
    if (!result) {
      EXPECT_FALSE(result.error().message.empty()) << dump(value);
      return;
    }
    ++accepted;
    const std::string once = dump(to_json(*result));
    const auto wire = parse_json(once);
    ASSERT_TRUE(wire) << once;
    const auto again = from_json(*wire);
    ASSERT_TRUE(again) << again.error().message << once;
    EXPECT_EQ(dump(to_json(*again)), once);
  };
  check(step_from_json(value), step_to_json, step_from_json);
  check(report_from_json(value), report_to_json, report_from_json);
  check(description_from_json(value), description_to_json, description_from_json);
  return accepted;
}

TEST(Json, MutatedMessagesAreReadOrRefusedAndNothingElse) {
  const std::vector<Json> whole = {
      report_to_json(full_report()), description_to_json(full_description()),
      parsed(R"({"index":0,"status":"ok","logits":{"shape":[2,1,2],"values":[null,null,"NaN",1]}})")};
  int texts = 0, accepted = 0;
  std::string other = dump(whole[0]);
  for (std::uint64_t seed = 0; seed < 20000; ++seed) {
    Drawn drawn(seed);
    Json value = drawn.chance(50) ? step_to_json(drawn.step()) : drawn.pick(whole);
    const std::string text = drawn.mutate(dump(value), other);
    other = dump(value);
    const Result<Json> broken = parse_json(text);
    if (broken) {
      ++texts;
      accepted += decode_all(*broken);
    } else {
      EXPECT_FALSE(broken.error().message.empty()) << text;
    }
    for (std::uint64_t n = 1 + drawn.below(3); n > 0; --n) disturb(value, drawn);
    accepted += decode_all(value);
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
  RecordProperty("texts", texts);
  RecordProperty("accepted", accepted);
  EXPECT_GT(texts, 1000);
  EXPECT_GT(accepted, 1000);
}

TEST(Value, IsShownWithItsType) {
  EXPECT_EQ(to_string(Value(IntegerValue{3})), "3");
  EXPECT_EQ(to_string(Value(RealValue{3.0})), "3.0 (real)");
  EXPECT_EQ(to_string(Value(RealValue{1e30})), "1e+30 (real)");
  EXPECT_EQ(to_string(Value(ArrayValue{"int64", {1}, {3}, "cpu"})), "[3] (int64 array of shape [1] on cpu)");
  EXPECT_EQ(to_string(Value(ArrayValue{"int64", {}, {3}, ""})), "3 (int64 array of shape [])");
  EXPECT_EQ(to_string(Value(TextValue{"x"})), "\"x\" (text)");
  EXPECT_EQ(to_string(Value(NoneValue{})), "none");
}

TEST(LengthReport, GivesARowItsValue) {
  const LengthReport one{false, {IntegerValue{3}}}, two{true, {IntegerValue{1}, IntegerValue{2}}};
  EXPECT_TRUE(*one.of_row(7) == Value(IntegerValue{3}));
  EXPECT_TRUE(*two.of_row(1) == Value(IntegerValue{2}));
  EXPECT_EQ(two.of_row(2), nullptr);
  EXPECT_EQ(two.of_row(-1), nullptr);
}

TEST(Verdict, IsNamedAndCountedAndSigned) {
  Divergence d;
  d.kind = "logits";
  d.op = "append";
  const std::vector<std::pair<Verdict, std::string>> failures = {{Fail{d}, "fail"},
                                                                 {Overclaim{d}, "overclaim"},
                                                                 {Crash{d}, "crash"},
                                                                 {Timeout{d}, "timeout"},
                                                                 {Nondeterministic{}, "nondeterministic"},
                                                                 {UnexpectedPass{}, "unexpected_pass"}};
  const std::vector<std::pair<Verdict, std::string>> others = {{Pass{}, "pass"},
                                                               {Tie{}, "tie"},
                                                               {Vacuous{}, "vacuous"},
                                                               {Unsupported{}, "unsupported"},
                                                               {HarnessError{}, "harness_error"},
                                                               {Waived{}, "waived"}};
  for (const auto& [verdict, name] : failures) {
    EXPECT_STREQ(verdict_name(verdict), name.c_str());
    EXPECT_TRUE(is_failure(verdict)) << name;
  }
  for (const auto& [verdict, name] : others) {
    EXPECT_STREQ(verdict_name(verdict), name.c_str());
    EXPECT_FALSE(is_failure(verdict)) << name;
    EXPECT_EQ(divergence_of(verdict), nullptr);
  }
  EXPECT_EQ(to_string(signature_of("crop_forgets", Fail{d})), "crop_forgets logits append");
  EXPECT_EQ(signature_of("l", Nondeterministic{"x"}), (Signature{"l", "nondeterministic", ""}));
}

}  // namespace
}  // namespace cachet
