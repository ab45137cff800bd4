// Certificates hold the whole evidence and replay; files appear whole or not at all.
#include "harness/certificate.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "harness/files.h"
#include "harness/text.h"
#include "tests/harness/findings.h"

namespace cachet {
namespace {

namespace fs = std::filesystem;

class WriteFile : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "cachet-test-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  static std::string content(const fs::path& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }

  fs::path folder_;
};

TEST_F(WriteFile, ReplacesTheWholeContent) {
  const fs::path path = folder_ / "a";
  EXPECT_EQ(write_file(path, "a longer text"), std::nullopt);
  EXPECT_EQ(write_file(path, "short"), std::nullopt);
  EXPECT_EQ(content(path), "short");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);
}

TEST_F(WriteFile, NamesThePathThatCannotBeWritten) {
  EXPECT_THAT(to_string(write_file(folder_ / "no" / "a", "x").value_or(Error{})),
              ::testing::HasSubstr((folder_ / "no" / "a").string()));
  EXPECT_THAT(to_string(write_file(folder_, "x").value_or(Error{})), ::testing::HasSubstr("is a directory"));
}

TEST_F(WriteFile, WritesADeviceAndNeverReplacesIt) {
  EXPECT_NE(write_file("/dev/full", "x"), std::nullopt);
  struct stat info = {};
  ASSERT_EQ(stat("/dev/full", &info), 0);
  EXPECT_TRUE(S_ISCHR(info.st_mode));
}

TEST_F(WriteFile, ACertificateReplaysAsItsMinimalCase) {
  const Finding finding = testing::finding_of("tail_slice_is_exact", 3);
  const fs::path path = folder_ / "c.json";
  ASSERT_EQ(write_file(path, failure_certificate(finding, "1.2.3")), std::nullopt);
  const Result<Case> read = read_case(path);
  ASSERT_TRUE(read) << to_string(read.error());
  EXPECT_EQ(*read, finding.shrunk->minimal);
}

TEST(FailureCertificate, HoldsTheEvidence) {
  Finding finding = testing::finding_of("tail_slice_is_exact", 3);
  Report report;
  report.lengths = LengthReport{false, {IntegerValue{2}}};
  finding.exhibits = {{"main", finding.shrunk->minimal.trace, {{report}, std::nullopt}}};
  const auto certificate = nlohmann::json::parse(failure_certificate(finding, "1.2.3"));
  EXPECT_EQ(certificate["suite"], "cachet 1.2.3");
  EXPECT_EQ(certificate["verdict"], "fail");
  EXPECT_EQ(certificate["divergence"]["tolerance"], "no tolerance");
  EXPECT_EQ(certificate["shrinking"]["evaluations"], 31);
  EXPECT_EQ(certificate["shrinking"]["neighbours"][0]["verdict"], "pass");
  EXPECT_EQ(certificate["exhibits"][0]["reports"][0]["lengths"]["value"], 2);
  EXPECT_EQ(certificate["found"], print_case(finding.found));
}

}  // namespace
}  // namespace cachet
