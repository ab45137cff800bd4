// The one vocabulary of all backends: what a backend declares, and a life of it that loads models and executes runs.
// In-process authors implement Engine; everything else sees Backend and Life.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/oracle.h"
#include "harness/report.h"
#include "harness/trace.h"

namespace cachet {

/// PROTOCOL.md, Declarations. Absent means not declared, and what rests on it is not judged.
struct Declarations {
  std::optional<NumericClass> numeric;
  std::vector<std::string> undefined_calls;
  std::optional<std::string> reuse;          ///< "library" or "caller"
  std::optional<std::string> context;        ///< "refuse", "extrapolate", "undefined"
  std::optional<std::string> length_counts;  ///< "tokens" (default) or "positions"
  std::optional<double> drift;
  std::vector<std::string> bitwise;
  std::vector<std::string> architectures;
  std::optional<int> max_rows, max_capacity, append_min, append_max;
  std::vector<int> append_buckets, capacity_buckets, row_buckets;
  std::optional<int> block, ring;
  std::optional<std::string> pad_side, mask_source;
  std::optional<std::int64_t> pad_token;
  bool pads_use_capacity = false;
  bool idle_rows = false;
  bool rotated_keys_stay = false;
  std::optional<bool> last_token_cached;
  bool pads_after_stop = false;
  std::optional<std::string> overflow;  ///< "refuse", "stop", "slide"
  std::optional<bool> window_counts_current;
  std::map<std::string, int> compile_budget;
  std::optional<double> load_cost_s, step_cost_s;
};

struct Configuration {
  std::string name;
  std::set<std::string> capabilities;
  Declarations declarations;

  bool can(const std::string& capability) const { return capabilities.count(capability) > 0; }
};

struct Description {
  std::string name;
  std::string version;
  std::map<std::string, std::string> engine;  ///< free text: engine version, device ...
  std::vector<Configuration> configurations;  ///< at least one
};

/// How a request ended when it did not end with an answer. Step index: the step that was being executed, -1 outside runs.
struct Broken {
  enum class How { kCrash, kTimeout, kGarbage, kBroken };
  How how = How::kCrash;
  int step = -1;
  std::string message;   ///< "ended by signal 11 (SIGSEGV)", "no answer within 5 s", what the malformed line was ...
  std::string evidence;  ///< tail of standard error
};

/// What was observed of one run: a report for each finished step, and why it ended early if it did.
struct RunRecord {
  std::vector<Report> reports;
  std::optional<Broken> broken;
};

struct LoadOutcome {
  bool ok = false;
  std::string refusal;  ///< the reason, when the backend refused the model
  std::optional<Broken> broken;
};

/// Is handed each report as soon as its step is finished.
using StepSink = std::function<void(const Report&)>;

/// One life of a backend in one configuration: a new engine object, a new process, or the protocol's restart. What the
/// engine retains lives as long as the Life. Calls never throw; after a `broken` outcome the life is over and every later
/// call is broken too.
class Life {
 public:
  virtual ~Life() = default;
  virtual LoadOutcome load(const std::string& handle, const ModelPtr& model) = 0;
  virtual RunRecord run(const std::string& handle, const std::vector<Step>& steps) = 0;
  /// As run, with each report also handed to `sink`: at once where the backend can, else when the run is over.
  virtual RunRecord run_streaming(const std::string& handle, const std::vector<Step>& steps, const StepSink& sink) {
    RunRecord record = run(handle, steps);
    for (const Report& report : record.reports) sink(report);
    return record;
  }
  virtual std::optional<Broken> unload(const std::string& handle) = 0;
};

/// A backend: describes itself and begins lives, one at a time: a new life ends the one before. Not shared between threads;
/// each worker makes its own.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual const Description& describe() const = 0;
  /// `configuration` is one of describe()'s names.
  virtual std::unique_ptr<Life> begin(const std::string& configuration) = 0;
};

/// Makes a backend, or says why it cannot be made (bad command line, process does not start or initialise).
using BackendFactory = std::function<Result<std::unique_ptr<Backend>>()>;

/// What an in-process author implements: one loaded model of one life, with everything it retains.
class Engine {
 public:
  virtual ~Engine() = default;
  /// Executes one step. Never throws; a bad call is a refused report.
  virtual Report execute(const Step& step) = 0;
  /// The run is over: sessions, blobs and marks end; whatever else is retained stays.
  virtual void end_run() = 0;
};

/// Makes the engine of a model in a configuration; an Error refuses the model.
using EngineFactory = std::function<Result<std::unique_ptr<Engine>>(const std::string& configuration, const ModelPtr& model)>;

/// A backend whose lives are engine objects in this process.
std::unique_ptr<Backend> make_in_process_backend(Description description, EngineFactory factory);

}  // namespace cachet
