// Backends whose lives are engine objects in this process: no containment, so only what throws can be caught.
#include "harness/backend.h"

#include <exception>

#include "harness/serve.h"

namespace cachet {
namespace {

/// Which life of a backend is the current one; shared, because lives may outlast their backend.
using Generation = std::shared_ptr<std::uint64_t>;

class InProcessLife final : public Life {
 public:
  InProcessLife(std::string configuration, EngineFactory factory, Generation current)
      : configuration_(std::move(configuration)),
        factory_(std::move(factory)),
        current_(std::move(current)),
        generation_(*current_) {}

  LoadOutcome load(const std::string& handle, const ModelPtr& model) override {
    LoadOutcome outcome;
    outcome.broken = guarded([&] {
      Result<std::unique_ptr<Engine>> engine = factory_(configuration_, model);
      outcome.ok = static_cast<bool>(engine);
      if (engine) {
        engines_[handle] = std::move(*engine);
      } else {
        outcome.refusal = to_string(engine.error());
      }
    });
    return outcome;
  }

  RunRecord run(const std::string& handle, const std::vector<Step>& steps) override { return run_streaming(handle, steps, {}); }

  RunRecord run_streaming(const std::string& handle, const std::vector<Step>& steps, const StepSink& sink) override {
    RunRecord record;
    record.broken = guarded(
        [&] {
          Engine& engine = *engines_.at(handle);
          for (const Step& step : steps) {
            Report report = execute_step(engine, step);
            report.index = static_cast<int>(record.reports.size());
            record.reports.push_back(std::move(report));
            if (sink) sink(record.reports.back());
          }
          engine.end_run();
        },
        handle);
    if (record.broken) record.broken->step = static_cast<int>(record.reports.size());
    return record;
  }

  std::optional<Broken> unload(const std::string& handle) override {
    return guarded([&] { engines_.erase(handle); }, handle);
  }

 private:
  /// Does the call unless the life is over; an engine that throws ends the life.
  template <typename Call>
  std::optional<Broken> guarded(Call&& call, const std::string& handle = "") {
    if (!over_ && generation_ != *current_) over_ = Broken{Broken::How::kBroken, -1, "the life is over: a new one began", ""};
    if (!over_ && !handle.empty() && engines_.count(handle) == 0)
      over_ = Broken{Broken::How::kBroken, -1, "no model is loaded as \"" + handle + "\"", ""};
    if (over_) return over_;
    try {
      call();
      return std::nullopt;
    } catch (const std::exception& thrown) {
      over_ = Broken{Broken::How::kCrash, -1, std::string("the engine threw: ") + thrown.what(), ""};
    } catch (...) {
      over_ = Broken{Broken::How::kCrash, -1, "the engine threw something that is no std::exception", ""};
    }
    return over_;
  }

  std::string configuration_;
  EngineFactory factory_;
  Generation current_;
  std::uint64_t generation_;
  std::map<std::string, std::unique_ptr<Engine>> engines_;
  std::optional<Broken> over_;
};

class InProcessBackend final : public Backend {
 public:
  InProcessBackend(Description description, EngineFactory factory)
      : description_(std::move(description)), factory_(std::move(factory)) {}

  const Description& describe() const override { return description_; }

  std::unique_ptr<Life> begin(const std::string& configuration) override {
    ++*current_;
    return std::make_unique<InProcessLife>(configuration, factory_, current_);
  }

 private:
  Description description_;
  EngineFactory factory_;
  Generation current_ = std::make_shared<std::uint64_t>(0);
};

}  // namespace

std::unique_ptr<Backend> make_in_process_backend(Description description, EngineFactory factory) {
  return std::make_unique<InProcessBackend>(std::move(description), std::move(factory));
}

}  // namespace cachet
