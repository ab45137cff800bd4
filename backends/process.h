// A backend that lives in a child process and speaks PROTOCOL.md on its standard streams: whatever it does there costs one
// life and is blamed on the step that did it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "harness/backend.h"

namespace cachet {

struct ProcessOptions {
  double initialize_s = 120;                        ///< to start and answer `initialize`, or `restart`
  double load_s = 120;                              ///< for a `load` or `unload`
  double step_s = 20;                               ///< for each step, and for the end of a run after its last step
  std::size_t line_bound = std::size_t{256} << 20;  ///< bytes in one line from the child
  std::size_t memory_bound = std::size_t{2} << 30;  ///< bytes that one line may come to when parsed
  std::string suite = "cachet 0.1.0";               ///< told to the backend
};

/// Starts argv (nonempty) and initialises it; an Error says why that failed, with the end of its standard error. Models are
/// exported to a directory of the backend's own, which is removed with it; a directory recipe is handed on as its own path.
/// A life is `restart` in configurations that declare it, else a new process; a life in which something broke ends its process.
/// Broken::step is always the number of reports before it.
Result<std::unique_ptr<Backend>> make_process_backend(const std::vector<std::string>& argv, const ProcessOptions& options = {});

}  // namespace cachet
