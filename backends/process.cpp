// Lives of a child process: which process serves a life, what was exported to it, and how its answers become outcomes.
#include "backends/process.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <filesystem>

#include "backends/connection.h"
#include "harness/checkpoint.h"

namespace cachet {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kModelRefused = -32001;
constexpr std::size_t kExportedModels = 64;  // kept on disk beyond the life that asked for them

/// The directory that models are exported to, removed at the end.
class Exports {
 public:
  Exports() = default;
  Exports(const Exports&) = delete;
  Exports& operator=(const Exports&) = delete;
  ~Exports() {
    std::error_code ignored;
    if (!root_.empty()) fs::remove_all(root_, ignored);
  }

  /// The path under which the child finds the model.
  Result<std::string> path_of(const Model& model) {
    if (model.spec.weights.kind == WeightRecipe::Kind::kDirectory) return fs::absolute(model.spec.weights.name).string();
    if (const auto known = paths_.find(model.digest); known != paths_.end()) return known->second;
    if (const auto error = make_root()) return *error;
    const fs::path path = root_ / fmt::format("{:016x}", model.digest);
    if (const auto error = write_checkpoint(model, path)) return *error;
    return paths_[model.digest] = path.string();
  }

  /// Between lives: nobody reads the files any more.
  void trim() {
    if (paths_.size() <= kExportedModels) return;
    std::error_code ignored;
    for (const auto& [digest, path] : paths_) fs::remove_all(path, ignored);
    paths_.clear();
  }

 private:
  std::optional<Error> make_root() {
    if (!root_.empty()) return std::nullopt;
    std::error_code failed;
    const fs::path parent = fs::temp_directory_path(failed);
    std::string name = (parent / "cachet-XXXXXX").string();
    if (failed || ::mkdtemp(name.data()) == nullptr) return Error{name, 0, "cannot make a directory for exported models"};
    root_ = name;
    return std::nullopt;
  }

  fs::path root_;
  std::map<std::uint64_t, std::string> paths_;
};

/// What a backend and its lives share.
struct Shared {
  std::vector<std::string> argv;
  ProcessOptions options;
  Description description;
  std::unique_ptr<Connection> connection;  ///< null: the next life needs a new process
  bool used = false;                       ///< a life has been served by this process
  std::string configuration;               ///< of that life
  std::uint64_t generation = 0;            ///< number of the current life
  Exports exports;
};

std::string rpc_text(const Answer::RpcError& error) { return fmt::format("error {}: {}", error.code, error.message); }

/// Breaks the connection when the answer is an error; the process is not to be used after one that it should not give.
std::optional<Broken> breakage(Connection& connection, const std::string& method, const Answer& answer) {
  if (answer.broken) return answer.broken;
  if (answer.error) return connection.broken(Broken::How::kBroken, method + ": " + rpc_text(*answer.error));
  if (!answer.result.is_object()) return connection.broken(Broken::How::kGarbage, method + ": a result that is no object");
  return std::nullopt;
}

std::string text_of(const Broken& broken) {
  return broken.message + (broken.evidence.empty() ? "" : "; its standard error ends:\n" + broken.evidence);
}

/// A new process, initialised.
std::optional<Broken> start(Shared& shared, Description& description) {
  shared.connection.reset();
  Result<std::unique_ptr<Connection>> started = Connection::start(shared.argv, shared.options);
  if (!started) return Broken{Broken::How::kBroken, -1, to_string(started.error()), ""};
  std::unique_ptr<Connection> connection = std::move(*started);
  const Answer answer =
      connection->ask("initialize", {{"protocol", 1}, {"suite", shared.options.suite}}, shared.options.initialize_s);
  if (auto broken = breakage(*connection, "initialize", answer)) return broken;
  if (answer.result.value("protocol", Json()) != 1)
    return connection->broken(Broken::How::kBroken, "initialize: protocol is not 1, the version asked for");
  Result<Description> described = description_from_json(answer.result);
  if (!described) return connection->broken(Broken::How::kGarbage, "initialize: " + printable(to_string(described.error())));
  description = std::move(*described);
  shared.connection = std::move(connection);
  shared.used = false;
  return std::nullopt;
}

const Configuration* find(const Description& description, const std::string& name) {
  for (const Configuration& c : description.configurations)
    if (c.name == name) return &c;
  return nullptr;
}

class ProcessLife final : public Life {
 public:
  ProcessLife(std::shared_ptr<Shared> shared, std::string configuration, std::optional<Broken> over)
      : shared_(std::move(shared)),
        configuration_(std::move(configuration)),
        generation_(shared_->generation),
        over_(std::move(over)) {}

  LoadOutcome load(const std::string& handle, const ModelPtr& model) override {
    LoadOutcome outcome;
    outcome.broken = ended();
    if (outcome.broken) return outcome;
    const Result<std::string> path = shared_->exports.path_of(*model);
    if (!path) {
      outcome.broken = end({Broken::How::kBroken, -1, "cannot export the model: " + to_string(path.error()), ""});
      return outcome;
    }
    const Json params = {{"configuration", configuration_},
                         {"model", {{"directory", *path}, {"spec", spec_to_json(model->spec)}}}};
    const Answer answer = connection().ask("load", params, shared_->options.load_s);
    if (answer.error && answer.error->code == kModelRefused) {
      outcome.refusal = answer.error->message;
    } else if (auto broken = breakage(connection(), "load", answer)) {
      outcome.broken = end(*broken);
    } else if (!answer.result.contains("model") || !answer.result["model"].is_string()) {
      outcome.broken = end(connection().broken(
          Broken::How::kGarbage, "load: a result without a handle: " + printable(dump(answer.result).substr(0, 120))));
    } else {
      handles_[handle] = answer.result["model"].get<std::string>();
      outcome.ok = true;
    }
    return outcome;
  }

  RunRecord run(const std::string& handle, const std::vector<Step>& steps) override { return run_streaming(handle, steps, {}); }

  RunRecord run_streaming(const std::string& handle, const std::vector<Step>& steps, const StepSink& sink) override {
    RunRecord record;
    record.broken = ended(&handle);
    if (!record.broken) record.broken = run_to_the_end(handle, steps, sink, record.reports);
    if (record.broken) record.broken->step = static_cast<int>(record.reports.size());
    return record;
  }

  std::optional<Broken> unload(const std::string& handle) override {
    if (auto broken = ended(&handle)) return broken;
    const Answer answer = connection().ask("unload", {{"model", handles_[handle]}}, shared_->options.load_s);
    handles_.erase(handle);
    if (auto broken = breakage(connection(), "unload", answer)) return end(*broken);
    return std::nullopt;
  }

 private:
  std::optional<Broken> run_to_the_end(const std::string& handle, const std::vector<Step>& steps, const StepSink& sink,
                                       std::vector<Report>& reports) {
    Json trace = Json::array();
    for (const Step& step : steps) trace.push_back(step_to_json(step));
    Json params = {{"model", handles_[handle]}};
    params["trace"] = std::move(trace);
    const OnStep on_step = [&](const Json& given) -> std::optional<std::string> {
      if (reports.size() == steps.size()) return fmt::format("one more than the {} steps", steps.size());
      Result<Report> report = report_from_json(given);
      if (!report) return to_string(report.error());
      if (report->index != static_cast<int>(reports.size()))
        return fmt::format("index {} where {} was due", report->index, reports.size());
      reports.push_back(std::move(*report));
      if (sink) sink(reports.back());
      return std::nullopt;
    };
    const Answer answer = connection().ask("run", std::move(params), shared_->options.step_s, on_step);
    if (auto broken = breakage(connection(), "run", answer)) return end(*broken);
    const Json count = answer.result.value("steps", Json());
    if (reports.size() != steps.size() || !count.is_number_integer() || count != steps.size())
      return end(connection().broken(Broken::How::kGarbage,
                                     fmt::format("answered {} to a run of {} steps after {} step notifications",
                                                 printable(dump(answer.result).substr(0, 120)), steps.size(), reports.size())));
    return std::nullopt;
  }

  /// Why no call can be made, if so.
  std::optional<Broken> ended(const std::string* handle = nullptr) {
    if (!over_ && generation_ != shared_->generation)
      over_ = Broken{Broken::How::kBroken, -1, "the life is over: a new one began", ""};
    if (!over_ && handle != nullptr && handles_.count(*handle) == 0)
      return end({Broken::How::kBroken, -1, "no model is loaded as \"" + *handle + "\"", ""});
    return over_;
  }

  std::optional<Broken> end(Broken broken) {
    over_ = std::move(broken);
    if (shared_->connection) shared_->connection.reset();
    return over_;
  }

  Connection& connection() { return *shared_->connection; }

  std::shared_ptr<Shared> shared_;
  std::string configuration_;
  std::uint64_t generation_;
  std::optional<Broken> over_;
  std::map<std::string, std::string> handles_;  // ours -> the child's
};

class ProcessBackend final : public Backend {
 public:
  explicit ProcessBackend(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}
  ~ProcessBackend() override {
    ++shared_->generation;
    shared_->connection.reset();
  }

  const Description& describe() const override { return shared_->description; }

  std::unique_ptr<Life> begin(const std::string& configuration) override {
    ++shared_->generation;
    std::optional<Broken> over = renew();
    shared_->exports.trim();
    if (!over && find(shared_->description, configuration) == nullptr)
      over = Broken{Broken::How::kBroken, -1, "no configuration is called \"" + configuration + "\"", ""};
    shared_->used = true;
    shared_->configuration = configuration;
    return std::make_unique<ProcessLife>(shared_, configuration, std::move(over));
  }

 private:
  /// Makes sure that a process stands ready which has served no life.
  std::optional<Broken> renew() {
    if (shared_->connection && shared_->used && !restart()) shared_->connection.reset();
    if (shared_->connection) return std::nullopt;
    Description again;
    if (auto broken = start(*shared_, again)) return broken;
    if (description_to_json(again)["configurations"] == description_to_json(shared_->description)["configurations"])
      return std::nullopt;
    return shared_->connection->broken(Broken::How::kBroken, "a new process describes other configurations than the first");
  }

  /// Where it fails, a new process is the same life.
  bool restart() {
    const Configuration* last = find(shared_->description, shared_->configuration);
    if (last == nullptr || !last->can("restart")) return false;
    const Answer answer = shared_->connection->ask("restart", Json::object(), shared_->options.initialize_s);
    shared_->connection->forget_evidence();
    return !breakage(*shared_->connection, "restart", answer);
  }

  std::shared_ptr<Shared> shared_;
};

}  // namespace

Result<std::unique_ptr<Backend>> make_process_backend(const std::vector<std::string>& argv, const ProcessOptions& options) {
  auto shared = std::make_shared<Shared>();
  shared->argv = argv;
  shared->options = options;
  if (const auto broken = start(*shared, shared->description)) return Error{argv.front(), 0, text_of(*broken)};
  return std::unique_ptr<Backend>(std::make_unique<ProcessBackend>(std::move(shared)));
}

}  // namespace cachet
