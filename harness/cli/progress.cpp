// Rewrites at most ten times a second on a terminal, one line in ten seconds elsewhere.
#include "harness/cli/progress.h"

#include <fmt/core.h>
#include <unistd.h>

namespace cachet::cli {

ProgressLine::ProgressLine(bool always) : terminal_(isatty(STDERR_FILENO) != 0), shown_(always || terminal_) {}

ProgressLine::~ProgressLine() {
  if (terminal_ && dirty_) fmt::print(stderr, "\r\033[K");
}

void ProgressLine::show(const Progress& p) {
  show(fmt::format("{}: {} of {} cases, {} failing, {}", p.subject, p.done, p.cases, p.failures, p.phase));
}

void ProgressLine::show(const std::string& text) {
  if (!shown_) return;
  const auto now = std::chrono::steady_clock::now();
  if (now < next_) return;
  next_ = now + (terminal_ ? std::chrono::milliseconds(100) : std::chrono::milliseconds(10000));
  constexpr std::size_t kWidth = 110;
  if (terminal_)
    fmt::print(stderr, "\r\033[K{}", text.substr(0, kWidth));
  else
    fmt::print(stderr, "{}\n", text);
  std::fflush(stderr);
  dirty_ = true;
}

}  // namespace cachet::cli
