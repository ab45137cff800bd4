// The table of sessions is cleared by those who close them, and a run that merely ends closes none.
#include "backends/defect.h"

namespace cachet::backends {

Defect sessions_outlive_run() {
  return {"sessions_outlive_run",
          "names of an earlier run's sessions are still taken (stale-cache-on-reuse, F70): huggingface/transformers#45943",
          "eager",
          {"repeat_call"},
          2,
          [](Seams& seams) { seams.end_run_closes_sessions = false; }};
}

}  // namespace cachet::backends
