// Bad input is found before anything runs; what a campaign found is never lost because one file could not be written.
#include "harness/cli/common.h"

#include <fmt/core.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "harness/certificate.h"
#include "harness/checkpoint.h"
#include "harness/files.h"
#include "harness/generator.h"
#include "harness/reporters.h"
#include "harness/text.h"
#include "harness/words.h"

namespace cachet::cli {

namespace fs = std::filesystem;

int complain(ExitCode code, const std::string& message) {
  fmt::print(stderr, "cachet: {}\n", printable(message));
  return code;
}

int complain(const Error& error) { return complain(kUsage, to_string(error)); }

void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

CLI::Validator seconds_between(double least, double most) {
  const auto check = [=](const std::string& text) -> std::string {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool read = error == std::errc() && end == text.data() + text.size();
    if (read && value >= least && value <= most) return "";
    return fmt::format("\"{}\" is no time; expected {} to {} seconds", text, least, most);
  };
  return {check, "", "seconds"};
}

CLI::Validator whole_number_64() {
  const auto check = [](const std::string& text) -> std::string {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc() && end == text.data() + text.size()) return "";
    return fmt::format("\"{}\" is no seed; expected a whole number from 0 to 2^64 - 1", text);
  };
  return {check, "", "seed"};
}

void add_case_flags(CLI::App& app, std::string& file, std::string& backend) {
  app.add_option("FILE", file, "A case file or a failure's certificate")->required();
  app.add_option("--backend", backend, "Judge this backend instead of the case's own")->type_name("BACKEND");
}

void add_timeout(CLI::App& app, Deadlines& deadlines) {
  app.add_option("--timeout", deadlines.step, "Seconds that a process may take to start, to load a model and for each step")
      ->check(seconds_between(0.001, 1e6))
      ->type_name("S")
      ->capture_default_str();
}

std::string replay_prefix(const Suite& suite, const Deadlines& deadlines) {
  const std::string command = quote_word(suite.program) + " replay";
  return deadlines == Deadlines{} ? command : command + fmt::format(" --timeout {}", deadlines.step);
}

std::optional<Error> check_laws(const std::vector<std::string>& names, const std::vector<Property>& laws) {
  std::string known;
  for (const Property& law : laws) known += (known.empty() ? "" : ", ") + law.name;
  for (const std::string& name : names)
    if (find_law(laws, name) == nullptr) return Error{"--law", 0, "no law is called \"" + name + "\"; expected one of " + known};
  return std::nullopt;
}

Result<ModelSpec> read_model(const std::string& text) {
  std::error_code ignored;
  if (fs::is_directory(text, ignored)) {
    const Result<ModelPtr> model = read_checkpoint(fs::absolute(text).lexically_normal());
    if (!model) return model.error();
    return (*model)->spec;
  }
  Result<std::vector<std::string>> words = split_words(text);
  if (!words) return Error{"--model", 0, words.error().message};
  if (words->empty())
    return Error{"--model", 0,
                 "the model is empty; expected a directory or a spec such as \"gpt2 layers=1 width=4 vocab=8 context=16\""};
  const Result<ModelSpec> spec = parse_model_spec(*words);
  if (!spec) return Error{"model \"" + text + "\"", 0, to_string(spec.error())};
  const Result<ModelPtr> model = load_model(*spec);
  if (!model) return Error{"model \"" + text + "\"", 0, to_string(model.error())};
  return *spec;
}

std::optional<Error> prepare_directory(const std::string& directory) {
  std::error_code code;
  fs::create_directories(directory, code);
  if (code) return Error{directory, 0, "the directory cannot be created: " + code.message()};
  if (!fs::is_directory(directory, code)) return Error{directory, 0, "is not a directory; expected one to write cases to"};
  const std::string probe = directory + "/.cachet-probe-" + std::to_string(getpid());
  if (auto error = write_file(probe, "probe\n")) return Error{directory, 0, "nothing can be written there: " + error->message};
  fs::remove(probe, code);
  return std::nullopt;
}

namespace {

/// Letters, digits and a few marks; other text is told apart by a hash.
std::string slug(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    const bool kept = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '+' || c == '.' || c == '-';
    safe += kept ? c : '-';
  }
  constexpr std::size_t kLongest = 60;
  if (safe == text && safe.size() <= kLongest) return safe;
  return fmt::format("{}-{:08x}", safe.substr(0, kLongest), hash_seed(0, text, 0) & 0xffffffffU);
}

std::string file_stem(const CampaignResult& result, const Finding& finding) {
  const Signature& s = finding.signature;
  std::string stem = slug(result.subject) + "-" + slug(s.law) + "-" + slug(s.kind);
  if (!s.op.empty()) stem += "-" + slug(s.op);
  return stem + "-" + std::to_string(finding.case_number);
}

}  // namespace

std::vector<Error> write_findings(std::vector<CampaignResult>& results, const std::string& directory,
                                  const std::string& version) {
  std::vector<Error> errors;
  bool any = false;
  for (const CampaignResult& result : results) any = any || !result.findings.empty();
  if (!any) return errors;
  if (auto error = prepare_directory(directory)) return {*error};
  for (CampaignResult& result : results) {
    std::map<std::string, int> used;  // several minima of one signature may share a case number
    for (Finding& finding : result.findings) {
      std::string stem = directory + "/" + file_stem(result, finding);
      if (const int n = used[stem]++; n > 0) stem += "-" + std::to_string(n + 1);
      finding.file = stem + ".case";
      if (auto error = write_file(finding.file, print_case(minimal_case(finding)))) {
        errors.push_back(*error);
        finding.file.clear();
      }
      if (auto error = write_file(stem + ".json", failure_certificate(finding, version))) errors.push_back(*error);
    }
  }
  return errors;
}

void add_report_files(CLI::App& app, ReportFiles& files) {
  app.add_option("--junit", files.junit, "Write a JUnit report there")->type_name("FILE");
  app.add_option("--jsonl", files.jsonl, "Write one JSON object a verdict that is not a plain pass, and a summary")
      ->type_name("FILE");
}

std::vector<Error> write_reports(const std::vector<CampaignResult>& results, const Suite& suite, const ReportFiles& files,
                                 const std::string& replay) {
  std::vector<Error> errors;
  const auto write = [&](const std::string& path, const std::string& content) {
    if (path.empty()) return;
    if (auto error = write_file(path, content)) errors.push_back(*error);
  };
  write(files.junit, junit_report(results, suite.laws, replay));
  write(files.jsonl, lines_report(results));
  return errors;
}

std::string read_text(const std::string& path, std::optional<Error>& error) {
  std::error_code ignored;
  std::ifstream in(path, std::ios::binary);
  if (!in || fs::is_directory(path, ignored)) {
    error = Error{path, 0, "cannot be read; expected a file"};
    return "";
  }
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

bool colours() { return isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr; }

}  // namespace cachet::cli
