// A lab for unit tests of laws: an honest backend made of the shadow and a toy reference, whose reports a test may spoil.
#pragma once

#include <deque>
#include <functional>

#include "harness/compare.h"
#include "harness/step_parts.h"

namespace cachet::testing {

/// Logits that depend on every token of the history, far apart unless a test makes them tie.
inline OracleRow toy_row(const Tokens& history, int vocab) {
  OracleRow row;
  std::uint64_t h = 1469598103934665603ULL;
  for (const Token t : history) h = (h ^ static_cast<std::uint64_t>(t + 7)) * 1099511628211ULL;
  for (int i = 0; i < vocab; ++i) {
    h = (h ^ (h >> 29)) * 0xbf58476d1ce4e5b9ULL;
    row.logits.push_back(static_cast<double>(h >> 40) / 1e6);
  }
  row.envelope.assign(static_cast<std::size_t>(vocab), 1e-6);
  row.sigma = 1e-7;
  return row;
}

/// Spoils the report of step `index` in the `life`-th run (0: main, 1: first twin ...).
using Spoil = std::function<void(const Step& step, int index, int life, Report& report)>;

class FakeLab final : public Lab {
 public:
  FakeLab(std::vector<Step> steps, Spoil spoil = {}) : steps_(std::move(steps)), spoil_(std::move(spoil)) {
    configuration_.name = "fake";
    configuration_.capabilities = {"append", "generate", "complete", "crop", "all_rows", "batch",
                                   "calls",  "peek",     "fork",     "save", "snapshot", "reorder"};
    configuration_.declarations.numeric = NumericClass{};
    configuration_.declarations.last_token_cached = false;
    configuration_.declarations.context = "refuse";
    auto model = std::make_shared<Model>();
    model->spec.vocab = 4;
    model->spec.context = 16;
    model_ = model;
  }

  Configuration& declare() { return configuration_; }
  OracleRow row(const Tokens& history) const {
    OracleRow out = toy_row(history, model_->spec.vocab);
    if (envelope > 0) out.envelope.assign(out.envelope.size(), envelope);
    return out;
  }
  double envelope = 0;  ///< of every logit where positive
  bool reference = true;
  std::vector<std::vector<Step>> asked;  ///< the runs that the law asked for

  const Observed& main() override {
    if (runs_.empty()) run(steps_);
    return runs_.front();
  }
  const Observed& fresh(const std::vector<Step>& steps) override {
    main();
    asked.push_back(steps);
    return run(steps);
  }
  const Observed& same(const std::vector<Step>& steps) override { return fresh(steps); }
  const Observed* elsewhere(const std::vector<Step>& steps) override { return &fresh(steps); }
  const OracleRow& expect(const Tokens& history) override { return answer_ = row(history); }
  bool has_reference() const override { return reference; }
  const Configuration& configuration() const override { return configuration_; }

 private:
  const Observed& run(const std::vector<Step>& steps) {
    Observed& out = runs_.emplace_back();
    out.model = model_;
    out.steps = steps;
    Shadow shadow(model_->spec, configuration_);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      Report report = honest(steps[i], shadow);
      report.index = static_cast<int>(i);
      if (shadow.expect(steps[i]).demand == Demand::kAnswer) shadow.assume(steps[i], report.tokens.value_or(Rows{}));
      const auto* fork = std::get_if<Fork>(&steps[i]);
      if (const ShadowSession* s = shadow.find(fork != nullptr ? fork->into : session_of(steps[i]))) {
        LengthReport lengths{true, {}};
        for (int r = 0; r < s->rows(); ++r) lengths.values.push_back(IntegerValue{s->committed(r)});
        report.lengths = lengths;
        report.layer_lengths = std::vector<LengthReport>{lengths, lengths};
      }
      if (spoil_) spoil_(steps[i], static_cast<int>(i), static_cast<int>(runs_.size()) - 1, report);
      out.record.reports.push_back(std::move(report));
    }
    out.views = walk(out.steps, out.record, model_->spec, configuration_);
    return out;
  }

  Report honest(const Step& step, const Shadow& shadow) const {
    Report report;
    const Expectation e = shadow.expect(step);
    if (e.demand != Demand::kAnswer) {
      report.status = Status::kRefused;
      report.kind = "invalid";
      report.message = e.fault;
      return report;
    }
    const ShadowSession* s = shadow.find(session_of(step));
    const Rows* given = rows_of(step);
    if (const auto* append = std::get_if<Append>(&step)) {
      report.calls = std::vector<ModelCall>{call(s, given)};
      const auto n = static_cast<int>(append->tokens[0].size());
      LogitsArray logits{s->rows(), append->want == Want::kAll ? n : 1, model_->spec.vocab, {}, {}};
      for (int r = 0; r < s->rows(); ++r)
        for (int i = append->want == Want::kAll ? 1 : n; i <= n; ++i) {
          Tokens history = s->history[static_cast<std::size_t>(r)];
          const Tokens& fed = append->tokens[static_cast<std::size_t>(r)];
          history.insert(history.end(), fed.begin(), fed.begin() + i);
          const OracleRow answer = row(history);
          logits.data.insert(logits.data.end(), answer.logits.begin(), answer.logits.end());
        }
      report.logits = logits;
    }
    if (const Loop* loop = loop_of(step)) {
      const std::size_t rows = s != nullptr ? s->history.size() : given->size();
      report.tokens = Rows{};
      report.stopped = std::vector<std::string>{};
      report.calls = std::vector<ModelCall>{call(s, given)};
      for (std::size_t r = 0; r < rows; ++r) {
        Tokens history = s != nullptr ? s->history[r] : Tokens{};
        if (given != nullptr) history.insert(history.end(), (*given)[r].begin(), (*given)[r].end());
        Tokens out;
        bool stopped = false;
        while (static_cast<int>(out.size()) < loop->new_tokens && !stopped) {
          out.push_back(suppressed(row(history), *loop, static_cast<int>(out.size())).argmax());
          history.push_back(out.back());
          stopped = loop->stop && static_cast<int>(out.size()) > loop->min_new &&
                    std::count(loop->stop->begin(), loop->stop->end(), out.back()) > 0;
        }
        report.tokens->push_back(out);
        report.stopped->push_back(stopped ? "stop" : "length");
      }
      ModelCall decode;
      for (const Tokens& out : *report.tokens) decode.tokens.emplace_back(out.begin(), out.end() - 1);
      decode.shape = {static_cast<std::int64_t>(rows), static_cast<std::int64_t>(decode.tokens[0].size())};
      if (!decode.tokens[0].empty()) report.calls->push_back(decode);
    }
    return report;
  }

  static ModelCall call(const ShadowSession* s, const Rows* given) {
    ModelCall out;
    const std::size_t rows = s != nullptr ? s->history.size() : given->size();
    for (std::size_t r = 0; r < rows; ++r) {
      Tokens fed;
      if (s != nullptr && (s->pending[r] != 0 || given == nullptr)) fed.push_back(s->history[r].back());
      if (given != nullptr) fed.insert(fed.end(), (*given)[r].begin(), (*given)[r].end());
      out.tokens.push_back(fed);
    }
    out.shape = {static_cast<std::int64_t>(rows), static_cast<std::int64_t>(out.tokens[0].size())};
    return out;
  }

  std::vector<Step> steps_;
  Spoil spoil_;
  Configuration configuration_;
  ModelPtr model_;
  std::deque<Observed> runs_;
  OracleRow answer_;
};

}  // namespace cachet::testing
