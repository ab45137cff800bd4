// A judge over a built-in backend and laws made up for a test, and cases from short texts.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backends/registry.h"
#include "harness/lab.h"
#include "harness/text.h"

namespace cachet {

/// What the made-up law "fake" says of a case, without looking at a run: the kind of its failure, empty where it holds.
inline std::function<std::string(const Case&)>& fake_kind() {
  static std::function<std::string(const Case&)> kind;
  return kind;
}

inline Property fake_law() {
  Property law;
  law.name = "fake";
  law.claim = "what the test says";
  law.aim.bad_calls = law.aim.overflow = true;
  law.judge = [](const Case& value, Lab& lab) -> Verdict {
    lab.main();
    const std::string kind = fake_kind()(value);
    if (kind.empty()) return Pass{};
    Divergence d;
    d.kind = kind;
    return Fail{d};
  };
  return law;
}

/// A case of the law "fake" on eager; `body` is the text from the first model on.
inline Case fake_case(const std::string& body, const std::string& headers = "") {
  const Result<Case> value = parse_case("cachet case 1\nlaw fake\nbackend eager\n" + headers + body, "test");
  if (value) return *value;
  throw std::invalid_argument(to_string(value.error()));
}

/// A subject of built-in backends.
inline Subject subject_named(const std::string& name) {
  const BackendFactory factory = *resolve_backend(name);
  return {name, factory, (*factory())->describe().configurations.front()};
}

/// A judge with what it refers to.
struct Bench {
  Subject subject;
  std::vector<Property> laws;
  std::unique_ptr<Judge> judge;

  Bench(const std::string& backend, std::vector<Property> suite) : subject(subject_named(backend)), laws(std::move(suite)) {
    judge = std::move(*Judge::make(subject.make, subject.configuration, laws));
  }
};

}  // namespace cachet
