// Judging one case on one subject: lives, the reference, and the laws of a suite brought together.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "harness/backend.h"
#include "harness/oracle.h"
#include "harness/property.h"
#include "harness/transcript.h"

namespace cachet {

/// The verdict of one law on one case, with the case under which it replays (its header names that law).
struct Judgement {
  std::string law;
  Verdict verdict;
  Case as_case;
};

/// Judges cases on one backend and configuration. Not shared between threads.
class Judge {
 public:
  /// Makes its own backends: one for the life of the case, one for the fresh lives beside it. `configuration` is one of the
  /// backend's; it and `laws` outlive the judge.
  static Result<std::unique_ptr<Judge>> make(const BackendFactory& factory, const Configuration& configuration,
                                             const std::vector<Property>& laws);
  ~Judge();

  /// Judges the law in the case's header in fresh lives only: what replay and the shrinker rest on.
  Verdict replay(const Case& value);

  /// A chunk begins: the next case starts a fresh life, later ones go on in it.
  void begin_chunk();

  /// Judges the case's own law in the chunk's life and the always-judged laws on every transcript of it. The first entry is
  /// the own law's. After a failure the chunk goes on in a fresh life.
  std::vector<Judgement> judge(const Case& value);

  /// Everything executed in the chunk's life before the last judged case, as events of one trace.
  const std::vector<Event>& prefix() const;

  Oracle& oracle();
  double backend_seconds() const;  ///< spent waiting for the backend
  double reference_seconds() const;
  long evaluations() const;  ///< replay calls so far
  /// The transcripts of the last replay, for certificates: trace text beside what was observed.
  struct Exhibit {
    std::string name;
    Trace trace;
    RunRecord record;
  };
  const std::vector<Exhibit>& exhibits() const;

  struct State;

 private:
  explicit Judge(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// The law of that name, nullptr when there is none.
const Property* find_law(const std::vector<Property>& laws, const std::string& name);

}  // namespace cachet
