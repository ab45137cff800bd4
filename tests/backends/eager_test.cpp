// What every correct built-in backend must do, told by traces: tests that hold for eager, static_cache and their variants, and
// those that only eager, with its pending token, is about.
#include <gmock/gmock.h>

#include "backends/host.h"
#include "tests/backends/traces.h"

namespace cachet {
namespace {

using ::testing::IsEmpty;

/// A stable stream of small numbers.
class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : state_(seed * 2 + 1) {}
  int below(int n) {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<int>((state_ >> 33) % static_cast<std::uint64_t>(n));
  }

 private:
  std::uint64_t state_;
};

Rows tokens(Numbers& draw, int rows, int n, int vocab) {
  Rows out(static_cast<std::size_t>(rows));
  for (Tokens& row : out)
    for (int i = 0; i < n; ++i) row.push_back(draw.below(vocab));
  return out;
}

/// Any step, legal or not, on one of two sessions.
Step any_step(Numbers& draw, const Configuration& configuration, const Shadow& shadow) {
  const std::string name = draw.below(3) == 0 ? "b" : "a";
  const ShadowSession* session = shadow.find(name);
  const int rows = session == nullptr ? 1 : session->rows();
  const int vocab = shadow.spec().vocab;
  Loop loop;
  loop.new_tokens = 1 + draw.below(4);
  if (draw.below(3) == 0) loop.stop = Tokens{draw.below(vocab), draw.below(vocab + 2)};
  if (loop.stop) loop.min_new = draw.below(3);
  switch (draw.below(12)) {
    case 0:
      return Open{name, 1 + draw.below(3), 1 + draw.below(12)};
    case 1:
      return draw.below(4) == 0 ? Step(Close{name}) : Step(Length{name});
    case 2:
      return Reset{name};
    case 3:
      return Crop{name, std::vector<int>(static_cast<std::size_t>(rows), draw.below(6) - 1)};
    case 4:
      return Generate{name, std::nullopt, loop};
    case 5:
      return Generate{name, tokens(draw, rows, 1 + draw.below(3), vocab), loop};
    case 6:
      return Complete{tokens(draw, 1 + draw.below(2), 1 + draw.below(4), std::min(vocab, 3)), std::nullopt, loop};
    case 7:
      return configuration.can("poison") ? Step(Poison{name}) : Step(Length{name});
    case 8:
      return Append{name, tokens(draw, rows, 1 + draw.below(3), vocab + draw.below(2)), {}, Want::kLast, draw.below(2) == 0};
    default:
      return Append{name, tokens(draw, rows, 1 + draw.below(5), vocab), {}, draw.below(2) == 0 ? Want::kAll : Want::kLast, true};
  }
}

class CorrectBackend : public ::testing::TestWithParam<std::string> {};

std::string test_name(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '+', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Names, CorrectBackend, ::testing::ValuesIn(backend_names()), test_name);

TEST_P(CorrectBackend, AnswersGeneratedHistoriesAsTheReferenceDoes) {
  constexpr int kLives = 60, kRuns = 3, kSteps = 14;
  for (int seed = 0; seed < kLives; ++seed) {
    Numbers draw(static_cast<std::uint64_t>(seed));
    const char* family = seed % 2 == 0 ? "gpt2" : seed % 4 == 1 ? "llama kv_heads=1" : "llama rope_theta=30 head_dim=6";
    const std::string model =
        fmt::format("{} layers={} heads={} width={} vocab={} context={} weights=seed:{}", family, 1 + draw.below(3),
                    1 + draw.below(2), 4 + 4 * draw.below(2), 2 + draw.below(6), 8 + draw.below(9), seed);
    Case value = case_of("", model);
    const ModelPtr built = *load_model(std::get<Load>(value.trace.events.front()).spec);
    const std::unique_ptr<Backend> backend = std::move(*(*resolve_backend(GetParam()))());
    const Configuration& configuration = backend->describe().configurations.front();
    const std::unique_ptr<Life> life = backend->begin(configuration.name);
    ASSERT_TRUE(life->load("m", built).ok);
    for (int run = 0; run < kRuns; ++run) {
      std::vector<Step> steps;
      Shadow shadow(built->spec, configuration);
      while (static_cast<int>(steps.size()) < kSteps) {
        Step step =
            steps.empty() ? Step(Open{"a", 1 + draw.below(2), 3 + draw.below(10)}) : any_step(draw, configuration, shadow);
        const Expectation expected = shadow.expect(step);
        if (expected.demand == Demand::kUndefined) continue;
        if (expected.demand == Demand::kAnswer) {
          Rows emitted;  // lengths are what matters: the tokens themselves are the backend's affair
          if (const auto* generate = std::get_if<Generate>(&step)) {
            if (generate->loop.stop && shadow.find(generate->session)->rows() > 1) continue;
            emitted.assign(static_cast<std::size_t>(shadow.find(generate->session)->rows()),
                           Tokens(static_cast<std::size_t>(generate->loop.new_tokens), 0));
          }
          shadow.assume(step, emitted);
        }
        steps.push_back(std::move(step));
      }
      const RunRecord record = life->run("m", steps);
      Case shown = value;
      shown.trace.events.push_back(cachet::Run{"m", steps});
      ASSERT_THAT(faults(built, steps, record, configuration), IsEmpty()) << print_case(shown);
    }
  }
}

TEST_P(CorrectBackend, FillsItsCapacityAndRefusesOneTokenMore) {
  EXPECT_THAT(
      faults_of(
          GetParam(),
          case_of("run m\nopen a rows=2 capacity=3\nappend a 3 1 | 2 2 want=all\nappend a 1 | 4\nappend a 1 | 1\nlength a\n")),
      IsEmpty());
  const std::vector<Report> reports = reports_of(
      GetParam(),
      "run m\nopen a rows=1 capacity=2\nappend a 3 1\nappend a 1\nopen b rows=1 capacity=2\nappend b 1 1 1\nlength b\n");
  EXPECT_EQ(reports[2].kind, "capacity");
  EXPECT_EQ(reports[4].kind, "capacity");
  EXPECT_EQ(reports[5].lengths->values.front(), Value(IntegerValue{0}));
  EXPECT_FALSE(reports[4].calls);
}

TEST_P(CorrectBackend, RefusesPastTheModelsContext) {
  const std::vector<Report> reports =
      reports_of(GetParam(), "run m\nopen a rows=1 capacity=32\nappend a 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\nappend a 1\n");
  EXPECT_EQ(reports[1].status, Status::kOk);
  EXPECT_EQ(reports[2].kind, "capacity");
}

TEST_P(CorrectBackend, NamesTheCauseOfEveryRefusal) {
  const std::vector<std::pair<std::string, std::string>> calls = {
      {"append a -", "invalid"},
      {"append a 8", "invalid"},
      {"append a -1", "invalid"},
      {"append a 1 | 1", "invalid"},
      {"append z 1", "invalid"},
      {"crop a 3", "invalid"},
      {"crop a -1", "invalid"},
      {"crop a 1 1", "invalid"},
      {"open a rows=1 capacity=4", "invalid"},
      {"open b rows=5 capacity=4", "capacity"},
      {"open b rows=1 capacity=129", "capacity"},
      {"append a 1 pad=1", "unsupported"},
      {"fork a b", "unsupported"},
      {"save a s", "unsupported"},
      {"snapshot a s", "unsupported"},
      {"release a", "unsupported"},
      {"length z", "invalid"},
      {"close z", "invalid"},
      {"reset z", "invalid"},
      {"generate a 1 new=9", "capacity"},
      {"complete - new=1", "invalid"},
      {"complete 1 | 1 1 new=1", "unsupported"},
      {"complete 1 new=40", "capacity"},
      {"complete 9 new=1", "invalid"},
      {"generate a new=1 sampling={\"temperature\":1}", "unsupported"},
      {"raw {\"op\":\"append\",\"session\":\"a\"}", "invalid"},
      {"raw {\"op\":\"unheard\"}", "unsupported"}};
  for (const auto& [call, kind] : calls) {
    const Case value = case_of("run m\nopen a rows=1 capacity=8\nappend a 3 1\n" + call + "\nappend a 2\ngenerate a new=2\n");
    const std::vector<Report> reports = execute_on(GetParam(), value.trace).runs.back().reports;
    EXPECT_EQ(reports[2].status, Status::kRefused) << call;
    EXPECT_EQ(reports[2].kind, kind) << call << ": " << reports[2].message;
    EXPECT_THAT(reports[2].message, ::testing::Not(IsEmpty())) << call;
    EXPECT_THAT(faults_of(GetParam(), value), IsEmpty()) << call;
  }
}

TEST_P(CorrectBackend, AnEmptySessionHasNothingToContinue) {
  EXPECT_EQ(reports_of(GetParam(), "run m\nopen a rows=1 capacity=8\ngenerate a new=1\n")[1].kind, "invalid");
}

TEST_P(CorrectBackend, SessionsEndWithTheirRun) {
  const std::vector<Report> reports = reports_of(
      GetParam(), "run m\nopen a rows=1 capacity=8\nappend a 1\nrun m\nlength a\nopen a rows=1 capacity=8\nappend a 3\n");
  EXPECT_EQ(reports[0].kind, "invalid");
  EXPECT_EQ(reports[2].lengths->values.front(), Value(IntegerValue{1}));
}

TEST_P(CorrectBackend, ALookChangesNothing) {
  const std::string head = "run m\nopen a rows=1 capacity=8\nappend a 3 1\n", tail = "append a 2 want=all\ngenerate a new=3\n";
  const std::vector<Report> looked = reports_of(GetParam(), head + "append a 5 5 keep=false\n" + tail),
                            plain = reports_of(GetParam(), head + tail);
  EXPECT_EQ(looked[2].lengths->values.front(), Value(IntegerValue{2}));
  EXPECT_EQ(looked[3].logits->data, plain[2].logits->data);
  EXPECT_EQ(*looked[4].tokens, *plain[3].tokens);
}

TEST_P(CorrectBackend, DeclaredBitsDoNotDependOnChunksRowsOrEarlierRuns) {
  const std::vector<Report> whole = reports_of(GetParam(), "run m\nopen a rows=1 capacity=8\nappend a 3 1 4 1 5 want=all\n");
  const std::vector<Report> pieces =
      reports_of(GetParam(),
                 "run m\ncomplete 3 1 4 new=2\nopen a rows=2 capacity=9\nappend a 7 7 | 6 6\nrun m\nopen a rows=2 "
                 "capacity=8\nappend a 2 | 3\nappend a 2 2 2 | 1 4 1\nappend a 6 | 5\n");
  Configuration configuration;
  execute_on(GetParam(), case_of("run m\n").trace, &configuration);
  if (std::count(configuration.declarations.bitwise.begin(), configuration.declarations.bitwise.end(), "chunk") == 0)
    GTEST_SKIP() << "declares no bits over chunks";
  const std::vector<double> expected(whole[1].logits->data.end() - 8, whole[1].logits->data.end());
  EXPECT_EQ(pieces[3].logits->at(1, 0), expected);
}

TEST_P(CorrectBackend, KeysAreAsWideAsTheModelsKeyHeads) {
  for (const char* model : {kLlama, "llama layers=2 heads=4 width=8 vocab=8 context=16 kv_heads=1 head_dim=8 weights=seed:2",
                            "llama layers=1 heads=2 width=4 vocab=8 context=16 head_dim=6 weights=seed:3"})
    EXPECT_THAT(faults_of(GetParam(), case_of("run m\nopen a rows=2 capacity=6\nappend a 3 1 | 2 2 want=all\nappend a 1 | 4\n"
                                              "crop a 1 1\nappend a 5 7 | 4 4 want=all\ngenerate a new=2\n"
                                              "complete 3 1 4 new=3\ncomplete 3 1 5 new=3\n",
                                              model)),
                IsEmpty())
        << model;
}

TEST(Decoder, KeysThatAreRotatedWhenReadAreThoseRotatedWhenWritten) {
  const Case value = case_of("run m\nopen a rows=2 capacity=8\nappend a 3 1 | 2 2\ncrop a 1 1\nappend a 4 | 1\n", kLlama);
  const ModelPtr model = *load_model(std::get<Load>(value.trace.events.front()).spec);
  for (const backends::Host& host : backends::hosts()) {
    if (host.configuration.declarations.numeric->kv != "float32") continue;  // rounded after rotation is not rounded before it
    backends::Seams late;
    late.key_position = [](const backends::Fed&, int slot) { return slot; };
    const std::unique_ptr<Engine> plain = std::move(*host.make_engine(model, {}, host.configuration));
    const std::unique_ptr<Engine> other = std::move(*host.make_engine(model, late, host.configuration));
    for (const Step& step : value.trace.last_run()->steps) {
      const Report a = plain->execute(step), b = other->execute(step);
      ASSERT_EQ(a.status, Status::kOk);
      ASSERT_EQ(a.logits.has_value(), b.logits.has_value());
      if (!a.logits) continue;
      EXPECT_EQ(a.logits->data, b.logits->data) << host.name;
    }
  }
}

TEST(Decoder, RefusesAFamilyThatItDoesNotKnow) {
  auto model = std::make_shared<Model>(**load_model(ModelSpec{}));
  model->spec.family = "llama9";
  const auto decoder = backends::Decoder::make(model, {});
  ASSERT_FALSE(decoder);
  EXPECT_THAT(decoder.error().message, ::testing::HasSubstr("expected gpt2 or llama"));
}

TEST(Eager, TheLastTokenOfALoopWaitsUntilTheNextCallFeedsIt) {
  const std::vector<Report> reports =
      reports_of("eager", "run m\nopen a rows=1 capacity=8\ngenerate a 3 1 new=2\nappend a 4 want=all\n");
  EXPECT_EQ(reports[1].lengths->values.front(), Value(IntegerValue{3}));
  EXPECT_EQ(reports[2].lengths->values.front(), Value(IntegerValue{5}));
  const Tokens& emitted = reports[1].tokens->front();
  EXPECT_EQ(reports[2].calls->front().tokens, (Rows{{emitted.back(), 4}}));
  EXPECT_EQ(reports[2].logits->n, 1);
}

TEST(Eager, ACropCountsTheHistoryAndDropsAPendingTokenPastIt) {
  const std::vector<Report> kept =
      reports_of("eager", "run m\nopen a rows=1 capacity=8\ngenerate a 3 1 new=2\ncrop a 4\nappend a 4\n");
  EXPECT_EQ(kept[2].lengths->values.front(), Value(IntegerValue{3}));
  EXPECT_EQ(kept[3].lengths->values.front(), Value(IntegerValue{5}));
  const std::vector<Report> dropped =
      reports_of("eager", "run m\nopen a rows=1 capacity=8\ngenerate a 3 1 new=2\ncrop a 3\nappend a 4\n");
  EXPECT_EQ(dropped[3].calls->front().tokens, (Rows{{4}}));
  EXPECT_EQ(dropped[3].lengths->values.front(), Value(IntegerValue{4}));
}

TEST(Eager, ALoopMayEndInTheSlotPastTheLastSinceItsLastTokenNeedsNone) {
  EXPECT_EQ(reports_of("eager", "run m\nopen a rows=1 capacity=4\ngenerate a 3 1 new=3\n")[1].status, Status::kOk);
  EXPECT_EQ(reports_of("eager", "run m\nopen a rows=1 capacity=4\ngenerate a 3 1 new=4\n")[1].kind, "capacity");
}

}  // namespace
}  // namespace cachet
