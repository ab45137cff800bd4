// Traces as text on built-in backends, and what is wrong with their answers when the reference is asked.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "backends/registry.h"
#include "harness/checkpoint.h"
#include "harness/shadow.h"
#include "harness/step_parts.h"
#include "harness/text.h"
#include "harness/transcript.h"
#include "reference/forward.h"

namespace cachet {

inline constexpr const char* kModel = "gpt2 layers=2 heads=2 width=8 vocab=8 context=16 weights=seed:1";

inline constexpr const char* kLlama =
    "llama layers=2 heads=4 width=16 vocab=8 context=16 kv_heads=2 rope_theta=100 weights=seed:1";

/// `lines`: runs and steps; the model is loaded as m.
inline Case case_of(const std::string& lines, const std::string& model = kModel) {
  const Result<Case> parsed =
      parse_case("cachet case 1\nlaw repeat_call\nbackend eager\nmodel m " + model + "\n" + lines, "trace");
  if (!parsed) ADD_FAILURE() << to_string(parsed.error());
  return parsed ? *parsed : Case{};
}

/// `name` as on the command line: BACKEND or BACKEND/CONFIGURATION.
inline Transcript execute_on(const std::string& name, const Trace& trace, Configuration* configuration = nullptr) {
  const std::string word = name.substr(0, name.find('/'));
  const Result<BackendFactory> factory = resolve_backend(word);
  if (!factory) {
    ADD_FAILURE() << to_string(factory.error());
    return {};
  }
  const std::unique_ptr<Backend> backend = std::move(*(*factory)());
  for (const Configuration& c : backend->describe().configurations) {
    if (word != name && name != word + "/" + c.name) continue;
    if (configuration != nullptr) *configuration = c;
    return execute(trace, *backend->begin(c.name));
  }
  ADD_FAILURE() << name << " has no such configuration";
  return {};
}

inline int argmax(const double* row, int vocab) { return static_cast<int>(std::max_element(row, row + vocab) - row); }

/// Every way in which one run's reports differ from the protocol and the reference, within 1e-4 a logit where the class has an
/// envelope.
inline std::vector<std::string> faults(const ModelPtr& model, const std::vector<Step>& steps, const RunRecord& record,
                                       const Configuration& configuration) {
  std::vector<std::string> out;
  const auto complain = [&](const StepView& view, const std::string& what) {
    out.push_back(fmt::format("step {} ({}): {}", view.index, op_name(*view.step), what));
  };
  for (const StepView& view : walk(steps, record, model->spec, configuration)) {
    const Report& report = *view.report;
    if (view.expected.demand == Demand::kAnswer && !view.ok()) complain(view, report.kind + ": " + report.message);
    if (view.expected.demand == Demand::kRefuse && report.status != Status::kRefused)
      complain(view, "answered: " + view.expected.fault);
    if (view.expected.demand == Demand::kUndefined) continue;
    if (view.after) {
      for (int r = 0; r < view.after->rows() && view.after->pending_known; ++r) {
        const Value expected = IntegerValue{view.after->committed(r)};
        if (!report.lengths || report.lengths->of_row(r) == nullptr || *report.lengths->of_row(r) != expected)
          complain(view, "length");
        for (const LengthReport& layer : report.layer_lengths.value_or(std::vector<LengthReport>{}))
          if (*layer.of_row(r) != expected) complain(view, "layer length");
      }
    }
    if (!view.ok()) continue;
    if (std::holds_alternative<Append>(*view.step) && asked_rows(view).empty()) complain(view, "no logits");
    const bool by_reference = rounding_of(*configuration.declarations.numeric).has_value();
    for (const AskedRow& asked : asked_rows(view)) {
      if (!by_reference) break;
      const reference::Rows rows = reference::forward(*model, asked.history);
      const std::vector<double> got = report.logits->at(asked.row, asked.position);
      for (int v = 0; v < rows.vocab; ++v)
        if (!(std::abs(got[static_cast<std::size_t>(v)] - rows.row(rows.tokens - 1)[v]) < 1e-4))
          complain(view, fmt::format("logit {} of row {}", v, asked.row));
    }
    const Loop* loop = loop_of(*view.step);
    for (std::size_t r = 0; loop != nullptr && r < report.tokens->size(); ++r) {
      Tokens history = view.before ? view.before->history[r] : Tokens{};
      if (const Rows* given = rows_of(*view.step)) history.insert(history.end(), (*given)[r].begin(), (*given)[r].end());
      const Tokens& emitted = (*report.tokens)[r];
      for (std::size_t i = 0; by_reference && i < emitted.size(); ++i) {
        const reference::Rows rows = reference::forward(*model, history);
        std::vector<double> row(rows.row(rows.tokens - 1), rows.row(rows.tokens - 1) + rows.vocab);
        for (const Token stop : loop->stop.value_or(Tokens{}))
          if (static_cast<int>(i) < loop->min_new && stop >= 0 && stop < rows.vocab)
            row[static_cast<std::size_t>(stop)] = -INFINITY;
        if (row[static_cast<std::size_t>(emitted[i])] < row[static_cast<std::size_t>(argmax(row.data(), rows.vocab))] - 1e-4)
          complain(view, fmt::format("new token {} of row {}", i, r));
        history.push_back(emitted[i]);
      }
      const Tokens stop = loop->stop.value_or(Tokens{});
      const bool stopped =
          std::find(stop.begin(), stop.end(), emitted.back()) != stop.end() && static_cast<int>(emitted.size()) > loop->min_new;
      if ((*report.stopped)[r] != (stopped ? "stop" : "length")) complain(view, "stop reason");
      if (!stopped && static_cast<int>(emitted.size()) != loop->new_tokens) complain(view, "number of new tokens");
    }
  }
  return out;
}

/// The faults of a whole trace on a backend; all its runs are on one model.
inline std::vector<std::string> faults_of(const std::string& name, const Case& value) {
  Configuration configuration;
  const Transcript transcript = execute_on(name, value.trace, &configuration);
  const ModelPtr model = *load_model(std::get<Load>(value.trace.events.front()).spec);
  std::vector<std::string> out;
  if (!transcript.complete()) out.push_back("the trace broke");
  const std::vector<int> runs = value.trace.run_indices();
  for (std::size_t i = 0; i < transcript.runs.size(); ++i) {
    const Run& run = std::get<Run>(value.trace.events[static_cast<std::size_t>(runs[i])]);
    for (const std::string& fault : faults(model, run.steps, transcript.runs[i], configuration))
      out.push_back(fmt::format("run {} {}", i, fault));
  }
  return out;
}

/// The reports of the last run.
inline std::vector<Report> reports_of(const std::string& name, const std::string& lines, const std::string& model = kModel) {
  Transcript transcript = execute_on(name, case_of(lines, model).trace);
  return transcript.runs.empty() ? std::vector<Report>{} : std::move(transcript.runs.back().reports);
}

}  // namespace cachet
