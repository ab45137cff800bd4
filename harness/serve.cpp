// Requests in, answers out: one Server holds one life of the backend and the handles it gave out.
#include "harness/serve.h"

#include <istream>
#include <ostream>
#include <set>
#include <variant>

#include "harness/checkpoint.h"
#include "harness/json.h"

namespace cachet {
namespace {

constexpr std::size_t kMaxLineBytes = std::size_t{256} << 20;

// JSON-RPC's codes, and the protocol's own below them.
enum Code : int {
  kParse = -32700,
  kRequest = -32600,
  kMethod = -32601,
  kParams = -32602,
  kRefused = -32001,
  kUnknown = -32002,
  kEngineBroken = -32003,
};

struct Failure {
  Code code;
  std::string message;
};
template <typename T>
using Or = std::variant<T, Failure>;

enum class Read { kLine, kTooLong, kEnd };

/// The next line without its newline. A line over the bound is skipped, so that it costs no more memory than the bound.
Read read_line(std::istream& in, std::string& line) {
  line.clear();
  bool too_long = false;
  std::streambuf& source = *in.rdbuf();
  for (;;) {
    const int c = source.sbumpc();
    if (c == std::char_traits<char>::eof()) {
      if (line.empty() && !too_long) return Read::kEnd;
      break;
    }
    if (c == '\n') break;
    if (line.size() == kMaxLineBytes) too_long = true;
    if (!too_long) line.push_back(static_cast<char>(c));
  }
  return too_long ? Read::kTooLong : Read::kLine;
}

class Server {
 public:
  Server(Backend& backend, std::ostream& out) : backend_(backend), out_(out) {}

  /// False when the server is to end.
  bool answer(const std::string& line) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) return true;
    const Result<Json> parsed = parse_json(line);
    if (!parsed) return fail(nullptr, Failure{kParse, to_string(parsed.error()) + "; expected one JSON-RPC 2.0 request"});
    const Json& request = *parsed;
    if (!request.is_object()) return fail(nullptr, Failure{kRequest, "expected one JSON-RPC 2.0 request object a line"});
    const Json id = request.value("id", Json());
    const auto method = request.find("method");
    if (!(id.is_null() || id.is_string() || id.is_number()))
      return fail(nullptr, Failure{kRequest, "id: expected text, a number or null"});
    if (request.value("jsonrpc", Json()) != "2.0") return fail(id, Failure{kRequest, "jsonrpc: expected \"2.0\""});
    if (method == request.end() || !method->is_string()) return fail(id, Failure{kRequest, "method: expected text"});
    if (!request.contains("id")) return true;  // a notification is never answered
    const Json params = request.value("params", Json::object());
    if (!params.is_object()) return fail(id, Failure{kParams, "params: expected an object"});
    const std::string name = method->get<std::string>();
    const Or<Json> outcome = dispatch(name, params);
    if (const auto* failure = std::get_if<Failure>(&outcome)) return fail(id, *failure);
    send({{"jsonrpc", "2.0"}, {"id", id}, {"result", std::get<Json>(outcome)}});
    return name != "shutdown" && out_.good();
  }

  bool fail(const Json& id, const Failure& failure) {
    send({{"jsonrpc", "2.0"}, {"id", id}, {"error", {{"code", static_cast<int>(failure.code)}, {"message", failure.message}}}});
    return out_.good();
  }
  bool too_long() { return fail(nullptr, Failure{kRequest, "a line of more than 256 MiB"}); }

 private:
  Or<Json> dispatch(const std::string& method, const Json& params) {
    if (method == "initialize") return initialize(params);
    if (method == "load") return load(params);
    if (method == "run") return run(params);
    if (method == "unload") return unload(params);
    if (method == "shutdown") return Json::object();
    if (method == "restart") {
      life_.reset();
      handles_.clear();
      return Json::object();
    }
    return Failure{kMethod, "unknown method \"" + method + "\"; expected initialize, load, run, unload, restart or shutdown"};
  }

  Or<Json> initialize(const Json& params) {
    if (params.value("protocol", Json()) != 1) return Failure{kParams, "protocol: expected 1, the version spoken here"};
    Description description = backend_.describe();
    for (Configuration& configuration : description.configurations) configuration.capabilities.insert("restart");
    return description_to_json(description);
  }

  Or<Json> load(const Json& params) {
    const auto configuration = params.find("configuration");
    if (configuration == params.end() || !configuration->is_string()) return Failure{kParams, "configuration: expected text"};
    const std::string name = configuration->get<std::string>();
    bool known = false;
    for (const Configuration& c : backend_.describe().configurations) known = known || c.name == name;
    if (!known) return Failure{kUnknown, "unknown configuration \"" + name + "\""};
    const Or<ModelPtr> model = model_of(params.value("model", Json()));
    if (const auto* failure = std::get_if<Failure>(&model)) return *failure;
    if (life_ && configuration_ != name && !handles_.empty())
      return Failure{kRefused, "models are loaded in configuration \"" + configuration_ + "\"; unload them or restart first"};
    if (!life_ || configuration_ != name) {
      life_ = backend_.begin(name);
      configuration_ = name;
    }
    const std::string handle = "m" + std::to_string(loads_);
    const LoadOutcome outcome = life_->load(handle, std::get<ModelPtr>(model));
    if (outcome.broken) return Failure{kEngineBroken, outcome.broken->message};
    if (!outcome.ok) return Failure{kRefused, outcome.refusal};
    ++loads_;
    handles_.insert(handle);
    return Json{{"model", handle}};
  }

  static Or<ModelPtr> model_of(const Json& model) {
    if (!model.is_object() || (!model.contains("directory") && !model.contains("spec")))
      return Failure{kParams, "model: expected an object with directory or spec"};
    if (model.contains("directory")) {
      if (!model["directory"].is_string()) return Failure{kParams, "model.directory: expected text"};
      return refused_model(read_checkpoint(model["directory"].get<std::string>()));
    }
    if (!model["spec"].is_object()) return Failure{kParams, "model.spec: expected an object"};
    const Result<ModelSpec> spec = spec_from_json(model["spec"]);
    if (!spec) return Failure{kRefused, to_string(spec.error())};
    return refused_model(load_model(*spec));
  }

  static Or<ModelPtr> refused_model(const Result<ModelPtr>& model) {
    if (!model) return Failure{kRefused, to_string(model.error())};
    return *model;
  }

  Or<std::string> handle_of(const Json& params) const {
    const auto model = params.find("model");
    if (model == params.end() || !model->is_string()) return Failure{kParams, "model: expected a handle"};
    const std::string handle = model->get<std::string>();
    if (handles_.count(handle) == 0) return Failure{kUnknown, "unknown model \"" + handle + "\""};
    return handle;
  }

  Or<Json> run(const Json& params) {
    const Or<std::string> given = handle_of(params);
    if (const auto* failure = std::get_if<Failure>(&given)) return *failure;
    const std::string& handle = std::get<std::string>(given);
    const auto trace = params.find("trace");
    if (trace == params.end() || !trace->is_array()) return Failure{kParams, "trace: expected a list of steps"};
    std::vector<Step> steps;
    for (const Json& element : *trace) {
      Result<Step> step = step_from_json(element);
      steps.push_back(step ? std::move(*step) : Raw{dump(element)});  // the backend refuses it where it stands
    }
    const RunRecord record = life_->run_streaming(handle, steps, [this](const Report& report) {
      send({{"jsonrpc", "2.0"}, {"method", "step"}, {"params", report_to_json(report)}});
    });
    if (record.broken) return Failure{kEngineBroken, record.broken->message};
    return Json{{"steps", record.reports.size()}};
  }

  Or<Json> unload(const Json& params) {
    const Or<std::string> given = handle_of(params);
    if (const auto* failure = std::get_if<Failure>(&given)) return *failure;
    const std::string& handle = std::get<std::string>(given);
    handles_.erase(handle);
    if (const auto broken = life_->unload(handle)) return Failure{kEngineBroken, broken->message};
    return Json::object();
  }

  void send(const Json& message) { out_ << dump(message) << '\n' << std::flush; }

  Backend& backend_;
  std::ostream& out_;
  std::unique_ptr<Life> life_;
  std::string configuration_;
  std::set<std::string> handles_;
  int loads_ = 0;
};

}  // namespace

int serve(Backend& backend, std::istream& in, std::ostream& out) {
  Server server(backend, out);
  std::string line;
  for (;;) {
    const Read read = read_line(in, line);
    if (read == Read::kEnd) return 0;
    if (!(read == Read::kTooLong ? server.too_long() : server.answer(line))) return 0;
  }
}

Result<Step> decode_raw(const Raw& raw) {
  const Result<Json> object = parse_json(raw.json);
  if (!object) return Error{"invalid", 0, "a step that is not JSON: " + object.error().message};
  Result<Step> step = step_from_json(*object);
  if (step && std::holds_alternative<Raw>(*step)) return Error{"unsupported", 0, "unknown op \"raw\""};
  return step;
}

Report execute_step(Engine& engine, const Step& step) {
  const Raw* raw = std::get_if<Raw>(&step);
  if (raw == nullptr) return engine.execute(step);
  const Result<Step> decoded = decode_raw(*raw);
  if (decoded) return engine.execute(*decoded);
  Report report;
  report.status = Status::kRefused;
  report.kind = decoded.error().file;
  report.message = decoded.error().message;
  report.state_unchanged = true;
  return report;
}

}  // namespace cachet
