// How far a campaign is, on standard error: one line that is rewritten on a terminal, a line now and then in a log.
#pragma once

#include <chrono>
#include <string>

#include "harness/campaign.h"

namespace cachet::cli {

class ProgressLine {
 public:
  /// `always`: also where standard error is no terminal.
  explicit ProgressLine(bool always);
  ~ProgressLine();  ///< clears the line
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(const Progress& progress);
  void show(const std::string& text);

 private:
  bool terminal_;
  bool shown_;
  bool dirty_ = false;
  std::chrono::steady_clock::time_point next_{};
};

}  // namespace cachet::cli
