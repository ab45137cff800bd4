// A trace is one engine life: models loaded, runs of steps, models unloaded. A case is a trace with the law that judges it,
// the subject it is judged on, and the law's own choices; it replays and shrinks without a generator.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "harness/step.h"

namespace cachet {

struct Load {
  std::string handle;  ///< a local name
  ModelSpec spec;
  bool operator==(const Load&) const = default;
};
struct Run {
  std::string handle;
  std::vector<Step> steps;
  bool operator==(const Run&) const = default;
};
struct Unload {
  std::string handle;
  bool operator==(const Unload&) const = default;
};
using Event = std::variant<Load, Run, Unload>;

struct Trace {
  std::vector<Event> events;

  /// Steps of all runs; loads, runs and unloads do not count.
  int steps() const;
  int runs() const;
  /// Indices into `events` of the runs, in order.
  std::vector<int> run_indices() const;
  /// The last run, nullptr when there is none.
  const Run* last_run() const;
  Run* last_run();
  /// The spec a handle names at event `index` (the latest load before it), nullptr when it is not loaded there.
  const ModelSpec* spec_at(int index, const std::string& handle) const;

  bool operator==(const Trace&) const = default;
};

struct Case {
  std::string law;
  std::string backend;             ///< subject as on the command line: "static_cache+stale_length", "process:..."
  std::string peer;                ///< second subject of laws that compare two; empty: none
  std::vector<std::int64_t> vary;  ///< the law's own choices (split points, a permutation, a changed token)
  std::vector<std::string> notes;  ///< free text, kept
  Trace trace;

  bool operator==(const Case&) const = default;
};

}  // namespace cachet
