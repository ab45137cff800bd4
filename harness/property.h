// A law: a claim, what it needs, how cases are aimed at it, and a judge. The judge sees runs, the reference and the tolerance
// through the Lab, and nothing else.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "harness/oracle.h"
#include "harness/shadow.h"
#include "harness/trace.h"
#include "harness/verdict.h"

namespace cachet {

/// One run as it was observed, with the shadow's view of each step.
struct Observed {
  ModelPtr model;
  std::vector<Step> steps;
  RunRecord record;
  std::vector<StepView> views;  ///< into steps and record; shorter than steps when the run broke

  Observed() = default;
  Observed(const Observed&) = delete;
  Observed& operator=(const Observed&) = delete;
};

/// What a law may do: look at the case's last run, run other steps on the same model, and ask the reference.
class Lab {
 public:
  virtual ~Lab() = default;

  /// The last run of the case's trace, after its earlier runs, in the life of the case.
  virtual const Observed& main() = 0;

  /// Other steps on the model of the last run: in a fresh life, or after the last run in the life of the case.
  /// The result lives as long as the lab. A run that breaks ends the judgement as Crash or Timeout by itself.
  virtual const Observed& fresh(const std::vector<Step>& steps) = 0;
  virtual const Observed& same(const std::vector<Step>& steps) = 0;

  /// Other steps in a fresh life of another configuration of the backend: its first one, or the second for the first. nullptr
  /// where it has one only.
  virtual const Observed* elsewhere(const std::vector<Step>&) { return nullptr; }

  /// The reference's row after a history, with the envelope of the declared class. Only where has_reference().
  virtual const OracleRow& expect(const Tokens& history) = 0;
  /// The backend declares a numeric class that has an envelope.
  virtual bool has_reference() const = 0;

  virtual const Configuration& configuration() const = 0;
  /// May rows of two runs over one history be compared bit for bit ("repeat", "reset", "chunk" ...)?
  bool bitwise(const std::string& relation) const;
};

/// Random choices while a case is aimed; deterministic from the case's seed.
class Draw {
 public:
  virtual ~Draw() = default;
  virtual std::int64_t between(std::int64_t low, std::int64_t high) = 0;  ///< both inclusive
  bool chance(int of_hundred) { return between(0, 99) < of_hundred; }
  template <typename T>
  const T& pick(const std::vector<T>& from) {
    return from[static_cast<std::size_t>(between(0, static_cast<std::int64_t>(from.size()) - 1))];
  }
};

/// How the generator aims the traces of a law.
struct Aim {
  std::map<std::string, int> favour;  ///< op -> weight added to the generator's own; -1000 forbids
  std::vector<std::string> must;      ///< the last run ends with at least one of these ops after content, then goes on a little
  bool bad_calls = false;             ///< bad calls are part of its cases
  bool overflow = false;              ///< calls past capacity are part of its cases
  bool single_row = false;
  bool many_rows = false;  ///< nearly always more than one
  std::vector<std::int64_t> (*vary)(const std::vector<Step>& last_run, const ModelSpec& spec, Draw& draw) = nullptr;
};

enum class Tier { kSpecified, kDeclared, kUnspecified };

struct Property {
  std::string name;
  std::string claim;  ///< a sentence that can be false
  Tier tier = Tier::kSpecified;
  std::vector<std::vector<std::string>> needs;  ///< every inner list: at least one of these capabilities ("numeric": declared)
  bool always = false;                          ///< judged on every transcript of a campaign
  Aim aim;
  Verdict (*judge)(const Case&, Lab&) = nullptr;
};

/// Does the configuration have what the law needs? The reason when not.
std::optional<std::string> missing_need(const Property& property, const Configuration& configuration);

}  // namespace cachet
