// What was observed of a whole trace, event by event.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/backend.h"

namespace cachet {

struct Transcript {
  std::vector<RunRecord> runs;         ///< one for each run of the trace that was begun, in order
  std::optional<std::string> refused;  ///< a load was refused: why; nothing after it was executed
  std::optional<Broken> broken;        ///< a load, run or unload broke (then it is also the last run's, if it was in a run)
  int broken_event = -1;               ///< index of that event in the trace

  bool complete() const { return !refused && !broken; }
};

/// Executes a trace on a life, event by event, until it breaks or ends. Models are resolved by `load_model`.
Transcript execute(const Trace& trace, Life& life);

}  // namespace cachet
