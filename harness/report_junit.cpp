// The report for CI servers: one testsuite a subject, one testcase a law, so that a law's history is a test's history.
#include <fmt/core.h>

#include <pugixml.hpp>
#include <sstream>

#include "harness/reporters.h"
#include "harness/words.h"

namespace cachet {

namespace {

std::string counts(const LawTally& tally) {
  std::string text;
  for (const auto& [verdict, count] : tally.verdicts) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, verdict);
  for (const auto& [reason, count] : tally.reasons) text += fmt::format("\n{} x {}", count, reason);
  return text;
}

bool was_judged(const LawTally& tally) {
  for (const auto& [verdict, count] : tally.verdicts)
    if (count > 0 && verdict != "vacuous" && verdict != "unsupported") return true;
  return false;
}

struct Totals {
  int tests = 0, failures = 0, errors = 0, skipped = 0;
};

void skip(pugi::xml_node testcase, const std::string& message, Totals& totals) {
  testcase.append_child("skipped").append_attribute("message") = printable(message).c_str();
  ++totals.skipped;
}

void add_law(pugi::xml_node suite, const CampaignResult& result, const std::string& law, const std::vector<Property>& laws,
             const std::string& replay, Totals& totals) {
  pugi::xml_node testcase = suite.append_child("testcase");
  testcase.append_attribute("classname") = printable(result.subject).c_str();
  testcase.append_attribute("name") = printable(law).c_str();
  ++totals.tests;
  if (const auto missing = result.unsupported.find(law); missing != result.unsupported.end())
    return skip(testcase, "unsupported: " + missing->second, totals);
  const auto tally = result.laws.find(law);
  bool failed = false;
  for (const Finding& finding : result.findings) {
    if (finding.signature.law != law) continue;
    failed = true;
    pugi::xml_node failure = testcase.append_child("failure");
    failure.append_attribute("type") = verdict_name(minimal_verdict(finding));
    failure.append_attribute("message") = printable(to_string(finding.signature)).c_str();
    failure.text() = printable(terminal_finding(finding, laws, false, replay)).c_str();
  }
  totals.failures += failed ? 1 : 0;
  if (tally == result.laws.end()) return failed ? void() : skip(testcase, "no case was judged", totals);
  const auto errors = tally->second.verdicts.find("harness_error");
  if (!failed && errors != tally->second.verdicts.end() && errors->second > 0) {
    testcase.append_child("error").append_attribute("message") = fmt::format("harness error in {} cases", errors->second).c_str();
    ++totals.errors;
  } else if (!failed && !was_judged(tally->second)) {
    skip(testcase, counts(tally->second), totals);
  }
  testcase.append_child("system-out").text() = printable(counts(tally->second)).c_str();
}

void set_totals(pugi::xml_node node, const Totals& totals, double seconds) {
  node.append_attribute("tests") = totals.tests;
  node.append_attribute("failures") = totals.failures;
  node.append_attribute("errors") = totals.errors;
  node.append_attribute("skipped") = totals.skipped;
  node.append_attribute("time") = fmt::format("{:.3f}", seconds).c_str();
}

/// Every law of the result, the suite's in its order first.
std::vector<std::string> laws_of(const CampaignResult& result, const std::vector<Property>& laws) {
  std::vector<std::string> names;
  for (const Property& law : laws)
    if (result.laws.count(law.name) + result.unsupported.count(law.name) > 0) names.push_back(law.name);
  for (const auto& [law, tally] : result.laws)
    if (find_law(laws, law) == nullptr) names.push_back(law);
  return names;
}

}  // namespace

std::string junit_report(const std::vector<CampaignResult>& results, const std::vector<Property>& laws,
                         const std::string& replay) {
  pugi::xml_document document;
  pugi::xml_node root = document.append_child("testsuites");
  root.append_attribute("name") = "cachet";
  for (const CampaignResult& result : results) {
    pugi::xml_node suite = root.append_child("testsuite");
    suite.append_attribute("name") = printable(result.subject).c_str();
    Totals totals;
    for (const std::string& law : laws_of(result, laws)) add_law(suite, result, law, laws, replay, totals);
    std::string errors = result.broken;
    for (const std::string& error : result.harness_errors) errors += (errors.empty() ? "" : "\n") + error;
    if (!errors.empty()) {
      pugi::xml_node testcase = suite.append_child("testcase");
      testcase.append_attribute("classname") = printable(result.subject).c_str();
      testcase.append_attribute("name") = "harness";
      testcase.append_child("error").append_attribute("message") = printable(errors).c_str();
      ++totals.tests;
      ++totals.errors;
    }
    set_totals(suite, totals, result.seconds_total);
  }
  std::ostringstream text;
  document.save(text, "  ");
  return text.str();
}

}  // namespace cachet
