// The fixture of tests that start children: whatever a test does, nothing of any child may be left when it ends.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "backends/process.h"

namespace cachet::testing {

namespace fs = std::filesystem;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kMeasuresMemory = false;  // the sanitizers' own memory would be measured
#else
inline constexpr bool kMeasuresMemory = true;
#endif

inline constexpr double kShort_s = 3;  // deadline of children that hang; the good ones need milliseconds

inline std::string read_all(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

/// Processes that carry this test's mark in their environment, as every descendant of a child does.
inline std::vector<std::string> marked_processes(const std::string& mark) {
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string pid = entry.path().filename();
    if (pid.find_first_not_of("0123456789") != std::string::npos) continue;
    if (read_all(entry.path() / "environ").find(mark) != std::string::npos)
      found.push_back(pid + " " + read_all(entry.path() / "cmdline"));
  }
  return found;
}

inline std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

inline std::size_t exported_directories() {
  std::size_t count = 0;
  for (const auto& entry : fs::directory_iterator(fs::temp_directory_path()))
    count += entry.path().filename().string().rfind("cachet-", 0) == 0;
  return count;
}

inline long peak_megabytes() {
  std::istringstream status(read_all("/proc/self/status"));
  for (std::string line; std::getline(status, line);)
    if (line.rfind("VmHWM:", 0) == 0) return std::stol(line.substr(6)) / 1024;
  return -1;
}

inline void forget_peak() { std::ofstream("/proc/self/clear_refs") << 5; }

inline ModelPtr model(int layers = 1) {
  ModelSpec spec;
  spec.layers = layers;
  Result<ModelPtr> built = build_model(spec);
  EXPECT_TRUE(built);
  return *built;
}

inline Step call(const std::string& what, const std::string& when = "") {
  return Raw{R"({"op":"do","what":")" + what + (when.empty() ? "" : R"(","when":")" + when) + "\"}"};
}
inline const Step kGood = Length{"a"};

class ProcessBackend : public ::testing::Test {
 protected:
  ProcessBackend() {
    mark_ = "CACHET_TEST_MARK=" + std::to_string(::getpid()) + "." + std::to_string(++tests_) + ".";
    ::setenv("CACHET_TEST_MARK", mark_.substr(mark_.find('=') + 1).c_str(), 1);
    static const fs::path kParent = fs::temp_directory_path();  // before TMPDIR is changed below
    directory_ = (kParent / "process_test.XXXXXX").string();
    const char* made = ::mkdtemp(directory_.data());
    EXPECT_NE(made, nullptr);
    ::setenv("TMPDIR", directory_.c_str(), 1);
    descriptors_ = open_descriptors();
  }

  /// Nothing of any child is left.
  ~ProcessBackend() override {
    EXPECT_THAT(marked_processes(mark_), ::testing::IsEmpty());
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a process is left unreaped";
    EXPECT_EQ(errno, ECHILD);
    EXPECT_EQ(open_descriptors(), descriptors_);
    EXPECT_EQ(exported_directories(), 0U);
    fs::remove_all(directory_);
  }

  static std::vector<std::string> bad_child(std::vector<std::string> words) {
    std::vector<std::string> argv = {"python3", "-I", "-S", CACHET_TESTS_DIR "/bad_children/bad_child.py"};
    argv.insert(argv.end(), words.begin(), words.end());
    return argv;
  }

  static Result<std::unique_ptr<Backend>> make(std::vector<std::string> words = {}, double step_s = 120) {
    ProcessOptions options;
    options.step_s = options.load_s = step_s;
    return make_process_backend(bad_child(std::move(words)), options);
  }

  /// Executes the steps in a life of their own, then sees that the next life works.
  static RunRecord run(const std::vector<Step>& steps, double step_s = 120, std::vector<std::string> words = {}) {
    Result<std::unique_ptr<Backend>> backend = make(std::move(words), step_s);
    if (!backend) {
      ADD_FAILURE() << to_string(backend.error());
      return {};
    }
    const std::unique_ptr<Life> life = (*backend)->begin("c");
    EXPECT_TRUE(life->load("m", model()).ok);
    RunRecord record = life->run("m", steps);
    if (record.broken) {
      EXPECT_TRUE(life->run("m", {kGood}).broken) << "a life that broke is over";
    }
    expect_good_life(**backend);
    return record;
  }

  static void expect_good_life(Backend& backend) {
    const std::unique_ptr<Life> life = backend.begin("c");
    EXPECT_TRUE(life->load("m", model()).ok);
    const RunRecord record = life->run("m", {kGood, kGood});
    EXPECT_FALSE(record.broken) << record.broken->message;
    EXPECT_EQ(record.reports.size(), 2U);
    EXPECT_FALSE(life->unload("m"));
  }

  std::string mark_, directory_;
  std::size_t descriptors_ = 0;
  static inline int tests_ = 0;
};

struct Misbehaviour {
  const char* what;
  Broken::How how;
  const char* message;  ///< part of it
};

inline void PrintTo(const Misbehaviour& m, std::ostream* out) { *out << m.what; }

inline constexpr auto kCrash = Broken::How::kCrash;
inline constexpr auto kTimeout = Broken::How::kTimeout;
inline constexpr auto kGarbage = Broken::How::kGarbage;
inline constexpr auto kBroken = Broken::How::kBroken;

}  // namespace cachet::testing
