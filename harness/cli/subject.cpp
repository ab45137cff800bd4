// Parsing is kept apart from starting, so that a bad flag is found before any process runs.
#include "harness/cli/subject.h"

#include <algorithm>
#include <filesystem>

#include "harness/words.h"

namespace cachet::cli {

namespace {

constexpr const char* kProcess = "process:";

bool exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

Result<SubjectName> parse_process(const std::string& text) {
  const Result<std::vector<std::string>> words = split_words(text.substr(std::string(kProcess).size()));
  if (!words) return words.error();
  SubjectName name{"process", *words, ""};
  if (name.argv.empty()) return Error{"", 0, "\"" + text + "\" names no command; expected process:COMMAND [ARGUMENT]..."};
  std::string& last = name.argv.back();
  const bool final_slash = !last.empty() && last.back() == '/';
  if (!final_slash && (last.find('/') == std::string::npos || exists(last))) return name;
  const std::size_t slash = last.rfind('/');
  name.configuration = last.substr(slash + 1);
  last.resize(slash);
  if (last.empty()) name.argv.pop_back();
  if (name.argv.empty()) return Error{"", 0, "\"" + text + "\": no such command; a path that does not exist yet needs a final /"};
  return name;
}

std::string list_of(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::vector<std::string> names_of(const Description& description) {
  std::vector<std::string> names;
  for (const Configuration& c : description.configurations) names.push_back(c.name);
  return names;
}

Result<BackendFactory> factory_of(const SubjectName& name, const Suite& suite, const Deadlines& deadlines) {
  if (name.backend == "process") return suite.process(name.argv, deadlines);
  Result<BackendFactory> factory = suite.resolve(name.backend);
  if (factory) return factory;
  return Error{"", 0, "unknown backend \"" + name.backend + "\": " + factory.error().message};
}

}  // namespace

Result<SubjectName> parse_subject(const std::string& text) {
  if (text.find_first_of("\n\r") != std::string::npos) return Error{"", 0, "a backend's name may hold no line break"};
  if (text.rfind(kProcess, 0) == 0) return parse_process(text);
  const std::size_t slash = text.find('/');
  SubjectName name{text.substr(0, slash), {}, slash == std::string::npos ? "" : text.substr(slash + 1)};
  if (name.backend.empty())
    return Error{"", 0, "\"" + text + "\" names no backend; expected NAME, NAME/CONFIGURATION or process:COMMAND"};
  return name;
}

std::string subject_text(const SubjectName& name) {
  const std::string tail = name.configuration.empty() ? "" : "/" + name.configuration;
  if (name.backend != "process") return name.backend + tail;
  const std::string text = kProcess + join_words(name.argv) + tail;
  const bool clear = !tail.empty() || name.argv.back().find('/') == std::string::npos || exists(name.argv.back());
  return clear ? text : text + "/";
}

Result<std::vector<Subject>> resolve_subject(const std::string& text, const Suite& suite, const Deadlines& deadlines) {
  Result<SubjectName> name = parse_subject(text);
  if (!name) return name.error();
  const Result<BackendFactory> factory = factory_of(*name, suite, deadlines);
  if (!factory) return factory.error();
  const Result<std::unique_ptr<Backend>> backend = (*factory)();
  if (!backend) return Error{"", 0, "backend \"" + text + "\" does not start: " + to_string(backend.error())};
  const Description& description = (*backend)->describe();
  std::vector<Subject> subjects;
  const bool single = description.configurations.size() == 1;
  for (const Configuration& configuration : description.configurations) {
    if (!name->configuration.empty() && name->configuration != configuration.name) continue;
    SubjectName full = *name;
    full.configuration = single ? "" : configuration.name;
    subjects.push_back({subject_text(full), *factory, configuration});
  }
  if (!subjects.empty()) return subjects;
  SubjectName bare = *name;
  bare.configuration.clear();
  std::string message = "\"" + subject_text(bare) + "\" has no configuration \"" + name->configuration + "\"; it has " +
                        list_of(names_of(description));
  if (name->backend == "process") message += " (a final / says that the command names none)";
  return Error{"", 0, message};
}

Result<Subject> subject_of_case(const Case& value, const std::string& instead, const Suite& suite, const Deadlines& deadlines) {
  const std::string text = instead.empty() ? value.backend : instead;
  if (text.empty()) return Error{"", 0, "the case names no backend; expected a header \"backend NAME\" or --backend NAME"};
  const Result<std::vector<Subject>> subjects = resolve_subject(text, suite, deadlines);
  if (!subjects) return subjects.error();
  return subjects->front();
}

}  // namespace cachet::cli
