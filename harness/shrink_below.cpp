// Search from below: the small cases that can be made of the reached case's kinds of calls, in the total order, on a standard
// model. What a descent reaches depends on where it began; the first of these that fails alike does not.
#include <algorithm>
#include <map>
#include <set>

#include "harness/order.h"
#include "harness/shadow.h"
#include "harness/shrink_search.h"
#include "harness/step_parts.h"

namespace cachet {
namespace {

/// What the small cases are made of: the kinds of calls of the reached case, and its larger sizes beside 1 and 2.
struct Grammar {
  std::vector<Step> calls;  ///< each a call on session "a" with its sizes set, ids zero, in the order of their rank
  int rows = 1;
  int runs = 1;
  int most_steps = 0;
  int slack = 0;  ///< capacity beyond the longest history
};

Tokens zeros(int n) { return Tokens(static_cast<std::size_t>(n), 0); }
Rows zeros(int rows, int n) { return Rows(static_cast<std::size_t>(rows), zeros(n)); }

/// What the reached case's calls are like, beside their order.
struct Traits {
  std::set<std::string> ops;
  std::set<int> lengths = {1, 2}, news = {1}, crops = {0, 1};
  bool sessions = false, all = false, peek = false, capped = false, stops = false, least = false;
};

void add_size(std::set<int>& sizes, int n) {
  constexpr int kMost = 3;
  if (n <= kMost) sizes.insert(n);
}

Traits traits_of(const Case& value) {
  Traits out;
  for (const At at : places(value)) {
    const Step& step = step_at(value, at);
    out.ops.insert(op_name(step));
    out.sessions |= std::holds_alternative<Open>(step);
    if (const Rows* rows = rows_of(step))
      for (const Tokens& row : *rows) add_size(out.lengths, static_cast<int>(row.size()));
    if (const Loop* loop = loop_of(step)) {
      add_size(out.news, loop->new_tokens);
      out.stops |= loop->stop.has_value();
      out.least |= loop->min_new > 0;
    }
    if (const auto* a = std::get_if<Append>(&step)) out.all |= a->want == Want::kAll, out.peek |= !a->keep;
    if (const auto* c = std::get_if<Complete>(&step)) out.capped |= c->capacity.has_value();
    if (const auto* c = std::get_if<Crop>(&step))
      for (const int n : c->length) add_size(out.crops, n);
  }
  return out;
}

std::vector<Loop> loops_of(const Traits& traits) {
  std::vector<Loop> out;
  for (const int k : traits.news) {
    Loop loop;
    loop.new_tokens = k;
    out.push_back(loop);
    if (traits.stops) loop.stop = Tokens{0}, out.push_back(loop);
    if (traits.least) loop.min_new = 1, out.push_back(loop);
  }
  return out;
}

/// Every kind of call that the configuration has, small.
Traits traits_of(const Configuration& configuration) {
  Traits out;
  for (const char* op : {"generate", "complete", "crop", "poison"})
    if (configuration.can(op)) out.ops.insert(op);
  if (configuration.can("append")) out.ops.insert({"length", "reset", "close"});
  out.sessions = configuration.can("append");
  out.peek = configuration.can("peek");
  return out;
}

Grammar grammar_of(const Case& value, const Traits& traits, int runs, int most_steps) {
  Grammar out;
  bool overflows = false;
  out.runs = runs;
  out.most_steps = most_steps;
  for (const At at : places(value)) {
    if (const auto* open = std::get_if<Open>(&step_at(value, at))) {  // rows and slack are those of the case
      out.rows = std::max(out.rows, open->rows);
      out.slack = std::max(out.slack, open->capacity - longest_history(value));
      overflows |= open->capacity < longest_history(value);
    }
    if (const auto* c = std::get_if<Complete>(&step_at(value, at)))
      out.rows = std::max(out.rows, static_cast<int>(c->tokens.size()));
  }
  std::set<int> lengths = traits.lengths;
  constexpr int kPastCapacity = 3;
  if (overflows) lengths.insert(kPastCapacity);
  const auto has = [&](const char* op) { return traits.ops.count(op) > 0; };
  for (const int n : lengths) {
    if (!traits.sessions) break;
    out.calls.push_back(Append{"a", zeros(out.rows, n), {}, Want::kLast, true});
    if (traits.all) out.calls.push_back(Append{"a", zeros(out.rows, n), {}, Want::kAll, true});
    if (traits.peek) out.calls.push_back(Append{"a", zeros(out.rows, n), {}, Want::kLast, false});
  }
  for (const Loop& loop : loops_of(traits)) {
    if (has("generate")) {
      out.calls.push_back(Generate{"a", std::nullopt, loop});
      for (const int n : traits.lengths) out.calls.push_back(Generate{"a", zeros(out.rows, n), loop});
    }
    if (has("complete"))
      for (const int n : traits.lengths)
        out.calls.push_back(Complete{zeros(traits.sessions ? 1 : out.rows, n), std::nullopt, loop});
  }
  if (has("crop"))
    for (const int n : traits.crops) out.calls.push_back(Crop{"a", std::vector<int>(static_cast<std::size_t>(out.rows), n)});
  if (has("length")) out.calls.push_back(Length{"a"});
  if (has("reset")) out.calls.push_back(Reset{"a"});
  if (has("poison")) out.calls.push_back(Poison{"a"});
  if (has("close")) out.calls.push_back(Close{"a"});
  if (traits.sessions) out.calls.push_back(Open{"a", out.rows, 1});
  return out;
}

/// All runs of steps that the shadow allows, depth first, up to a number of steps.
class Enumeration {
 public:
  Enumeration(const Grammar& grammar, const Case& value, std::string op, const ModelSpec& spec,
              const Configuration& configuration)
      : grammar_(grammar), value_(value), op_(std::move(op)), spec_(spec), configuration_(configuration) {}

  std::vector<Case> cases() {
    extend(Shadow(spec_, configuration_), 1, 0);
    return std::move(out_);
  }

 private:
  static constexpr std::size_t kMostCases = 20000;

  void extend(const Shadow& shadow, int run, int steps) {
    if (out_.size() >= kMostCases) return;
    if (!runs_.back().empty() && op_name(runs_.back().back()) == op_) emit();
    if (steps == grammar_.most_steps) return;
    for (const Step& call : grammar_.calls) {
      if (std::holds_alternative<Open>(call) && shadow.find("a") != nullptr) continue;
      Step step = call;
      if (auto* open = std::get_if<Open>(&step)) open->capacity = spec_.context;  // fitted when the case is complete
      if (shadow.expect(step).demand != Demand::kAnswer) continue;
      Shadow next = shadow;
      Rows emitted;
      if (const Loop* loop = loop_of(step))
        emitted = zeros(grammar_.rows, loop->stop ? std::max(loop->min_new + 1, 1) : loop->new_tokens);
      next.assume(step, emitted);
      runs_.back().push_back(step);
      extend(next, run, steps + 1);
      runs_.back().pop_back();
    }
    if (run < grammar_.runs && !runs_.back().empty()) {
      runs_.emplace_back();
      extend(Shadow(spec_, configuration_), run + 1, steps);
      runs_.pop_back();
    }
  }

  void emit() {
    Case out = value_;
    out.trace.events = {Load{"m", spec_}};
    for (const std::vector<Step>& run : runs_) out.trace.events.push_back(Run{"m", run});
    const int longest = longest_history(out);
    std::set<int> capacities = {longest + grammar_.slack};
    const std::vector<At> all = places(out);
    if (std::any_of(all.begin(), all.end(), [&](At at) { return std::holds_alternative<Open>(step_at(out, at)); }))
      capacities.insert({1, 2, std::max(longest - 1, 1)});  // for calls past capacity, where the law allows them
    for (const int capacity : capacities) {
      if (capacity > longest + grammar_.slack) continue;
      for (const At at : places(out))
        if (auto* open = std::get_if<Open>(&step_at(out, at))) open->capacity = capacity;
      push(out);
      for (const Differs where : {Differs::kEverywhere, Differs::kFirst, Differs::kLast})
        if (with_other_ids(out, where)) push(out);
      set_ids(out, 0);
    }
  }

  /// Under each of a few choices of the law, where it has any.
  void push(Case value) {
    std::vector<std::vector<std::int64_t>> choices = {{}};
    if (!value_.vary.empty()) choices.insert(choices.end(), {{1}, {0, 1}, {0, 0, 1}, value_.vary});
    for (std::vector<std::int64_t>& vary : choices) {
      value.vary = std::move(vary);
      out_.push_back(value);
    }
  }

  enum class Differs { kEverywhere, kFirst, kLast };

  /// The ids of later calls differ from those of the first, which are zero; false where that says nothing new.
  static bool with_other_ids(Case& value, Differs where) {
    int call = 0;
    bool any = false;
    for (const At at : places(value))
      if (Rows* rows = rows_of(step_at(value, at)))
        for (Tokens& row : *rows) {
          const bool later = call++ > 0 && (row.size() > 1 || where == Differs::kEverywhere);
          std::fill(row.begin(), row.end(), later && where == Differs::kEverywhere ? 1 : 0);
          if (later && !row.empty()) (where == Differs::kLast ? row.back() : row.front()) = 1;
          any |= later;
        }
    return any;
  }

  static void set_ids(Case& value, Token id) {
    for (const At at : places(value))
      if (Rows* rows = rows_of(step_at(value, at)))
        for (Tokens& row : *rows) std::fill(row.begin(), row.end(), id);
  }

  const Grammar& grammar_;
  const Case& value_;
  std::string op_;  ///< of the last step
  ModelSpec spec_;
  const Configuration& configuration_;
  std::vector<std::vector<Step>> runs_ = {{}};
  std::vector<Case> out_;
};

}  // namespace

std::vector<Case> cases_below(const Case& value, const std::string& op, const Configuration& configuration) {
  const Run* last = value.trace.last_run();
  constexpr int kMostSteps = 5, kMostRuns = 2, kMostStepsOfAnyCalls = 3;
  if (last == nullptr) return {};
  const ModelSpec* spec = value.trace.spec_at(static_cast<int>(value.trace.events.size()) - 1, last->handle);
  if (spec == nullptr || spec->weights.kind == WeightRecipe::Kind::kDirectory) return {};
  const int steps = value.trace.steps();
  std::vector<Grammar> grammars = {grammar_of(value, traits_of(configuration), 1, std::min(steps, kMostStepsOfAnyCalls))};
  const Traits own = traits_of(value);
  if (!own.capped && steps <= kMostSteps &&
      value.trace.runs() <= kMostRuns)  // sizes with values of their own: left to the descent
    grammars.push_back(grammar_of(value, own, value.trace.runs(), steps));
  const std::vector<std::int64_t> reached = rank(value);
  std::vector<ModelSpec> models = {standard_model(standard_spec(spec->family))};
  if (has_choices(*spec)) models.push_back(standard_model(*spec));
  std::map<std::vector<std::int64_t>, Case> ranked;  // a case that both grammars have is one
  for (const Grammar& grammar : grammars)
    for (Case& c : Enumeration(grammar, value, op, models.front(), configuration).cases()) {
      std::vector<std::int64_t> r = rank(c);
      if (!std::lexicographical_compare(reached.begin(), reached.begin() + kSkeleton, r.begin(), r.begin() + kSkeleton))
        ranked.emplace(std::move(r), std::move(c));
    }
  std::vector<Case> out;
  for (auto& [r, c] : ranked)
    for (const ModelSpec& model : models) {
      std::get<Load>(c.trace.events.front()).spec = model;
      out.push_back(c);
    }
  return out;
}

}  // namespace cachet
