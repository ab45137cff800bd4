// The protocol's server side: exact errors, one answer a request, and reports as soon as they are there.
#include "harness/serve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "harness/checkpoint.h"
#include "harness/json.h"
#include "tests/backends/fake_engine.h"

namespace cachet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

std::vector<Json> parsed(const std::string& text) {
  std::vector<Json> out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) out.push_back(Json::parse(line));
  return out;
}

/// What the fake engine's server answers to the lines.
std::vector<Json> answers(const std::vector<std::string>& lines) {
  const auto backend = testing::make_fake_backend();
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  std::istringstream in(text);
  std::ostringstream out;
  EXPECT_EQ(serve(*backend, in, out), 0);
  return parsed(out.str());
}

std::string request(int id, const std::string& method, const std::string& params = "{}") {
  return R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + R"(,"method":")" + method + R"(","params":)" + params + "}";
}

const std::string kSpec = R"({"family":"gpt2","layers":1,"heads":1,"width":2,"vocab":4,"context":8,"weights":"seed:0"})";
std::string load(int id, const std::string& configuration = "plain") {
  return request(id, "load", R"({"configuration":")" + configuration + R"(","model":{"spec":)" + kSpec + "}}");
}
std::string run(int id, const std::string& trace, const std::string& model = "m0") {
  return request(id, "run", R"({"model":")" + model + R"(","trace":)" + trace + "}");
}

int code(const Json& answer) { return answer.contains("error") ? answer["error"]["code"].get<int>() : 0; }

TEST(Serve, AnswersTheProtocolsExample) {
  const auto out =
      answers({request(1, "initialize", R"({"protocol":1,"suite":"cachet 0.1.0"})"), load(2),
               run(3, R"([{"op":"open","session":"a","rows":1,"capacity":8},{"op":"append","session":"a","tokens":[[3,1]]}])"),
               request(4, "unload", R"({"model":"m0"})"), request(5, "shutdown"), request(6, "initialize")});
  ASSERT_THAT(out, SizeIs(7)) << "nothing is answered after shutdown";
  EXPECT_EQ(out[0]["result"]["protocol"], 1);
  EXPECT_EQ(out[0]["result"]["name"], "fake");
  EXPECT_THAT(out[0]["result"]["configurations"][0]["capabilities"].get<std::vector<std::string>>(),
              ::testing::Contains("restart"));
  EXPECT_EQ(out[1], Json::parse(R"({"jsonrpc":"2.0","id":2,"result":{"model":"m0"}})"));
  EXPECT_EQ(out[2]["method"], "step");
  EXPECT_EQ(out[2]["params"]["index"], 0);
  EXPECT_EQ(out[3]["params"]["index"], 1);
  EXPECT_EQ(out[3]["params"]["lengths"], Json::parse(R"({"kind":"integer","value":2})"));
  EXPECT_EQ(out[4], Json::parse(R"({"jsonrpc":"2.0","id":3,"result":{"steps":2}})"));
  EXPECT_EQ(out[5], Json::parse(R"({"jsonrpc":"2.0","id":4,"result":{}})"));
  EXPECT_EQ(out[6], Json::parse(R"({"jsonrpc":"2.0","id":5,"result":{}})"));
}

struct BadRequest {
  std::string line;
  int code;
};

TEST(Serve, GivesEachBadRequestItsError) {
  const std::vector<BadRequest> requests = {
      {"{", -32700},
      {"\xff\xfe", -32700},
      {"nonsense", -32700},
      {R"({"jsonrpc":"2.0","id":1,"method":"restart"} trailing)", -32700},
      {std::string(100'000, '['), -32700},
      {R"({"jsonrpc":"2.0","id":1,"method":"restart","params":{"x":NaN}})", -32700},
      {"3", -32600},
      {"[]", -32600},
      {R"({"id":1,"method":"restart"})", -32600},
      {R"({"jsonrpc":"1.0","id":1,"method":"restart"})", -32600},
      {R"({"jsonrpc":"2.0","id":1})", -32600},
      {R"({"jsonrpc":"2.0","id":1,"method":3})", -32600},
      {R"({"jsonrpc":"2.0","id":{},"method":"restart"})", -32600},
      {request(1, "fly"), -32601},
      {request(1, "restart", "[]"), -32602},
      {request(1, "initialize"), -32602},
      {request(1, "initialize", R"({"protocol":2})"), -32602},
      {request(1, "load"), -32602},
      {request(1, "load", R"({"configuration":3,"model":{}})"), -32602},
      {request(1, "load", R"({"configuration":"plain"})"), -32602},
      {request(1, "load", R"({"configuration":"plain","model":{}})"), -32602},
      {request(1, "load", R"({"configuration":"plain","model":{"directory":3}})"), -32602},
      {request(1, "load", R"({"configuration":"plain","model":{"spec":3}})"), -32602},
      {request(1, "load", R"({"configuration":"fancy","model":{"spec":)" + kSpec + "}}"), -32002},
      {request(1, "load", R"({"configuration":"plain","model":{"directory":"/no/such/directory"}})"), -32001},
      {request(1, "load", R"({"configuration":"plain","model":{"spec":{"family":"no_such_family"}}})"), -32001},
      {request(1, "load", R"({"configuration":"plain","model":{"spec":{"family":"gpt2","heads":3,"width":4}}})"), -32001},
      {request(1, "load", R"({"configuration":"picky","model":{"spec":{"family":"gpt2","layers":2}}})"), -32001},
      {run(1, "[]", "m7"), -32002},
      {request(1, "run", R"({"trace":[]})"), -32602},
      {request(1, "run", R"({"model":"m0"})"), -32602},
      {request(1, "run", R"({"model":"m0","trace":{}})"), -32602},
      {request(1, "unload", R"({"model":"m7"})"), -32002},
      {request(1, "unload"), -32602},
  };
  for (const BadRequest& bad : requests) {
    const auto out = answers({load(0), bad.line, run(2, "[]")});
    ASSERT_THAT(out, SizeIs(3)) << bad.line.substr(0, 200);
    EXPECT_EQ(code(out[1]), bad.code) << bad.line.substr(0, 200);
    EXPECT_FALSE(out[1]["error"]["message"].get<std::string>().empty());
    EXPECT_EQ(out[2]["result"]["steps"], 0) << "the server goes on";
  }
}

TEST(Serve, AnswersAnUnreadableRequestWithoutItsId) {
  EXPECT_TRUE(answers({"{"})[0]["id"].is_null());
  EXPECT_EQ(answers({R"({"jsonrpc":"2.0","id":"seven","method":"fly"})"})[0]["id"], "seven");
}

TEST(Serve, AnswersNeitherBlankLinesNorNotifications) {
  EXPECT_THAT(answers({"", "  \r", R"({"jsonrpc":"2.0","method":"shutdown"})", request(1, "restart")}), SizeIs(1));
}

TEST(Serve, RefusesAMalformedStepWhereItStands) {
  const auto steps =
      answers({load(1), run(2, R"([{"op":"open","session":"a","rows":1,"capacity":8},3,{"op":"fly"},{"op":"open","session":"b"},)"
                               R"({"op":"length","session":"a","loud":true},{"op":"open","session":"a","rows":1.5,"capacity":8},)"
                               R"({"op":"append","session":"a","tokens":[[1]]}])")});
  std::vector<std::string> kinds;
  for (const Json& message : steps)
    if (message.value("method", "") == "step")
      kinds.push_back(message["params"]["status"] == "refused" ? message["params"]["kind"].get<std::string>() : "ok");
  EXPECT_THAT(kinds, ElementsAre("ok", "invalid", "unsupported", "invalid", "unsupported", "invalid", "ok"));
  EXPECT_EQ(steps.back()["result"]["steps"], 7);
}

TEST(Serve, RestartForgetsModelsAndWhatTheEngineRetained) {
  const std::string complete = R"([{"op":"complete","tokens":[[1]],"new":1}])";
  const auto out = answers(
      {load(1), run(2, complete), run(3, complete), request(4, "restart"), run(5, complete), load(6), run(7, complete, "m1")});
  EXPECT_EQ(out[1]["params"]["cached"][0], 0);
  EXPECT_EQ(out[3]["params"]["cached"][0], 1);
  EXPECT_EQ(code(out[6]), -32002);
  EXPECT_EQ(out[7]["result"]["model"], "m1") << "no handle is given out twice";
  EXPECT_EQ(out[8]["params"]["cached"][0], 0);
}

TEST(Serve, KeepsOneConfigurationALife) {
  const auto out = answers({load(1), load(2, "picky"), load(3), request(4, "unload", R"({"model":"m0"})"),
                            request(5, "unload", R"({"model":"m1"})"), load(6, "picky")});
  EXPECT_EQ(code(out[1]), -32001);
  EXPECT_THAT(out[1]["error"]["message"].get<std::string>(), HasSubstr("\"plain\""));
  EXPECT_EQ(out[2]["result"]["model"], "m1");
  EXPECT_EQ(out[5]["result"]["model"], "m2");
}

TEST(Serve, ReadsAModelFromItsDirectory) {
  ModelSpec spec;
  spec.vocab = 7;
  const Result<ModelPtr> model = build_model(spec);
  ASSERT_TRUE(model);
  const auto directory = std::filesystem::path(::testing::TempDir()) / "cachet_serve_test_model";
  ASSERT_FALSE(write_checkpoint(**model, directory));
  const auto out =
      answers({request(1, "load",
                       R"({"configuration":"plain","model":{"directory":")" + directory.string() + R"(","spec":)" + kSpec + "}}"),
               run(2, R"([{"op":"open","session":"a","rows":1,"capacity":8},{"op":"append","session":"a","tokens":[[3,1]]}])")});
  std::filesystem::remove_all(directory);
  ASSERT_THAT(out, SizeIs(4));
  EXPECT_EQ(out[2]["params"]["logits"]["shape"][2], 7) << "the directory counts, not the spec";
}

/// Looks at the output each time it is called.
class WatchingEngine final : public Engine {
 public:
  WatchingEngine(const std::ostringstream& out, std::vector<std::size_t>& seen) : out_(out), seen_(seen) {}
  Report execute(const Step& step) override {
    seen_.push_back(parsed(out_.str()).size());
    if (std::holds_alternative<Crop>(step)) throw std::runtime_error("torn");
    return {};
  }
  void end_run() override {}

 private:
  const std::ostringstream& out_;
  std::vector<std::size_t>& seen_;
};

std::vector<Json> watched(const std::string& trace, std::vector<std::size_t>& seen) {
  Configuration plain;
  plain.name = "plain";
  std::ostringstream out;
  const auto backend = make_in_process_backend({"watching", "1", {}, {plain}},
                                               [&](const std::string&, const ModelPtr&) -> Result<std::unique_ptr<Engine>> {
                                                 return std::unique_ptr<Engine>(std::make_unique<WatchingEngine>(out, seen));
                                               });
  std::istringstream in(load(1) + "\n" + run(2, trace) + "\n" + run(3, trace) + "\n");
  EXPECT_EQ(serve(*backend, in, out), 0);
  return parsed(out.str());
}

TEST(Serve, SendsEachReportBeforeTheNextStepBegins) {
  std::vector<std::size_t> seen;
  watched(R"([{"op":"length","session":"a"},{"op":"length","session":"a"}])", seen);
  EXPECT_THAT(seen, ElementsAre(1, 2, 4, 5));
}

TEST(Serve, SaysThatABrokenEngineIsBroken) {
  std::vector<std::size_t> seen;
  const auto out = watched(R"([{"op":"length","session":"a"},{"op":"crop","session":"a","length":[1]}])", seen);
  ASSERT_THAT(out, SizeIs(4));
  EXPECT_EQ(out[1]["params"]["index"], 0);
  EXPECT_EQ(code(out[2]), -32003);
  EXPECT_EQ(code(out[3]), -32003) << "and stays so";
}

}  // namespace
}  // namespace cachet
