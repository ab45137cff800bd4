// The text form: printed as documented, read back as the same value, and refused with line and reason where it is malformed.
#include "harness/text.h"

#include <gmock/gmock.h>

#include <fstream>
#include <set>

#include "harness/text_lines.h"
#include "tests/harness/drawn_cases.h"

namespace cachet {
namespace {

using ::testing::HasSubstr;

constexpr const char* kExample =
    "cachet case 1\n"
    "law      repeat_call\n"
    "backend  static_cache+stale_length\n"
    "model    m gpt2 layers=1 heads=1 width=2 vocab=4 context=8 weights=seed:0\n"
    "run      m\n"
    "complete 3 1 new=1\n"
    "complete 3 1 new=1\n"
    "run      m\n"
    "open     a rows=2 capacity=8\n"
    "append   a 3 1 | 2 want=all\n"
    "generate a new=2 stop=7\n"
    "crop     a 2 1\n";

/// A case whose sixth line and later are `lines`, inside the run of a model m.
std::string in_run(const std::string& lines) {
  return "cachet case 1\nlaw l\nbackend b\nmodel m gpt2 layers=1 heads=1 width=2 vocab=4 context=8 weights=seed:0\nrun m\n" +
         lines;
}

Step only_step(const std::string& line) {
  const Result<Case> value = parse_case(in_run(line + "\n"), "x");
  EXPECT_TRUE(value) << (value ? "" : to_string(value.error()));
  return value ? value->trace.last_run()->steps.at(0) : Step(Recompile{});
}

TEST(Text, TheExampleOfTheDesignIsCanonical) {
  const Result<Case> value = parse_case(kExample, "x");
  ASSERT_TRUE(value) << to_string(value.error());
  EXPECT_EQ(print_case(*value), kExample);
  EXPECT_EQ(value->law, "repeat_call");
  EXPECT_EQ(value->backend, "static_cache+stale_length");
  EXPECT_EQ(value->trace.steps(), 6);
  ASSERT_EQ(value->trace.runs(), 2);
  const cachet::Run& last = *value->trace.last_run();
  EXPECT_EQ(last.steps[1], Step(Append{"a", {{3, 1}, {2}}, {}, Want::kAll, true}));
  EXPECT_EQ(std::get<Generate>(last.steps[2]).loop.stop, Tokens{7});
  EXPECT_EQ(last.steps[3], Step(Crop{"a", {2, 1}}));
}

TEST(Text, CommentsBlanksAndEmptyLinesMeanNothing) {
  std::string text = kExample;
  text.insert(text.find("run"), "\n  # a comment\n\t\n");
  text.insert(text.find(" new=1"), "  ");
  text.insert(text.find("\nrun "), " # why");
  EXPECT_EQ(*parse_case(text, "x"), *parse_case(kExample, "x"));
}

TEST(Text, StepsReadAsTheyAreDocumented) {
  EXPECT_EQ(only_step("append a - | 1 pad=1,0 keep=false"), Step(Append{"a", {{}, {1}}, {1, 0}, Want::kLast, false}));
  EXPECT_EQ(only_step("append a 1|2"), Step(Append{"a", {{1}, {2}}, {}, Want::kLast, true}));
  EXPECT_EQ(only_step("remove a 1 3"), Step(Remove{"a", 1, 3}));
  EXPECT_EQ(only_step("remove a 1"), Step(Remove{"a", 1, std::nullopt}));
  EXPECT_EQ(only_step("shift a 1 delta=-2"), Step(Shift{"a", 1, std::nullopt, -2}));
  EXPECT_EQ(only_step("fork a b"), Step(Fork{"a", "b"}));
  EXPECT_EQ(only_step("reorder a 1 1 0"), Step(Reorder{"a", {1, 1, 0}}));
  EXPECT_EQ(only_step("rollback a here"), Step(Rollback{"a", "here"}));
  EXPECT_EQ(only_step("recompile # now"), Step(Recompile{}));
  EXPECT_EQ(only_step("generate a new=1 stop=[]"), Step(Generate{"a", std::nullopt, Loop{1, Tokens{}, 0, {}}}));
  EXPECT_EQ(only_step("generate a new=1 stop=[ 7, 8 ]"), only_step("generate a new=1 stop=7,8"));
  EXPECT_EQ(std::get<Generate>(only_step("generate a new=1 beams={ \"width\" : 2, \"#\": 1 } # two")).loop.extras.at("beams"),
            R"({"#":1,"width":2})");
  EXPECT_EQ(only_step(R"(raw {"op": "append", "tokens": "# no comment"} # one)"),
            Step(Raw{R"({"op": "append", "tokens": "# no comment"})"}));
}

TEST(Text, PrintsOneLineAStepWithoutTrailingBlanks) {
  EXPECT_EQ(print_step(Recompile{}), "recompile");
  EXPECT_EQ(print_step(Close{"a"}), "close    a");
  EXPECT_EQ(print_step(Complete{{{3, 1}, {}}, 8, Loop{2, Tokens{}, 1, {}}}),
            "complete 3 1 | - capacity=8 new=2 stop=[] min_new=1");
  EXPECT_EQ(print_step(Crop{"a", {}}), "crop     a length=[]");
}

TEST(Text, ParserAndPrinterAreInverseOnEveryCase) {
  std::set<std::size_t> kinds;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    const Case value = Drawn(seed).value();
    for (const int i : value.trace.run_indices())
      for (const Step& step : std::get<cachet::Run>(value.trace.events[static_cast<std::size_t>(i)]).steps)
        kinds.insert(step.index());
    const std::string text = print_case(value);
    const Result<Case> again = parse_case(text, "x");
    ASSERT_TRUE(again) << "seed " << seed << ": " << to_string(again.error()) << "\n" << text;
    ASSERT_EQ(print_case(*again), text) << "seed " << seed;
    ASSERT_TRUE(*again == value) << "seed " << seed << "\n" << text;
  }
  EXPECT_EQ(kinds.size(), std::variant_size_v<Step>) << "every kind of step was drawn";
}

TEST(Text, MutatedCasesAreReadOrRefusedWithALineAndNothingElse) {
  int read = 0, refused = 0;
  std::string other = kExample;
  for (std::uint64_t seed = 0; seed < 24000; ++seed) {
    Drawn drawn(seed);
    const std::string valid = seed % 4 == 0 ? kExample : print_case(drawn.value());
    const std::string text = drawn.mutate(valid, other);
    other = valid;
    const Result<Case> value = parse_case(text, "x");
    if (!value) {
      ++refused;
      ASSERT_GT(value.error().line, 0) << text;
      ASSERT_EQ(value.error().file, "x");
      ASSERT_LE(value.error().line, 1 + std::count(text.begin(), text.end(), '\n')) << text;
      ASSERT_FALSE(value.error().message.empty()) << text;
      continue;
    }
    ++read;
    const std::string printed = print_case(*value);
    const Result<Case> again = parse_case(printed, "x");
    ASSERT_TRUE(again) << to_string(again.error()) << "\n" << printed;
    ASSERT_TRUE(*again == *value) << printed;
  }
  RecordProperty("read", read);
  RecordProperty("refused", refused);
  EXPECT_GT(read, 1000);
  EXPECT_GT(refused, 5000);
}

struct Malformed {
  std::string name;
  std::string text;
  int line;
  std::string word;  ///< of the message
};

std::vector<Malformed> malformed() {
  const std::string kHead = "cachet case 1\nlaw l\nbackend b\n";
  std::vector<Malformed> out = {
      {"empty file", "", 1, "empty"},
      {"only a line feed", "\n", 1, "cachet case 1"},
      {"another version", "cachet case 2\nlaw l\nbackend b\n", 1, "cachet case 1"},
      {"a version like a text", "\"cachet case 1\"\n", 1, "cachet case 1"},
      {"no version", "law l\nbackend b\n", 1, "first line"},
      {"a byte order mark",
       "\xEF\xBB\xBF"
       "cachet case 1\n",
       1, "first line"},
      {"carriage returns", "cachet case 1\r\nlaw l\r\n", 1, "carriage return"},
      {"a carriage return later", "cachet case 1\nlaw l\r\n", 2, "carriage return"},
      {"a NUL byte", std::string("cachet case 1\nlaw l\nback\0end b\n", 31), 3, "NUL"},
      {"a control character", "cachet case 1\nlaw \x01\n", 2, "control"},
      {"invalid UTF-8", "cachet case 1\nlaw l\nnote \xC3(\n", 3, "UTF-8"},
      {"overlong UTF-8", "cachet case 1\nnote \xC0\x80\n", 2, "UTF-8"},
      {"overlong UTF-8 of three bytes", "cachet case 1\nnote \xE0\x80\x80\n", 2, "UTF-8"},
      {"overlong UTF-8 of four bytes", "cachet case 1\nnote \xF0\x80\x80\x80\n", 2, "UTF-8"},
      {"UTF-8 beyond Unicode", "cachet case 1\nnote \xF4\x90\x80\x80\n", 2, "UTF-8"},
      {"a surrogate", "cachet case 1\nnote \xED\xA0\x80\n", 2, "UTF-8"},
      {"an over-long line", "cachet case 1\nlaw " + std::string(text::kMaxLine, 'x') + "\n", 2, "at most"},
      {"an over-long case", std::string(text::kMaxBytes + 1, '\n'), 1, "at most"},
      {"no law", "cachet case 1\nbackend b\n", 2, "\"law\""},
      {"no backend", "cachet case 1\nlaw l\n", 2, "\"backend\""},
      {"law twice", kHead + "law l\n", 4, "twice"},
      {"peer twice", kHead + "peer p\npeer p\n", 5, "twice"},
      {"vary twice", kHead + "vary 1\nvary 2\n", 5, "twice"},
      {"law without a text", "cachet case 1\nlaw\nbackend b\n", 2, "without a text"},
      {"backend that is a comment", "cachet case 1\nlaw l\nbackend # b\n", 3, "without a text"},
      {"vary of words", kHead + "vary one\n", 4, "not a number"},
      {"vary out of range", kHead + "vary 9223372036854775808\n", 4, "out of range"},
      {"vary with a key", kHead + "vary a=1\n", 4, "whole numbers"},
      {"a header with more after a quoted text", kHead + "note \"a\" b\n", 4, "one quoted text"},
      {"a header with an open quote", kHead + "note \"a\n", 4, "closing"},
      {"a header after the run", in_run("note late\n"), 6, "headers first"},
      {"a step before any run", kHead + "complete 1 new=1\n", 4, "outside a run"},
      {"a step after the model", kHead + "model m gpt2\nopen a rows=1 capacity=2\n", 5, "outside a run"},
      {"a step after unload", in_run("unload m\nreset a\n"), 7, "outside a run"},
      {"a run of an unknown model", kHead + "run m\n", 4, "no model is called"},
      {"a run of a misspelt model", kHead + "model main gpt2\nrun mian\n", 5, "did you mean \"main\""},
      {"a run of an unloaded model", in_run("unload m\nrun m\n"), 7, "is unloaded"},
      {"an unload of an unknown model", kHead + "unload m\n", 4, "no model is called"},
      {"an unload twice", in_run("unload m\nunload m\n"), 7, "is unloaded"},
      {"a run without a handle", kHead + "run\n", 4, "run HANDLE"},
      {"a run of two", in_run("run m m\n"), 6, "run HANDLE"},
      {"a model without a handle", kHead + "model\n", 4, "handle"},
      {"a model without a family", kHead + "model m\n", 4, "family"},
      {"a model of no family", kHead + "model m gpt9 layers=1\n", 4, "gpt9"},
      {"a model with an unknown key", kHead + "model m gpt2 leyers=1\n", 4, "leyers"},
      {"a model with a bad value", kHead + "model m gpt2 layers=x\n", 4, "layers"},
      {"a model that contradicts itself", kHead + "model m gpt2 width=3 heads=2\n", 4, "heads"},
      {"a model with a key twice", kHead + "model m gpt2 layers=1 layers=1\n", 4, "twice"},
      {"a model with a stray word", kHead + "model m gpt2 big\n", 4, "key=value"},
      {"an unknown op", in_run("warp a\n"), 6, "unknown op \"warp\""},
      {"a misspelt op", in_run("apend a 1\n"), 6, "did you mean \"append\""},
      {"a capital op", in_run("Open a rows=1 capacity=1\n"), 6, "did you mean \"open\""},
      {"a line that begins with JSON", in_run("{\"op\":\"open\"}\n"), 6, "expected an op"},
      {"a line that begins with a key", in_run("op=open\n"), 6, "begins the line"},
      {"a line that begins with a bar", in_run("| 1\n"), 6, "expected an op"},
      {"an unknown key", in_run("open a rows=1 size=2\n"), 6, "unknown key \"size\""},
      {"a misspelt key", in_run("open a row=1 capacity=2\n"), 6, "did you mean \"rows\""},
      {"a key twice", in_run("open a rows=1 rows=1 capacity=2\n"), 6, "twice"},
      {"a key without a value", in_run("open a rows= capacity=2\n"), 6, "without a value"},
      {"a value without a key", in_run("open a =1 capacity=2\n"), 6, "without a key"},
      {"a missing key", in_run("open a rows=1\n"), 6, "capacity"},
      {"a missing session", in_run("open rows=1 capacity=2\n"), 6, "session"},
      {"missing tokens", in_run("append a\n"), 6, "tokens"},
      {"missing new", in_run("complete 1 2\n"), 6, "new=NUMBER"},
      {"a missing begin", in_run("remove a\n"), 6, "begin"},
      {"a missing blob", in_run("save a\n"), 6, "blob"},
      {"a missing delta", in_run("shift a 1 2\n"), 6, "delta"},
      {"a word too many", in_run("reset a b\n"), 6, "too many"},
      {"a number too many", in_run("remove a 1 2 3\n"), 6, "too many"},
      {"a positional after a key", in_run("append a want=all 1\n"), 6, "after key=value"},
      {"rows that are none", in_run("open a rows=0 capacity=2\n"), 6, "at least 1"},
      {"a capacity below zero", in_run("open a rows=1 capacity=-4\n"), 6, "at least 1"},
      {"nothing new", in_run("complete 1 new=0\n"), 6, "at least 1"},
      {"min_new below zero", in_run("complete 1 new=1 min_new=-1\n"), 6, "at least 0"},
      {"a number with a point", in_run("append a 1.5\n"), 6, "not a number"},
      {"a number in hexadecimal", in_run("append a 0x1\n"), 6, "not a number"},
      {"a number with a plus", in_run("append a +1\n"), 6, "not a number"},
      {"a number with a leading zero", in_run("append a 01\n"), 6, "not a number"},
      {"minus zero", in_run("append a -0\n"), 6, "not a number"},
      {"a token beyond 64 bits", in_run("append a 9223372036854775808\n"), 6, "out of range"},
      {"a length beyond 32 bits", in_run("crop a 2147483648\n"), 6, "out of range"},
      {"an empty row without a dash", in_run("append a 1 | | 2\n"), 6, "dash"},
      {"a bar at the end", in_run("append a 1 |\n"), 6, "after \"|\""},
      {"a bar at the front", in_run("append a | 1\n"), 6, "before \"|\""},
      {"a dash among numbers", in_run("append a 1 - 2\n"), 6, "dash alone"},
      {"numbers after a dash", in_run("append a - 2\n"), 6, "dash alone"},
      {"pads for another number of rows", in_run("append a 1 | 2 pad=1\n"), 6, "one a row"},
      {"pads for no row", in_run("append a 1 pad=[]\n"), 6, "one a row"},
      {"pads below zero", in_run("append a 1 pad=-1\n"), 6, "at least 0"},
      {"want of another word", in_run("append a 1 want=some\n"), 6, "last or all"},
      {"keep of another word", in_run("append a 1 keep=no\n"), 6, "true or false"},
      {"a list with a hole", in_run("complete 1 new=1 stop=1,,2\n"), 6, "not a number"},
      {"a list with a comma at the end", in_run("complete 1 new=1 stop=1,\n"), 6, "not a number"},
      {"a JSON list of texts", in_run("complete 1 new=1 stop=[\"a\"]\n"), 6, "expected an integer"},
      {"a JSON list of reals", in_run("complete 1 new=1 stop=[1.0]\n"), 6, "expected an integer"},
      {"JSON that does not end", in_run("complete 1 new=1 stop=[1\n"), 6, "without its end"},
      {"JSON that is malformed", in_run("complete 1 new=1 beams={width:2}\n"), 6, "malformed JSON"},
      {"JSON followed by a letter", in_run("complete 1 new=1 stop=[1]x\n"), 6, "directly after JSON"},
      {"JSON with a key twice", in_run("complete 1 new=1 beams={\"w\":1,\"w\":2}\n"), 6, "twice"},
      {"JSON nested too deep", in_run("complete 1 new=1 beams={\"a\":" + std::string(100, '[') + std::string(100, ']') + "}\n"),
       6, "nested"},
      {"JSON nested far too deep", in_run("raw {\"a\":" + std::string(300000, '[') + std::string(300000, ']') + "}\n"), 6,
       "nested"},
      {"JSON with a number beyond doubles", in_run("complete 1 new=1 beams={\"width\":1e999}\n"), 6, "out of range"},
      {"beams that are a list", in_run("complete 1 new=1 beams=[]\n"), 6, "JSON object"},
      {"sampling that is a number", in_run("complete 1 new=1 sampling=1\n"), 6, "JSON object"},
      {"processors that are an object", in_run("complete 1 new=1 processors={}\n"), 6, "list of objects"},
      {"processors of numbers", in_run("complete 1 new=1 processors=[1]\n"), 6, "list of objects"},
      {"raw without JSON", in_run("raw\n"), 6, "one JSON object"},
      {"raw of a word", in_run("raw open\n"), 6, "one JSON object"},
      {"raw of a list", in_run("raw [1]\n"), 6, "one JSON object"},
      {"raw of two objects", in_run("raw {} {}\n"), 6, "one JSON object"},
      {"tokens under their name", in_run("append a tokens=[1]\n"), 6, "positional"},
      {"tokens twice", in_run("generate a 1 tokens=[] new=1\n"), 6, "unknown key \"tokens\""},
      {"a key of another step", in_run("reset a rows=1\n"), 6, "no keys"},
      {"a session that is JSON", in_run("reset [1]\n"), 6, "expected a name"},
      {"a quoted number", in_run("crop a \"1\"\n"), 6, "whole number"},
  };
  return out;
}

TEST(Text, EveryMalformedCaseIsRefusedWithItsLineAndReason) {
  for (const Malformed& m : malformed()) {
    const Result<Case> value = parse_case(m.text, "bad.case");
    ASSERT_FALSE(value) << m.name << " was accepted";
    EXPECT_EQ(value.error().file, "bad.case");
    EXPECT_EQ(value.error().line, m.line) << m.name << ": " << value.error().message;
    EXPECT_THAT(value.error().message, HasSubstr(m.word)) << m.name;
    EXPECT_THAT(value.error().message, HasSubstr("xpected")) << m.name;
  }
  EXPECT_GE(malformed().size(), 60u);
}

struct MalformedFile {
  const char* name;
  int line;
  const char* word;
};

TEST(Text, EveryMalformedFileIsRefusedWithItsLineAndReason) {
  const std::string folder = std::string(CACHET_TESTS_DIR) + "/malformed/";
  for (const MalformedFile& m : std::initializer_list<MalformedFile>{{"carriage_returns.case", 1, "carriage return"},
                                                                     {"cut_short.case", 9, "not a number"},
                                                                     {"empty.case", 1, "empty"},
                                                                     {"nul_byte.case", 6, "NUL"},
                                                                     {"not_utf8.case", 4, "UTF-8"},
                                                                     {"step_before_run.case", 6, "outside a run"},
                                                                     {"misspelt_key.case", 8, "did you mean \"capacity\""},
                                                                     {"certificate_with_bad_case.json", 4, "no model is called"},
                                                                     {"certificate_without_case.json", 0, "\"case\""},
                                                                     {"certificate_cut_short.json", 0, "malformed JSON"},
                                                                     {"no_such_file.case", 0, "cannot be read"}}) {
    const Result<Case> value = read_case(folder + m.name);
    ASSERT_FALSE(value) << m.name;
    EXPECT_EQ(value.error().line, m.line) << m.name << ": " << value.error().message;
    EXPECT_THAT(value.error().file, HasSubstr(m.name));
    EXPECT_THAT(value.error().message, HasSubstr(m.word)) << m.name;
  }
}

TEST(Text, AFolderIsNoCaseFile) { EXPECT_FALSE(read_case(CACHET_TESTS_DIR)); }

TEST(Text, ACertificateHoldsItsCase) {
  const Result<Case> value = read_case(std::string(CACHET_TESTS_DIR) + "/malformed/certificate_good.json");
  ASSERT_TRUE(value) << to_string(value.error());
  EXPECT_EQ(value->law, "repeat_call");
  EXPECT_EQ(value->trace.steps(), 1);
}

TEST(Trace, CountsStepsOfRunsOnlyAndKnowsWhatAHandleNames) {
  ModelSpec first, second;
  second.layers = 2;
  Trace trace{{Load{"m", first}, cachet::Run{"m", {Recompile{}, Reset{"a"}}}, Load{"m", second}, cachet::Run{"m", {}},
               Unload{"m"}, Load{"n", first}}};
  EXPECT_EQ(trace.steps(), 2);
  EXPECT_EQ(trace.runs(), 2);
  EXPECT_EQ(trace.run_indices(), (std::vector<int>{1, 3}));
  EXPECT_EQ(trace.last_run(), &std::get<cachet::Run>(trace.events[3]));
  EXPECT_EQ(Trace{}.last_run(), nullptr);
  EXPECT_EQ(trace.spec_at(0, "m"), nullptr);
  ASSERT_NE(trace.spec_at(1, "m"), nullptr);
  EXPECT_EQ(trace.spec_at(1, "m")->layers, 1);
  EXPECT_EQ(trace.spec_at(3, "m")->layers, 2);
  EXPECT_EQ(trace.spec_at(5, "m"), nullptr);
}

TEST(Step, KnowsItsNameAndSession) {
  EXPECT_STREQ(op_name(Open{}), "open");
  EXPECT_STREQ(op_name(Raw{}), "raw");
  EXPECT_STREQ(op_name(Close{}), "close");
  EXPECT_STREQ(op_name(Recompile{}), "recompile");
  EXPECT_EQ(session_of(Fork{"a", "b"}), "a");
  EXPECT_EQ(session_of(Complete{}), "");
}

}  // namespace
}  // namespace cachet
