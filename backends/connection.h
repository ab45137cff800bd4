// One conversation with a child over the protocol: a request, its notifications, its answer, or how it broke.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "backends/child.h"
#include "backends/process.h"
#include "harness/json.h"

namespace cachet {

struct Answer {
  struct RpcError {
    std::int64_t code;
    std::string message;
  };
  Json result;
  std::optional<RpcError> error;
  std::optional<Broken> broken;  ///< the child is gone then; `step` is not set
};

/// Takes a `step` notification's params; what is wrong with them, if anything.
using OnStep = std::function<std::optional<std::string>(const Json& params)>;

/// Used by one thread at a time. After a broken answer every later one is broken too.
class Connection {
 public:
  static Result<std::unique_ptr<Connection>> start(const std::vector<std::string>& argv, const ProcessOptions& options);
  ~Connection();  ///< asks an idle child to shut down, and ends it in any case

  /// Sends a request and waits for its answer; `seconds` is for the answer, and anew after each notification. Without
  /// `on_step` a notification is garbage.
  Answer ask(const std::string& method, Json params, double seconds, const OnStep& on_step = {});
  /// Ends the child because of what it answered, and says so with the evidence.
  Broken broken(Broken::How how, std::string message);

  void forget_evidence() { child_->forget_stderr(); }

 private:
  Connection(std::unique_ptr<Child> child, const ProcessOptions& options) : child_(std::move(child)), options_(options) {}
  Broken garbage(const std::string& what, std::string_view line);
  Broken ended(std::string_view unfinished);
  std::optional<Answer> take(std::string_view line, const OnStep& on_step);
  Answer take_answer(const Json& message, std::string_view line);

  std::unique_ptr<Child> child_;
  ProcessOptions options_;
  std::int64_t id_ = 0;
  std::optional<Broken> over_;
};

}  // namespace cachet
