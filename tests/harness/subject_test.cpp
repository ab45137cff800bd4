// BACKEND on the command line: how a name comes apart, and that its printed form means the same again.
#include "harness/cli/subject.h"

#include <gmock/gmock.h>

namespace cachet::cli {
namespace {

SubjectName parsed(const std::string& text) {
  const Result<SubjectName> name = parse_subject(text);
  EXPECT_TRUE(name) << text << ": " << to_string(name.error());
  return name ? *name : SubjectName{};
}

std::vector<std::string> configurations(const std::string& text) {
  Suite suite;
  suite.resolve = [](const std::string& name) -> Result<BackendFactory> {
    if (name == "nobody") return Error{"", 0, "no such backend"};
    Description description{name, "1", {}, {{"dynamic", {}, {}}}};
    if (name == "double") description.configurations.push_back({"static+compile", {}, {}});
    return BackendFactory([=]() -> Result<std::unique_ptr<Backend>> {
      return make_in_process_backend(
          description, [](const std::string&, const ModelPtr&) -> Result<std::unique_ptr<Engine>> { return Error{}; });
    });
  };
  const auto subjects = resolve_subject(text, suite, {});
  if (!subjects) return {to_string(subjects.error())};
  std::vector<std::string> names;
  for (const Subject& s : *subjects) names.push_back(s.name + ":" + s.configuration.name);
  return names;
}

TEST(ParseSubject, ABuiltInNameSplitsAtItsSlash) {
  EXPECT_EQ(parsed("eager"), (SubjectName{"eager", {}, ""}));
  EXPECT_EQ(parsed("static_cache+stale_length/eager"), (SubjectName{"static_cache+stale_length", {}, "eager"}));
}

TEST(ParseSubject, ACommandSplitsAtTheLastSlashOfItsLastWord) {
  EXPECT_EQ(parsed("process:python3 adapter.py/static"), (SubjectName{"process", {"python3", "adapter.py"}, "static"}));
  EXPECT_EQ(parsed("process:python3 adapter.py"), (SubjectName{"process", {"python3", "adapter.py"}, ""}));
  EXPECT_EQ(parsed("process:./a/b --fast"), (SubjectName{"process", {"./a/b", "--fast"}, ""}));
  EXPECT_EQ(parsed("process:python3 'my adapter.py'/a+b"), (SubjectName{"process", {"python3", "my adapter.py"}, "a+b"}));
}

TEST(ParseSubject, AnExistingPathIsNoConfiguration) {
  EXPECT_EQ(parsed("process:cat /dev/null"), (SubjectName{"process", {"cat", "/dev/null"}, ""}));
  EXPECT_EQ(parsed("process:cat /dev/null/x"), (SubjectName{"process", {"cat", "/dev/null"}, "x"}));
}

TEST(ParseSubject, AFinalSlashForcesNone) {
  EXPECT_EQ(parsed("process:no/such/file/"), (SubjectName{"process", {"no/such/file"}, ""}));
  EXPECT_EQ(parsed("process:cat /dev/null/"), (SubjectName{"process", {"cat", "/dev/null"}, ""}));
}

TEST(ParseSubject, RefusesWhatNamesNothing) {
  for (const char* text : {"", "/eager", "process:", "process: ", "process:/", "process:'a", "a\nb"})
    EXPECT_FALSE(parse_subject(text)) << text;
}

TEST(SubjectText, ParsesToTheSamePartsAgain) {
  for (const char* text : {"eager", "eager/a", "process:python3 adapter.py/static", "process:no/such/file/",
                           "process:cat /dev/null", "process:'a b' 'it'\\''s'/x", "process:'' ''"})
    EXPECT_EQ(parsed(subject_text(parsed(text))), parsed(text)) << text;
}

TEST(ResolveSubject, AllConfigurationsOrTheOneNamed) {
  EXPECT_THAT(configurations("double"), ::testing::ElementsAre("double/dynamic:dynamic", "double/static+compile:static+compile"));
  EXPECT_THAT(configurations("double/static+compile"), ::testing::ElementsAre("double/static+compile:static+compile"));
}

TEST(ResolveSubject, TheOnlyConfigurationNeedsNoName) {
  EXPECT_THAT(configurations("single"), ::testing::ElementsAre("single:dynamic"));
  EXPECT_THAT(configurations("single/dynamic"), ::testing::ElementsAre("single:dynamic"));
}

TEST(ResolveSubject, AnUnknownConfigurationListsTheOthers) {
  EXPECT_THAT(configurations("double/x"), ::testing::ElementsAre(::testing::HasSubstr("it has dynamic, static+compile")));
  EXPECT_THAT(configurations("nobody"), ::testing::ElementsAre(::testing::HasSubstr("unknown backend \"nobody\"")));
}

}  // namespace
}  // namespace cachet::cli
