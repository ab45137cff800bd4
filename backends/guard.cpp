// Runs after a fork of a program that may have threads: no allocation, no locks, system calls only.
#include "backends/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

namespace cachet {
namespace {

constexpr int kFirstOther = 3;  // descriptors below are the standard streams
constexpr int kRescanMs = 20;   // between looks at /proc while something is dying

void say(int status, int kind, int value) {
  const GuardWord word{kind, value};
  [[maybe_unused]] const ssize_t n = ::write(status, &word, sizeof word);  // shorter than PIPE_BUF: all or nothing
}

/// Closes every descriptor but those: other children's pipes would stay open here, and ours must end when the command does.
void close_all_but(int (&keep)[5]) {
  std::sort(std::begin(keep), std::end(keep));
  unsigned from = 0;
  for (const int fd : keep) {
    if (static_cast<unsigned>(fd) > from) ::syscall(SYS_close_range, from, static_cast<unsigned>(fd) - 1, 0);
    from = static_cast<unsigned>(fd) + 1;
  }
  ::syscall(SYS_close_range, from, ~0U, 0);
}

[[noreturn]] void become_command(const GuardPipes& pipes, char* const* argv, pid_t guard_pid) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != guard_pid) ::_exit(127);
  ::dup2(pipes.in, 0);
  ::dup2(pipes.out, 1);
  ::dup2(pipes.err, 2);
  ::fcntl(pipes.status, F_SETFD, FD_CLOEXEC);
  for (const int fd : {pipes.in, pipes.out, pipes.err, pipes.control}) ::close(fd);
  struct sigaction by_default = {};
  by_default.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) ::sigaction(signal, &by_default, nullptr);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execvp(argv[0], argv);
  say(pipes.status, GuardWord::kNotStarted, errno);
  ::_exit(127);
}

/// The parent in the text of /proc/PID/stat: the second word after the command's name, which may hold anything.
pid_t parent_in(const char* begin, const char* end) {
  const char* p = end;
  while (p != begin && p[-1] != ')') --p;
  if (end - p < 4) return -1;
  pid_t parent = 0;
  for (p += 3; p != end && *p >= '0' && *p <= '9'; ++p) parent = parent * 10 + (*p - '0');
  return parent;
}

pid_t parent_of(int proc, const char* pid) {
  char path[32] = {};
  char* out = path;
  while (*pid != '\0' && out - path < 20) *out++ = *pid++;
  for (const char* rest = "/stat"; *rest != '\0'; ++rest) *out++ = *rest;
  const int fd = ::openat(proc, path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  char text[512];
  const ssize_t n = ::read(fd, text, sizeof text);
  ::close(fd);
  return n > 0 ? parent_in(text, text + n) : -1;
}

struct DirectoryEntry {  // linux_dirent64
  unsigned long long inode;
  long long offset;
  unsigned short length;
  unsigned char type;
  char name[1];
};

/// Kills every process whose parent we are; their own children then become ours.
void kill_children() {
  const pid_t self = ::getpid();
  const int proc = ::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (proc < 0) return;
  alignas(DirectoryEntry) static char buffer[1 << 15];
  for (;;) {
    const long n = ::syscall(SYS_getdents64, proc, buffer, sizeof buffer);
    if (n <= 0) break;
    for (long at = 0; at < n;) {
      const auto* entry = reinterpret_cast<const DirectoryEntry*>(buffer + at);
      at += entry->length;
      const char* name = buffer + (at - entry->length) + offsetof(DirectoryEntry, name);
      if (*name < '1' || *name > '9' || parent_of(proc, name) != self) continue;
      pid_t pid = 0;
      for (const char* p = name; *p != '\0'; ++p) pid = pid * 10 + (*p - '0');
      ::kill(pid, SIGKILL);
    }
  }
  ::close(proc);
}

void say_how(int status, const siginfo_t& info) {
  if (info.si_code == CLD_EXITED) {
    say(status, GuardWord::kExit, info.si_status);
  } else {
    say(status, GuardWord::kSignal, info.si_status);
  }
}

/// Reaps orphans until the command itself has ended (left unreaped, so that its number still names its process group) or we
/// are told to end everything.
void watch(const GuardPipes& pipes, int signals, pid_t command) {
  for (;;) {
    pollfd ready[2] = {{pipes.control, POLLIN, 0}, {signals, POLLIN, 0}};
    ::poll(ready, 2, -1);
    signalfd_siginfo drained;
    while (::read(signals, &drained, sizeof drained) > 0) {}
    for (;;) {
      siginfo_t info = {};
      if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) break;
      if (info.si_pid == command) return say_how(pipes.status, info);
      ::waitpid(info.si_pid, nullptr, WNOHANG);
    }
    if (ready[0].revents != 0) return;
  }
}

/// Until we have no child left, of whatever session or group.
void end_everything(int signals, pid_t command) {
  ::kill(-command, SIGKILL);
  ::kill(command, SIGKILL);
  for (;;) {
    pid_t reaped;
    do reaped = ::waitpid(-1, nullptr, WNOHANG);
    while (reaped > 0);
    if (reaped < 0 && errno == ECHILD) return;
    kill_children();
    pollfd ready = {signals, POLLIN, 0};
    ::poll(&ready, 1, kRescanMs);
    signalfd_siginfo drained;
    while (::read(signals, &drained, sizeof drained) > 0) {}
  }
}

}  // namespace

[[noreturn]] void guard(const GuardPipes& pipes, char* const* argv) {
  ::setsid();  // the terminal's signals are for the harness, which then ends us in order
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::prctl(PR_SET_NAME, "cachet-guard");
  int keep[5] = {pipes.in, pipes.out, pipes.err, pipes.control, pipes.status};
  close_all_but(keep);
  sigset_t all;
  sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  struct sigaction by_default = {};
  by_default.sa_handler = SIG_DFL;
  ::sigaction(SIGCHLD, &by_default, nullptr);
  sigset_t children;
  sigemptyset(&children);
  sigaddset(&children, SIGCHLD);
  const int signals = ::signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
  const pid_t self = ::getpid();
  const pid_t command = ::fork();
  if (command == 0) become_command(pipes, argv, self);
  if (command < 0) {
    say(pipes.status, GuardWord::kNotStarted, errno);
    ::_exit(1);
  }
  ::setpgid(command, command);
  for (const int fd : {pipes.in, pipes.out, pipes.err}) ::close(fd);
  watch(pipes, signals, command);
  end_everything(signals, command);
  ::_exit(0);
}

}  // namespace cachet
