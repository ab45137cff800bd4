// The compiled backend really compiles: a plan with an arena, one compilation a bucket, and a refusal where the cache would grow.
#include <gmock/gmock.h>

#include "backends/compiler/passes.h"
#include "backends/compiler/plan.h"
#include "backends/compiler/trace.h"
#include "tests/backends/traces.h"

namespace cachet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kLong = "gpt2 layers=1 heads=1 width=4 vocab=8 context=128 weights=seed:1";

std::unique_ptr<backends::Decoder> decoder_of(const std::string& model) {
  const Case value = case_of("run m\n", model);
  return std::move(*backends::Decoder::make(*load_model(std::get<Load>(value.trace.events.front()).spec), {}));
}

/// A prompt of three tokens and 64 appends of one.
std::string decoding(int capacity) {
  std::string text = "run m\nopen a rows=1 capacity=" + std::to_string(capacity) + "\nappend a 3 1 4\n";
  for (int i = 0; i < 64; ++i) text += "append a " + std::to_string(i % 8) + "\n";
  return text;
}

std::vector<std::string> compilations(const std::string& backend, const std::string& lines) {
  std::vector<std::string> out;
  const Transcript transcript = execute_on(backend, case_of(lines, kLong).trace);
  for (const Report& report : transcript.runs.back().reports)
    for (const Compilation& c : report.compilations.value_or(std::vector<Compilation>{}))
      out.push_back(c.what + " " + c.signature);
  return out;
}

TEST(Compiled, CompilesOnePrefillAndOneDecodeForEachBucket) {
  EXPECT_THAT(compilations("compiled/padded", decoding(67)),
              ElementsAre("prefill rows=1 tokens=8 capacity=128", "decode rows=1 tokens=1 capacity=128"));
  EXPECT_THAT(compilations("compiled/padded", decoding(128) + "open b rows=1 capacity=9\nappend b 3\nappend b 1\nappend b 4\n"),
              ElementsAre("prefill rows=1 tokens=8 capacity=128", "decode rows=1 tokens=1 capacity=128",
                          "prefill rows=1 tokens=8 capacity=16", "decode rows=1 tokens=1 capacity=16"));
}

TEST(Compiled, ByDefaultDecodeIsNotCompiled) {
  EXPECT_THAT(compilations("compiled/default", decoding(67)), ElementsAre("prefill rows=1 tokens=8 capacity=128"));
}

TEST(Compiled, WithoutPaddingTheFirstGrowingShapeIsRefused) {
  const std::vector<Report> reports =
      reports_of("compiled+unpadded", "run m\nopen a rows=1 capacity=8\nappend a 3 1\nappend a 4\nappend a 1\n", kLong);
  EXPECT_EQ(reports[2].status, Status::kOk);
  EXPECT_EQ(reports[3].status, Status::kRefused);
  EXPECT_EQ(reports[3].kind, "unsupported");
  EXPECT_THAT(reports[3].message, HasSubstr("compiled for a cache of 3 tokens and would be called with 4"));
  const std::vector<Report> loop =
      reports_of("compiled+unpadded", "run m\nopen a rows=1 capacity=8\ngenerate a 3 1 new=3\ncomplete 3 1 new=3\n", kLong);
  EXPECT_EQ(loop[1].status, Status::kRefused);
  EXPECT_EQ(loop[2].status, Status::kRefused);
}

TEST(Compiled, AfterRecompileItCompilesAnew) {
  const std::string once = "run m\nopen a rows=1 capacity=8\nappend a 3\nappend a 1\n";
  EXPECT_EQ(compilations("compiled/padded", once).size(), 2U);
  EXPECT_EQ(compilations("compiled/padded", once + "recompile\nappend a 4 4\nappend a 1\n").size(), 4U);
}

TEST(Compiler, TheArenaIsSmallerThanAllValuesSideBySide) {
  for (const char* family : {"gpt2 layers=2 heads=2 width=8 vocab=8 context=16 weights=seed:1",
                             "llama layers=2 heads=4 width=8 vocab=8 context=16 kv_heads=2 weights=seed:1"})
    for (const int tokens : {1, 8}) {
      const compiler::Graph traced = compiler::trace(*decoder_of(family), {"prefill", 2, tokens, 16});
      const compiler::Graph folded = compiler::fold_constants(traced);
      const compiler::Graph fused = compiler::fuse_elementwise(folded);
      EXPECT_LT(folded.nodes.size(), traced.nodes.size());
      EXPECT_LT(fused.nodes.size(), folded.nodes.size());
      for (const compiler::Node& node : folded.nodes) EXPECT_NE(node.op, compiler::Op::kTranspose);
      const compiler::Plan plan(fused);
      EXPECT_LT(plan.arena() * 2, plan.total()) << plan.explain();
      EXPECT_THAT(plan.explain(), HasSubstr("fused"));
    }
}

}  // namespace
}  // namespace cachet
