// A child process that is fully contained: its pipes never block us, whatever it writes costs bounded memory, and when it ends
// every process it ever started ends with it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "reference/result.h"

namespace cachet {

/// The text as valid UTF-8 without control characters but newline and tab, for reports.
std::string printable(std::string_view text);

using Clock = std::chrono::steady_clock;

/// A command that runs under a guard: a small process between us and the command, subreaper of all its descendants, which
/// kills and reaps them when the command ends, when we say so, or when we die. Each child has a guard of its own, so
/// children of several threads never meet. Used by one thread at a time.
class Child {
 public:
  /// Starts argv (nonempty; argv[0] is looked up in PATH). A command that cannot be executed is told by `how_it_ended`.
  /// `line_bound`: longest line of standard output, in bytes.
  static Result<std::unique_ptr<Child>> start(const std::vector<std::string>& argv, std::size_t line_bound);
  ~Child();  ///< kills, as `end` does
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// Queues bytes for its standard input; they are written while lines are awaited.
  void write(std::string bytes);
  void close_input();  ///< what is queued is dropped

  enum class Arrival {
    kLine,     ///< `line` is the next line
    kTimeout,  ///< the deadline passed; `line` is what there is of the line under way
    kTooLong,  ///< `line` is the beginning of a line over the bound, or of noise (no line of the protocol begins so)
    kEnd,      ///< standard output is closed; `line` is what there was of a last, unfinished line
  };
  /// The next line of standard output, without its newline. Writes what is queued and keeps standard error meanwhile.
  /// `line` is valid until the next call.
  Arrival next_line(Clock::time_point deadline, std::string_view& line);

  /// Waits for the command to end by itself; true when it did.
  bool wait(Clock::time_point deadline);
  /// Kills the command and all its descendants, and reaps them.
  void end();

  /// "exited with code 3", "ended by signal 11 (SIGSEGV)", "could not be started: ...", or empty while it is running and
  /// after it had to be killed.
  const std::string& how_it_ended() const { return how_it_ended_; }
  /// The last bytes of standard error as valid UTF-8, with a note of how much came before them.
  std::string stderr_tail() const;
  void forget_stderr();

 private:
  Child() = default;
  void write_queued();
  bool read_output();  ///< true when something was read
  void read_errors();
  void read_status();
  void poll_once(Clock::time_point deadline);

  pid_t guard_ = -1;
  int in_ = -1, out_ = -1, err_ = -1;  ///< our ends of its standard streams
  int control_ = -1;                   ///< closing it tells the guard to end everything
  int status_ = -1;                    ///< the guard says here how the command ended; closed when nothing is left
  std::size_t line_bound_ = 0;
  std::string queued_;
  std::size_t written_ = 0;
  std::string output_;       ///< read and not yet handed out
  std::size_t begin_ = 0;    ///< of the next line in output_
  std::size_t scanned_ = 0;  ///< no newline before that
  std::string errors_;
  std::size_t errors_dropped_ = 0;
  std::string how_it_ended_;
  bool killed_ = false;
};

}  // namespace cachet
