// The guard: the process between us and a child's command, which owns all its descendants.
#pragma once

namespace cachet {

/// The guard's own ends of the pipes.
struct GuardPipes {
  int in, out, err;  ///< become the command's standard streams
  int control;       ///< end of file here, or anything to read: end everything
  int status;        ///< GuardWord messages go here
};

/// What the guard says, at most once of each kind.
struct GuardWord {
  enum Kind : int { kExit, kSignal, kNotStarted };
  int kind;
  int value;  ///< exit code, signal number or errno
};

/// The life of the guard; called in the child of a fork, where only async-signal-safe calls are allowed. Never returns.
[[noreturn]] void guard(const GuardPipes& pipes, char* const* argv);

}  // namespace cachet
