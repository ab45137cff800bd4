// Evidence is written whole or not at all: a reader who finds the file finds all of it.
#include "harness/certificate.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "harness/json.h"
#include "harness/reporters.h"
#include "harness/text.h"
#include "harness/words.h"

namespace cachet {

namespace {

Json divergence_json(const Divergence& d) {
  return {{"kind", d.kind},
          {"op", d.op},
          {"run", d.run},
          {"step", d.step},
          {"expected", printable(d.expected)},
          {"observed", printable(d.observed)},
          {"tolerance", printable(d.detail)},
          {"twin", printable(d.twin)}};
}

Json exhibit_json(const Judge::Exhibit& exhibit) {
  Json reports = Json::array();
  for (const Report& report : exhibit.record.reports) reports.push_back(report_to_json(report));
  Json object = {{"name", exhibit.name}, {"trace", print_trace(exhibit.trace)}, {"reports", reports}};
  if (exhibit.record.broken)
    object["broken"] = {{"step", exhibit.record.broken->step},
                        {"message", printable(exhibit.record.broken->message)},
                        {"evidence", printable(exhibit.record.broken->evidence)}};
  return object;
}

Json shrinking_json(const ShrinkResult& shrunk) {
  Json passes = Json::array(), neighbours = Json::array(), slipped = Json::array();
  for (const PassStatistics& p : shrunk.passes)
    passes.push_back({{"name", p.name}, {"proposed", p.proposed}, {"evaluated", p.evaluated}, {"useful", p.useful}});
  for (const Neighbour& n : shrunk.neighbours) neighbours.push_back({{"pass", n.pass}, {"verdict", n.verdict}, {"case", n.text}});
  for (const auto& [signature, value] : shrunk.slipped)
    slipped.push_back({{"signature", to_string(signature)}, {"case", print_case(value)}});
  return {{"evaluations", shrunk.evaluations},
          {"exhausted", shrunk.exhausted},
          {"passes", passes},
          {"neighbours", neighbours},
          {"slipped", slipped}};
}

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

std::string failure_certificate(const Finding& finding, const std::string& suite_version) {
  const Case& minimal = minimal_case(finding);
  const Verdict& verdict = minimal_verdict(finding);
  Json object = {{"certificate", "failure"},
                 {"suite", "cachet " + suite_version},
                 {"law", finding.signature.law},
                 {"backend", minimal.backend},
                 {"verdict", verdict_name(verdict)},
                 {"case", print_case(minimal)},
                 {"steps", minimal.trace.steps()},
                 {"found", print_case(finding.found)},
                 {"case_number", finding.case_number},
                 {"seed", finding.seed},
                 {"count", finding.count}};
  if (const Divergence* d = divergence_of(verdict)) object["divergence"] = divergence_json(*d);
  if (const auto* n = std::get_if<Nondeterministic>(&verdict)) object["varied"] = printable(n->varied);
  if (finding.shrunk) object["shrinking"] = shrinking_json(*finding.shrunk);
  Json exhibits = Json::array();
  for (const Judge::Exhibit& exhibit : finding.exhibits) exhibits.push_back(exhibit_json(exhibit));
  object["exhibits"] = std::move(exhibits);
  return object.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::optional<Error> write_file(const std::string& path, const std::string& content) {
  struct stat info = {};
  if (stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {  // a device or pipe is written, never replaced
    if (S_ISDIR(info.st_mode)) return Error{path, 0, "cannot be written: is a directory; expected a file"};
    const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (file < 0 || !write_all(file, content, false)) return failed(path, "cannot be written");
    return std::nullopt;
  }
  const std::string temporary = path + "." + std::to_string(getpid()) + ".tmp";
  const int file = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return failed(path, "cannot be written");
  if (!write_all(file, content, true) || std::rename(temporary.c_str(), path.c_str()) != 0) {
    std::optional<Error> error = failed(path, "cannot be written");
    unlink(temporary.c_str());
    return error;
  }
  return std::nullopt;
}

}  // namespace cachet
