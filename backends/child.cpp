// Pipes by poll(2): one call of next_line writes, reads and keeps time at once, so that no pipe can block another.
#include "backends/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>

#include "backends/guard.h"

namespace cachet {
namespace {

constexpr std::size_t kReadBytes = 1 << 16;
constexpr std::size_t kNoiseBytes = 4096;  // of a line that cannot be the protocol's, all that is ever looked at
constexpr std::size_t kStderrBytes = 8192;
constexpr auto kEndGrace = std::chrono::seconds(10);  // for SIGKILL to take effect; longer only in the kernel's own waits

void close_fd(int& fd) {
  if (fd >= 0) ::close(fd);
  fd = -1;
}

struct Pipe {
  int read = -1, write = -1;
  bool open() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return false;
    read = ends[0];
    write = ends[1];
    return true;
  }
  void close() {
    close_fd(read);
    close_fd(write);
  }
};

/// A write that reports a closed pipe as an error only: the signal is blocked in this thread and taken away again.
ssize_t write_without_signal(int fd, const char* data, std::size_t size) {
  sigset_t pipe_signal, before, pending;
  sigemptyset(&pipe_signal);
  sigaddset(&pipe_signal, SIGPIPE);
  sigpending(&pending);
  const bool was_pending = sigismember(&pending, SIGPIPE) == 1;
  pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
  const ssize_t n = ::write(fd, data, size);
  const int error = errno;
  if (n < 0 && error == EPIPE && !was_pending) {
    const timespec now = {0, 0};
    sigtimedwait(&pipe_signal, nullptr, &now);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return n;
}

int milliseconds_until(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
}

std::string describe(const GuardWord& word) {
  if (word.kind == GuardWord::kExit) return "exited with code " + std::to_string(word.value);
  if (word.kind == GuardWord::kNotStarted) return std::string("could not be started: ") + ::strerror(word.value);
  const char* name = ::sigabbrev_np(word.value);
  return "ended by signal " + std::to_string(word.value) + (name != nullptr ? std::string(" (SIG") + name + ")" : "");
}

/// Length of the well-formed UTF-8 sequence at s, 0 when there is none (Unicode, table 3-7).
std::size_t utf8_length(std::string_view s) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
  const auto follows = [&](std::size_t i, unsigned low = 0x80, unsigned high = 0xBF) {
    return i < s.size() && byte(i) >= low && byte(i) <= high;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return follows(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF)
    return follows(1, first == 0xE0 ? 0xA0 : 0x80, first == 0xED ? 0x9F : 0xBF) && follows(2) ? 3 : 0;
  if (first >= 0xF0 && first <= 0xF4)
    return follows(1, first == 0xF0 ? 0x90 : 0x80, first == 0xF4 ? 0x8F : 0xBF) && follows(2) && follows(3) ? 4 : 0;
  return 0;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t n = utf8_length(text);
    const auto c = static_cast<unsigned char>(text[0]);
    if (n == 0) {
      out += "\xEF\xBF\xBD";
    } else if (n == 1 && (c < 0x20 || c == 0x7F) && c != '\n' && c != '\t') {
      out += c == '\r' ? "" : "?";
    } else {
      out += text.substr(0, n);
    }
    text.remove_prefix(std::max<std::size_t>(n, 1));
  }
  return out;
}

Result<std::unique_ptr<Child>> Child::start(const std::vector<std::string>& argv, std::size_t line_bound) {
  Pipe in, out, err, control, status;
  std::array<Pipe*, 5> pipes = {&in, &out, &err, &control, &status};
  const bool opened = std::all_of(pipes.begin(), pipes.end(), [](Pipe* p) { return p->open(); });
  std::vector<char*> words;
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const pid_t pid = opened ? ::fork() : -1;
  if (pid == 0) guard({in.read, out.write, err.write, control.read, status.write}, words.data());
  if (pid < 0) {
    const int error = errno;
    for (Pipe* p : pipes) p->close();
    return Error{"", 0, std::string("cannot start a process: ") + ::strerror(error)};
  }
  for (int* theirs : {&in.read, &out.write, &err.write, &control.read, &status.write}) close_fd(*theirs);
  std::unique_ptr<Child> child(new Child);
  child->guard_ = pid;
  child->in_ = in.write;
  child->out_ = out.read;
  child->err_ = err.read;
  child->control_ = control.write;
  child->status_ = status.read;
  child->line_bound_ = line_bound;
  for (const int fd : {child->in_, child->out_, child->err_, child->status_}) ::fcntl(fd, F_SETFL, O_NONBLOCK);
  return child;
}

Child::~Child() { end(); }

void Child::write(std::string bytes) {
  if (written_ == queued_.size()) {
    queued_ = std::move(bytes);
    written_ = 0;
  } else {
    queued_ += bytes;
  }
}

void Child::close_input() { close_fd(in_); }

void Child::write_queued() {
  while (in_ >= 0 && written_ < queued_.size()) {
    const ssize_t n = write_without_signal(in_, queued_.data() + written_, queued_.size() - written_);
    if (n > 0) {
      written_ += static_cast<std::size_t>(n);
    } else if (n < 0 && errno == EINTR) {
      continue;
    } else {
      if (n < 0 && errno != EAGAIN) close_fd(in_);  // it reads no more; how it ended tells the rest
      break;
    }
  }
  if (written_ == queued_.size() && queued_.capacity() > 0) {
    std::string().swap(queued_);
    written_ = 0;
  }
}

bool Child::read_output() {
  if (out_ < 0) return false;
  const std::size_t size = output_.size();
  if (output_.capacity() - size < kReadBytes) output_.reserve(std::max(size + kReadBytes, size + size / 2));
  output_.resize(size + kReadBytes);
  ssize_t n;
  do n = ::read(out_, output_.data() + size, kReadBytes);
  while (n < 0 && errno == EINTR);
  output_.resize(size + static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  if (n == 0 || (n < 0 && errno != EAGAIN)) close_fd(out_);
  return n > 0;
}

void Child::read_errors() {
  if (err_ < 0) return;
  std::array<char, kReadBytes> buffer;
  ssize_t n;
  do n = ::read(err_, buffer.data(), buffer.size());
  while (n < 0 && errno == EINTR);
  if (n == 0 || (n < 0 && errno != EAGAIN)) close_fd(err_);
  if (n <= 0) return;
  errors_.append(buffer.data(), static_cast<std::size_t>(n));
  if (errors_.size() > kStderrBytes) {
    errors_dropped_ += errors_.size() - kStderrBytes;
    errors_.erase(0, errors_.size() - kStderrBytes);
  }
}

void Child::read_status() {
  if (status_ < 0) return;
  GuardWord word = {};
  const ssize_t n = ::read(status_, &word, sizeof word);
  if (n == static_cast<ssize_t>(sizeof word)) {
    if (how_it_ended_.empty() && !killed_) how_it_ended_ = describe(word);
  } else if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
    close_fd(status_);
  }
}

void Child::poll_once(Clock::time_point deadline) {
  std::array<pollfd, 4> fds = {{{in_, POLLOUT, 0}, {out_, POLLIN, 0}, {err_, POLLIN, 0}, {status_, POLLIN, 0}}};
  if (written_ == queued_.size()) fds[0].fd = -1;
  ::poll(fds.data(), fds.size(), milliseconds_until(deadline));
}

Child::Arrival Child::next_line(Clock::time_point deadline, std::string_view& line) {
  output_.erase(0, begin_);
  scanned_ = begin_ = 0;
  if (output_.capacity() > 16 * kReadBytes && output_.size() < kReadBytes) output_.shrink_to_fit();
  for (;;) {
    const std::size_t end = output_.find('\n', scanned_);
    const std::size_t size = std::min(end, output_.size());
    const std::size_t bound = size > 0 && output_[0] != '{' ? std::min(kNoiseBytes, line_bound_) : line_bound_;
    line = std::string_view(output_).substr(0, size);
    if (size > bound) return Arrival::kTooLong;
    if (end != std::string::npos) {
      begin_ = end + 1;
      return Arrival::kLine;
    }
    scanned_ = output_.size();
    if (out_ < 0) return Arrival::kEnd;
    write_queued();
    read_errors();
    read_status();
    if (read_output()) {
      if (output_.find('\n', scanned_) != std::string::npos || Clock::now() < deadline) continue;
    }
    line = output_;
    if (out_ >= 0 && Clock::now() >= deadline) return Arrival::kTimeout;
    if (out_ >= 0) poll_once(deadline);
  }
}

bool Child::wait(Clock::time_point deadline) {
  while (how_it_ended_.empty() && status_ >= 0) {
    write_queued();
    read_errors();
    read_status();
    if (out_ >= 0) {  // drained, so that a last word does not keep it from leaving
      output_.clear();
      begin_ = scanned_ = 0;
      read_output();
    }
    if (!how_it_ended_.empty() || Clock::now() >= deadline) break;
    poll_once(deadline);
  }
  return !how_it_ended_.empty();
}

void Child::end() {
  if (guard_ < 0) return;
  read_status();
  killed_ = true;
  close_fd(in_);
  close_fd(control_);
  const auto deadline = Clock::now() + kEndGrace;
  close_fd(out_);
  while (status_ >= 0 && Clock::now() < deadline) {
    read_errors();
    read_status();
    if (status_ >= 0) poll_once(deadline);
  }
  if (status_ >= 0) ::kill(guard_, SIGKILL);
  while (::waitpid(guard_, nullptr, 0) < 0 && errno == EINTR) {}
  guard_ = -1;
  for (int before = -1; err_ >= 0 && before != 0;) {  // what was said before the end, and not more than the pipe holds
    const std::size_t size = errors_.size() + errors_dropped_;
    read_errors();
    before = static_cast<int>(errors_.size() + errors_dropped_ - size);
  }
  close_fd(err_);
  close_fd(status_);
}

std::string Child::stderr_tail() const {
  std::string_view tail = errors_;
  for (int i = 0; errors_dropped_ > 0 && i < 3 && !tail.empty() && (static_cast<unsigned char>(tail[0]) & 0xC0) == 0x80; ++i)
    tail.remove_prefix(1);
  const std::string text = printable(tail);
  return errors_dropped_ > 0 ? "(" + std::to_string(errors_dropped_) + " bytes before)\n" + text : text;
}

void Child::forget_stderr() {
  errors_.clear();
  errors_dropped_ = 0;
}

}  // namespace cachet
