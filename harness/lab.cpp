// Runs a case in its life, its twins in theirs, and hands the transcripts to the laws.
#include "harness/lab.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <set>

#include "harness/checkpoint.h"
#include "harness/step_parts.h"

namespace cachet {
namespace {

constexpr std::size_t kOpenModels = 64;  // models kept built at once; more than any chunk uses

/// Models by spec, so that a chunk's cases build each only once.
class ModelCache {
 public:
  Result<ModelPtr> get(const ModelSpec& spec) {
    for (const auto& [known, model] : models_)
      if (known == spec) return model;
    Result<ModelPtr> model = load_model(spec);
    if (!model) return model;
    if (models_.size() == kOpenModels) models_.pop_front();
    models_.emplace_back(spec, *model);
    return model;
  }

 private:
  std::deque<std::pair<ModelSpec, ModelPtr>> models_;
};

/// A life with a record of everything executed in it and the models it holds.
class RecordedLife {
  template <typename F>
  auto timed(F&& call) {
    const auto begin = std::chrono::steady_clock::now();
    auto result = call();
    seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return result;
  }

 public:
  RecordedLife(Backend& backend, const std::string& configuration, ModelCache& models, double& seconds)
      : life_(backend.begin(configuration)), models_(models), seconds_(seconds) {}

  /// The handle under which this life holds the model, loading it if need be.
  Result<std::string> hold(const ModelSpec& spec, LoadOutcome& outcome) {
    for (const auto& [handle, held] : held_)
      if (held == spec) {
        outcome.ok = true;
        return handle;
      }
    Result<ModelPtr> model = models_.get(spec);
    if (!model) return model.error();
    const std::string handle = "m" + std::to_string(loads_++);
    outcome = timed([&] { return life_->load(handle, *model); });
    if (outcome.ok) {
      held_.emplace_back(handle, spec);
      events_.push_back(Load{handle, spec});
    }
    return handle;
  }

  RunRecord run(const std::string& handle, const std::vector<Step>& steps) {
    events_.push_back(Run{handle, steps});
    return timed([&] { return life_->run(handle, steps); });
  }

  std::optional<Broken> unload(const std::string& handle) {
    std::erase_if(held_, [&](const auto& entry) { return entry.first == handle; });
    events_.push_back(Unload{handle});
    return timed([&] { return life_->unload(handle); });
  }

  const std::vector<Event>& events() const { return events_; }

 private:
  std::unique_ptr<Life> life_;
  ModelCache& models_;
  double& seconds_;
  std::vector<std::pair<std::string, ModelSpec>> held_;
  std::vector<Event> events_;
  int loads_ = 0;
};

Divergence breakage(const Broken& broken, const std::vector<Step>& steps, int run, const std::string& where) {
  Divergence d;
  const bool in_step = broken.step >= 0 && broken.step < static_cast<int>(steps.size());
  d.op = in_step ? op_name(steps[static_cast<std::size_t>(broken.step)]) : where;
  d.run = run;
  d.step = std::max(broken.step, 0);
  switch (broken.how) {
    case Broken::How::kCrash:
      d.kind = "crash";
      break;
    case Broken::How::kTimeout:
      d.kind = "timeout";
      break;
    case Broken::How::kGarbage:
      d.kind = "garbage";
      break;
    case Broken::How::kBroken:
      d.kind = "broken";
      break;
  }
  d.expected = "an answer";
  d.observed = broken.message;
  d.detail = broken.evidence;
  return d;
}

Verdict broken_verdict(const Broken& broken, const std::vector<Step>& steps, int run, const std::string& where) {
  const Divergence d = breakage(broken, steps, run, where);
  if (broken.how == Broken::How::kTimeout) return Timeout{d};
  return Crash{d};
}

}  // namespace

bool Lab::bitwise(const std::string& relation) const {
  const auto& declared = configuration().declarations.bitwise;
  return std::find(declared.begin(), declared.end(), relation) != declared.end();
}

const Property* find_law(const std::vector<Property>& laws, const std::string& name) {
  for (const Property& law : laws)
    if (law.name == name) return &law;
  return nullptr;
}

struct Judge::State {
  std::unique_ptr<Backend> backend;  // of the case's life
  std::unique_ptr<Backend> beside;   // of the fresh lives: a backend holds one life at a time
  const Configuration& configuration;
  std::optional<Configuration> other;  // of the same backend
  const std::vector<Property>& laws;
  Oracle oracle;
  ModelCache models;
  std::unique_ptr<RecordedLife> life;  // of the chunk
  std::vector<Event> prefix;
  std::vector<Exhibit> exhibits;
  double seconds = 0;
  long evaluations = 0;

  std::unique_ptr<RecordedLife> begin(Backend& from) { return begin(from, configuration); }
  std::unique_ptr<RecordedLife> begin(Backend& from, const Configuration& in) {
    return std::make_unique<RecordedLife>(from, in.name, models, seconds);
  }
};

namespace {

/// A run that a case's judgement executed: what was observed, and a trace that executes it again.
struct Executed {
  std::string name;  ///< "main", "fresh twin 1" ...
  Observed observed;
  Trace trace;
  bool of_subject = true;  ///< false: of another configuration, which is not the one under judgement
};

}  // namespace

/// The lab of one case. What ends the judgement early (a refused model, a broken life, our own error) is kept as a verdict.
class CaseLab final : public Lab {
 public:
  CaseLab(const Case& value, Judge::State& state, RecordedLife& life) : case_(value), state_(state), life_(life) {}

  const Observed& main() override {
    if (!executed_.empty()) return executed_.front().observed;
    Executed& entry = executed_.emplace_back();
    entry.name = "main";
    entry.trace = case_.trace;
    run_main(entry);
    return entry.observed;
  }

  const Observed& fresh(const std::vector<Step>& steps) override {
    std::unique_ptr<RecordedLife> life = state_.begin(*state_.beside);
    Trace trace;
    trace.events = {Load{"m", spec_}, Run{"m", steps}};
    return twin("fresh life", std::move(trace), *life, steps);
  }

  const Observed& same(const std::vector<Step>& steps) override {
    Trace trace = case_.trace;
    const Run* last = case_.trace.last_run();
    trace.events.push_back(Run{last ? last->handle : "m", steps});
    return twin("same life", std::move(trace), life_, steps);
  }

  const Observed* elsewhere(const std::vector<Step>& steps) override {
    if (!state_.other) return nullptr;
    std::unique_ptr<RecordedLife> life = state_.begin(*state_.beside, *state_.other);
    Trace trace;
    trace.events = {Load{"m", spec_}, Run{"m", steps}};
    return &twin("configuration " + state_.other->name, std::move(trace), *life, steps, &*state_.other);
  }

  const OracleRow& expect(const Tokens& history) override {
    return state_.oracle.row(executed_.front().observed.model, history, *configuration().declarations.numeric);
  }

  bool has_reference() const override {
    const auto& numeric = configuration().declarations.numeric;
    return numeric && rounding_of(*numeric).has_value();
  }

  const Configuration& configuration() const override { return state_.configuration; }

  const std::optional<Verdict>& ended() const { return ended_; }
  std::deque<Executed>& executed() { return executed_; }

 private:
  void run_main(Executed& entry) {
    const std::vector<int> runs = case_.trace.run_indices();
    std::map<std::string, std::string> held;  // the case's handles -> the life's
    std::map<std::string, ModelSpec> specs;
    int run_number = 0;
    for (int i = 0; i < static_cast<int>(case_.trace.events.size()) && !ended_; ++i) {
      const Event& event = case_.trace.events[static_cast<std::size_t>(i)];
      if (const auto* load = std::get_if<Load>(&event)) {
        if (const auto handle = hold(life_, load->spec)) {
          held[load->handle] = *handle;
          specs[load->handle] = load->spec;
        }
      } else if (const auto* unload = std::get_if<Unload>(&event)) {
        if (const auto broken = life_.unload(held[unload->handle])) ended_ = broken_verdict(*broken, {}, run_number, "unload");
      } else {
        const Run& run = std::get<Run>(event);
        const bool last = i == runs.back();
        if (last) spec_ = specs[run.handle];
        RunRecord record = life_.run(held[run.handle], run.steps);
        if (record.broken) ended_ = broken_verdict(*record.broken, run.steps, run_number, "run");
        if (last) observe(entry.observed, run.steps, std::move(record), configuration());
        ++run_number;
      }
    }
    if (!entry.observed.model) observe(entry.observed, {}, {}, configuration());
  }

  const Observed& twin(const std::string& where, Trace trace, RecordedLife& life, const std::vector<Step>& steps,
                       const Configuration* other = nullptr) {
    Executed& entry = executed_.emplace_back();
    entry.of_subject = other == nullptr;
    entry.name = "twin " + std::to_string(executed_.size() - 1) + " (" + where + ")";
    entry.trace = std::move(trace);
    RunRecord record;
    if (!ended_) {
      if (const auto handle = hold(life, spec_)) {
        record = life.run(*handle, steps);
        if (record.broken) {
          ended_ = broken_verdict(*record.broken, steps, 0, "run");
          std::visit(
              [&](auto& v) {
                if constexpr (requires { v.divergence; }) v.divergence.twin = entry.name;
              },
              *ended_);
        }
      }
    }
    observe(entry.observed, steps, std::move(record), other != nullptr ? *other : configuration());
    return entry.observed;
  }

  std::optional<std::string> hold(RecordedLife& life, const ModelSpec& spec) {
    LoadOutcome outcome;
    const Result<std::string> handle = life.hold(spec, outcome);
    if (!handle) {
      ended_ = HarnessError{to_string(handle.error())};
    } else if (outcome.broken) {
      ended_ = broken_verdict(*outcome.broken, {}, 0, "load");
    } else if (!outcome.ok) {
      ended_ = Unsupported{"the backend refused the model: " + outcome.refusal};
    } else {
      return *handle;
    }
    return std::nullopt;
  }

  void observe(Observed& observed, const std::vector<Step>& steps, RunRecord record, const Configuration& in) {
    observed.steps = steps;
    observed.record = std::move(record);
    if (Result<ModelPtr> model = state_.models.get(spec_)) observed.model = *model;
    observed.views = walk(observed.steps, observed.record, spec_, in);
    prepare(observed);
  }

  /// Asks the reference for the longest histories first: one causal pass then serves all their prefixes.
  void prepare(const Observed& observed) {
    if (!has_reference() || !observed.model) return;
    std::vector<Tokens> histories;
    for (const StepView& view : observed.views) {
      for (AskedRow& asked : asked_rows(view)) histories.push_back(std::move(asked.history));
      if (!view.report->tokens) continue;
      const Rows* given = rows_of(*view.step);
      for (std::size_t r = 0; r < view.report->tokens->size(); ++r) {
        Tokens history = view.before && r < view.before->history.size() ? view.before->history[r] : Tokens{};
        if (given != nullptr && r < given->size()) history.insert(history.end(), (*given)[r].begin(), (*given)[r].end());
        const Tokens& emitted = (*view.report->tokens)[r];
        history.insert(history.end(), emitted.begin(), emitted.end() - (emitted.empty() ? 0 : 1));
        histories.push_back(std::move(history));
      }
    }
    std::sort(histories.begin(), histories.end(), [](const Tokens& a, const Tokens& b) { return a.size() > b.size(); });
    const ModelSpec& spec = observed.model->spec;
    for (const Tokens& history : histories) {
      const bool known = std::all_of(history.begin(), history.end(), [&](Token t) { return t >= 0 && t < spec.vocab; });
      if (known && !history.empty() && static_cast<int>(history.size()) <= spec.context)
        state_.oracle.prepare(observed.model, history, *configuration().declarations.numeric);
    }
  }

  const Case& case_;
  Judge::State& state_;
  RecordedLife& life_;
  ModelSpec spec_;  // of the last run
  std::optional<Verdict> ended_;
  std::deque<Executed> executed_;  // a deque: references stay valid
};

namespace {

/// Shows one executed run to the always-judged laws, which look at nothing else.
class TranscriptLab final : public Lab {
 public:
  TranscriptLab(const Observed& observed, CaseLab& lab) : observed_(observed), lab_(lab) {}
  const Observed& main() override { return observed_; }
  const Observed& fresh(const std::vector<Step>&) override { return observed_; }
  const Observed& same(const std::vector<Step>&) override { return observed_; }
  const OracleRow& expect(const Tokens& history) override { return lab_.expect(history); }
  bool has_reference() const override { return lab_.has_reference(); }
  const Configuration& configuration() const override { return lab_.configuration(); }

 private:
  const Observed& observed_;
  CaseLab& lab_;
};

/// Laws judge the last run; the divergence says which that is.
Verdict in_last_run(Verdict verdict, const Trace& trace) {
  std::visit(
      [&](auto& v) {
        if constexpr (requires { v.divergence; }) v.divergence.run = std::max(trace.runs() - 1, 0);
      },
      verdict);
  return verdict;
}

/// The law's verdict, unless the runs it asked for ended the judgement.
Verdict judge_law(const Property& law, const Case& value, CaseLab& lab) {
  lab.main();
  if (!lab.ended()) {
    Verdict verdict = in_last_run(law.judge(value, lab), value.trace);
    if (!lab.ended()) return verdict;
  }
  return *lab.ended();
}

}  // namespace

Result<std::unique_ptr<Judge>> Judge::make(const BackendFactory& factory, const Configuration& configuration,
                                           const std::vector<Property>& laws) {
  Result<std::unique_ptr<Backend>> backend = factory();
  if (!backend) return backend.error();
  Result<std::unique_ptr<Backend>> beside = factory();
  if (!beside) return beside.error();
  auto state = std::unique_ptr<State>(
      new State{std::move(*backend), std::move(*beside), configuration, {}, laws, {}, {}, {}, {}, {}, 0, 0});
  for (const Configuration& c : state->backend->describe().configurations)
    if (!state->other && c.name != configuration.name) state->other = c;
  return std::unique_ptr<Judge>(new Judge(std::move(state)));
}
Judge::Judge(std::unique_ptr<State> state) : state_(std::move(state)) {}
Judge::~Judge() = default;

Verdict Judge::replay(const Case& value) {
  ++state_->evaluations;
  state_->exhibits.clear();
  const Property* law = find_law(state_->laws, value.law);
  if (law == nullptr) return HarnessError{"no law is called \"" + value.law + "\""};
  if (const auto reason = missing_need(*law, state_->configuration)) return Unsupported{*reason};
  if (value.trace.runs() == 0) return Vacuous{"the trace has no run"};
  const std::unique_ptr<RecordedLife> life = state_->begin(*state_->backend);
  CaseLab lab(value, *state_, *life);
  Verdict verdict = judge_law(*law, value, lab);
  for (Executed& e : lab.executed()) state_->exhibits.push_back({e.name, e.trace, e.observed.record});
  return verdict;
}

void Judge::begin_chunk() {
  state_->life.reset();
  state_->prefix.clear();
}

std::vector<Judgement> Judge::judge(const Case& value) {
  const Property* own = find_law(state_->laws, value.law);
  if (own == nullptr) return {{value.law, HarnessError{"no law is called \"" + value.law + "\""}, value}};
  if (!state_->life) state_->life = state_->begin(*state_->backend);
  state_->prefix = state_->life->events();
  std::vector<Judgement> out;
  CaseLab lab(value, *state_, *state_->life);
  out.push_back({own->name, judge_law(*own, value, lab), value});
  for (Executed& executed : lab.executed()) {
    if (!executed.of_subject) continue;
    for (const Property& law : state_->laws) {
      if (!law.always || missing_need(law, state_->configuration)) continue;
      const bool is_own = law.name == own->name && &executed == &lab.executed().front();
      if (is_own) continue;
      Case as_case = value;
      as_case.law = law.name;
      as_case.vary.clear();
      as_case.trace = executed.trace;
      TranscriptLab view(executed.observed, lab);
      Verdict verdict = in_last_run(law.judge(as_case, view), as_case.trace);
      out.push_back({law.name, std::move(verdict), std::move(as_case)});
    }
  }
  for (const Judgement& j : out)
    if (is_failure(j.verdict)) {
      state_->life.reset();
      break;
    }
  return out;
}

const std::vector<Event>& Judge::prefix() const { return state_->prefix; }
Oracle& Judge::oracle() { return state_->oracle; }
double Judge::backend_seconds() const { return state_->seconds; }
double Judge::reference_seconds() const { return state_->oracle.seconds(); }
long Judge::evaluations() const { return state_->evaluations; }
const std::vector<Judge::Exhibit>& Judge::exhibits() const { return state_->exhibits; }

}  // namespace cachet
