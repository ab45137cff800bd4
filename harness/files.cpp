// Evidence and models are written whole or not at all: a reader who finds the file finds all of it.
#include "harness/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

namespace cachet {

namespace fs = std::filesystem;

namespace {

std::optional<Error> failed(const std::string& path, const char* what) {
  return Error{path, 0, std::string(what) + ": " + std::strerror(errno)};
}

/// Writes and closes; errno tells why not.
bool write_all(int file, const std::string& content, bool durable) {
  std::size_t done = 0;
  while (done < content.size()) {
    const ssize_t n = write(file, content.data() + done, content.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    done += static_cast<std::size_t>(n);
  }
  const bool whole = done == content.size() && (!durable || fsync(file) == 0);
  const int why = errno;
  const bool closed = close(file) == 0;
  if (!whole) errno = why;
  return whole && closed;
}

}  // namespace

Result<std::string> read_whole_file(const fs::path& path, std::uintmax_t most) {
  std::error_code code;
  if (!fs::exists(path, code)) return Error{path.string(), 0, "no such file"};
  if (!fs::is_regular_file(path, code)) return Error{path.string(), 0, "not a regular file"};
  const std::uintmax_t size = fs::file_size(path, code);
  if (code) return Error{path.string(), 0, "cannot be read: " + code.message()};
  if (size > most)
    return Error{path.string(), 0, "holds " + std::to_string(size) + " bytes; expected at most " + std::to_string(most)};
  std::ifstream in(path, std::ios::binary);
  std::string bytes(static_cast<std::size_t>(size), '\0');
  if (!in || !in.read(bytes.data(), static_cast<std::streamsize>(size))) return Error{path.string(), 0, "cannot be read"};
  return bytes;
}

std::optional<Error> write_file(const std::string& path, const std::string& content, bool durable) {
  struct stat info = {};
  if (stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {  // a device or pipe is written, never replaced
    if (S_ISDIR(info.st_mode)) return Error{path, 0, "cannot be written: is a directory; expected a file"};
    const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (file < 0 || !write_all(file, content, false)) return failed(path, "cannot be written");
    return std::nullopt;
  }
  static std::atomic<unsigned> counter{0};  // workers may write at the same time
  const std::string temporary = path + "." + std::to_string(getpid()) + "." + std::to_string(counter++) + ".tmp";
  const int file = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return failed(path, "cannot be written");
  if (!write_all(file, content, durable) || std::rename(temporary.c_str(), path.c_str()) != 0) {
    std::optional<Error> error = failed(path, "cannot be written");
    unlink(temporary.c_str());
    return error;
  }
  return std::nullopt;
}

}  // namespace cachet
