// Trusts nothing that a child writes: each line is bounded, parsed and checked before it is looked at.
#include "backends/connection.h"

#include <fmt/format.h>

namespace cachet {
namespace {

constexpr std::size_t kShownBytes = 120;              // of a malformed line
constexpr auto kExitGrace = std::chrono::seconds(2);  // between the end of its output and its exit
constexpr auto kShutdownGrace = std::chrono::seconds(2);
constexpr std::size_t kBytesAValue = 3 * sizeof(Json);  // of a parsed list's element, with what growing a list wastes

Clock::time_point after(double seconds) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::min(seconds, 1e8)));
}

std::string shown(std::string_view line) {
  const bool cut = line.size() > kShownBytes;
  return "\"" + printable(line.substr(0, kShownBytes)) + (cut ? "...\"" : "\"");
}

/// An upper bound on what the line comes to when parsed, without parsing it: each value but the first follows one of these.
std::size_t parsed_bytes(std::string_view line) {
  std::size_t values = 1;
  for (const char c : line) values += c == ',' || c == '[' || c == '{' || c == ':';
  return line.size() + values * kBytesAValue;
}

Answer broken_answer(Broken broken) {
  Answer answer;
  answer.broken = std::move(broken);
  return answer;
}

}  // namespace

Result<std::unique_ptr<Connection>> Connection::start(const std::vector<std::string>& argv, const ProcessOptions& options) {
  Result<std::unique_ptr<Child>> child = Child::start(argv, options.line_bound);
  if (!child) return child.error();
  return std::unique_ptr<Connection>(new Connection(std::move(*child), options));
}

Connection::~Connection() {
  if (over_) return;
  child_->write(dump({{"jsonrpc", "2.0"}, {"id", ++id_}, {"method", "shutdown"}, {"params", Json::object()}}) + "\n");
  child_->wait(Clock::now() + kShutdownGrace);
}

Answer Connection::ask(const std::string& method, Json params, double seconds, const OnStep& on_step) {
  if (over_) return broken_answer(*over_);
  Json request = {{"jsonrpc", "2.0"}, {"id", ++id_}, {"method", method}};
  request["params"] = std::move(params);
  child_->write(dump(request) + "\n");
  for (auto deadline = after(seconds);;) {
    std::string_view line;
    switch (child_->next_line(deadline, line)) {
      case Child::Arrival::kLine:
        if (std::optional<Answer> answer = take(line, on_step)) return std::move(*answer);
        deadline = after(seconds);
        break;
      case Child::Arrival::kTooLong:
        return broken_answer(
            garbage(line.front() == '{' ? "a line that is too long" : "a line that is not the protocol's", line));
      case Child::Arrival::kEnd:
        return broken_answer(ended(line));
      case Child::Arrival::kTimeout:
        if (!child_->how_it_ended().empty()) return broken_answer(ended(line));
        return broken_answer(broken(Broken::How::kTimeout, fmt::format("no answer within {:g} s", seconds) +
                                                               (line.empty() ? "" : ", but half a line: " + shown(line))));
    }
  }
}

Broken Connection::broken(Broken::How how, std::string message) {
  child_->end();
  over_ = Broken{how, -1, std::move(message), child_->stderr_tail()};
  return *over_;
}

Broken Connection::garbage(const std::string& what, std::string_view line) {
  return broken(Broken::How::kGarbage, what + ": " + shown(line));
}

Broken Connection::ended(std::string_view unfinished) {
  const std::string half = unfinished.empty() ? "" : ", after half a line: " + shown(unfinished);
  if (child_->wait(Clock::now() + kExitGrace)) return broken(Broken::How::kCrash, child_->how_it_ended() + half);
  return broken(Broken::How::kBroken, "closed its standard output and lives on" + half);
}

/// nullopt: a notification that was in order.
std::optional<Answer> Connection::take(std::string_view line, const OnStep& on_step) {
  if (parsed_bytes(line) > options_.memory_bound) return broken_answer(garbage("a line that needs too much memory", line));
  const Result<Json> message = parse_json(line);
  if (!message) return broken_answer(garbage("a malformed line (" + printable(to_string(message.error())) + ")", line));
  if (!message->is_object()) return broken_answer(garbage("a line that is no JSON-RPC message", line));
  if (message->value("jsonrpc", Json()) != "2.0") return broken_answer(garbage("a message without \"jsonrpc\": \"2.0\"", line));
  if (!message->contains("method")) return take_answer(*message, line);
  if (!on_step || (*message)["method"] != "step" || message->contains("id"))
    return broken_answer(garbage("an unexpected notification", line));
  const auto params = message->find("params");
  const std::optional<std::string> wrong = params == message->end() ? "no params" : on_step(*params);
  if (wrong) return broken_answer(garbage("a malformed step notification (" + printable(*wrong) + ")", line));
  return std::nullopt;
}

Answer Connection::take_answer(const Json& message, std::string_view line) {
  const Json id = message.value("id", Json("absent"));
  const auto error = message.find("error");
  const auto result = message.find("result");
  const bool unread = id.is_null() && error != message.end();  // JSON-RPC: the request could not even be read
  if (!unread && !(id.is_number_integer() && id == id_))
    return broken_answer(garbage(fmt::format("an answer with another id than {}", id_), line));
  if ((error == message.end()) == (result == message.end()))
    return broken_answer(garbage("an answer without one of result and error", line));
  Answer answer;
  if (error == message.end()) {
    answer.result = *result;
    return answer;
  }
  const bool well_formed = error->is_object() && error->contains("code") && (*error)["code"].is_number_integer() &&
                           error->contains("message") && (*error)["message"].is_string();
  if (!well_formed) return broken_answer(garbage("an error without code and message", line));
  answer.error = Answer::RpcError{(*error)["code"].get<std::int64_t>(), printable((*error)["message"].get<std::string>())};
  return answer;
}

}  // namespace cachet
