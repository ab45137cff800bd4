// An engine that computes nothing and reports everything: each field of a report gets a value that depends on the steps before
// it, so that whatever is lost or mixed up on the way to another process shows.
#pragma once

#include <cmath>
#include <limits>
#include <memory>

#include "harness/backend.h"

namespace cachet::testing {

class FakeEngine final : public Engine {
 public:
  explicit FakeEngine(ModelPtr model) : model_(std::move(model)) {}

  Report execute(const Step& step) override {
    ++calls_;
    Report report;
    report.seconds = 0.25 * static_cast<double>(calls_);
    if (const auto* open = std::get_if<Open>(&step)) {
      if (open->rows > 2) return refused("capacity", "at most 2 rows");
      lengths_[open->session] = 0;
    } else if (const auto* append = std::get_if<Append>(&step)) {
      if (lengths_.count(append->session) == 0) return refused("invalid", "no session \"" + append->session + "\"");
      fill(report, *append);
    } else if (std::holds_alternative<Complete>(step)) {
      report.tokens = {{calls_ % 4, 1}, {2}};
      report.stopped = {"length", "stop"};
      report.cached = {completions_++, 0};
    } else if (std::holds_alternative<Recompile>(step)) {
      report.status = Status::kFailed;
      report.kind = "RuntimeError";
      report.message = "line 1\nline 2 \"quoted\" \xC3\xA9";
    } else if (const auto* length = std::get_if<Length>(&step)) {
      report.lengths = LengthReport{true,
                                    {IntegerValue{lengths_[length->session]}, RealValue{1}, ArrayValue{"int64", {1}, {3}, "cpu"},
                                     TextValue{"3"}, NoneValue{}}};
    } else {
      return refused("unsupported", std::string("no ") + op_name(step));
    }
    return report;
  }

  void end_run() override { lengths_.clear(); }  // completions_ is what the engine retains

 private:
  static Report refused(std::string kind, std::string message) {
    Report report;
    report.status = Status::kRefused;
    report.kind = std::move(kind);
    report.message = std::move(message);
    report.state_unchanged = true;
    return report;
  }

  void fill(Report& report, const Append& append) {
    std::int64_t& length = lengths_[append.session];
    length += static_cast<std::int64_t>(append.tokens.front().size());
    report.lengths = LengthReport{false, {IntegerValue{length}}};
    LogitsArray logits{1, 1, model_->spec.vocab, {}, {}};
    for (int i = 0; i < logits.vocab; ++i) logits.data.push_back(static_cast<float>(std::sin(static_cast<double>(calls_ + i))));
    if (length == 3) logits.data[0] = std::numeric_limits<double>::infinity();
    if (length == 3) logits.data[1] = -0.0;
    report.logits = std::move(logits);
    report.calls = {{append.tokens, std::nullopt, {1, length}}};
    report.compilations = {{"prefill", "1x" + std::to_string(length)}};
    report.changed = {0};
  }

  ModelPtr model_;
  std::map<std::string, std::int64_t> lengths_;
  std::int64_t calls_ = 0;
  std::int64_t completions_ = 0;
};

inline std::unique_ptr<Backend> make_fake_backend() {
  Configuration configuration;
  configuration.name = "plain";
  configuration.capabilities = {"append", "complete"};
  configuration.declarations.max_rows = 2;
  Configuration picky = configuration;
  picky.name = "picky";
  Description description{"fake", "1", {{"device", "none"}}, {configuration, picky}};
  return make_in_process_backend(description,
                                 [](const std::string& name, const ModelPtr& model) -> Result<std::unique_ptr<Engine>> {
                                   if (name == "picky" && model->spec.layers > 1) return Error{"", 0, "one layer at most"};
                                   return std::unique_ptr<Engine>(std::make_unique<FakeEngine>(model));
                                 });
}

}  // namespace cachet::testing
