// Builds a case step by step beside the shadow: content first, then the calls the law is about, then calls that use what was
// left behind. Sizes come from boundaries mixed with small and random ones.
#include "harness/generator.h"

#include <rapidcheck.h>

#include <algorithm>
#include <set>

#include "harness/checkpoint.h"
#include "harness/step_parts.h"
#include "reference/architecture.h"

namespace cachet {
namespace {

/// RapidCheck as the source of every choice. gen::inRange is scaled by size; at the nominal size it is uniform.
class RapidDraw final : public Draw {
 public:
  explicit RapidDraw(std::uint64_t seed) : random_(seed) {}
  std::int64_t between(std::int64_t low, std::int64_t high) override {
    if (low >= high) return low;
    return rc::gen::inRange<std::int64_t>(low, high + 1)(random_.split(), rc::kNominalSize).value();
  }

 private:
  rc::Random random_;
};

/// One of the entries, each as likely as its weight; weights of zero or less never.
std::string weighted(Draw& draw, const std::map<std::string, int>& weights) {
  std::int64_t total = 0;
  for (const auto& [name, weight] : weights) total += std::max(weight, 0);
  if (total == 0) return {};
  std::int64_t at = draw.between(0, total - 1);
  for (const auto& [name, weight] : weights) {
    at -= std::max(weight, 0);
    if (weight > 0 && at < 0) return name;
  }
  return {};
}

/// What the reference's loop emits for generate, so that the lengths of later steps are known.
Rows predict_emitted(const Step& step, const Shadow& shadow, const ModelPtr& model, Oracle& oracle) {
  const auto* generate = std::get_if<Generate>(&step);
  if (generate == nullptr) return {};
  Rows out;
  const ShadowSession* session = shadow.find(generate->session);
  for (std::size_t r = 0; session != nullptr && r < session->history.size(); ++r) {
    Tokens history = session->history[r];
    if (generate->tokens) history.insert(history.end(), (*generate->tokens)[r].begin(), (*generate->tokens)[r].end());
    out.push_back(
        oracle.greedy(model, history, generate->loop.new_tokens, generate->loop.stop.value_or(Tokens{}), generate->loop.min_new));
  }
  return out;
}

/// Has the step a number below the least that its text form can have? Such calls are sent as raw.
bool malformed(const Step& step) {
  const auto* open = std::get_if<Open>(&step);
  const auto* complete = std::get_if<Complete>(&step);
  const Loop* loop = loop_of(step);
  return (open != nullptr && (open->rows < 1 || open->capacity < 1)) ||
         (complete != nullptr && complete->capacity.value_or(1) < 1) || (loop != nullptr && loop->new_tokens < 1);
}

constexpr int kMaxSteps = 12;
constexpr int kLongAppend = 8;

class Builder {
 public:
  Builder(const Request& request, ModelPtr model, Draw& draw, Oracle& oracle)
      : law_(*request.law),
        configuration_(*request.configuration),
        model_(std::move(model)),
        spec_(model_->spec),
        draw_(draw),
        oracle_(oracle),
        shadow_(spec_, configuration_) {
    choose_weights();
  }

  /// A run of its own: sessions begin and end in it.
  std::vector<Step> run(bool aimed) {
    shadow_ = Shadow(spec_, configuration_);
    steps_.clear();
    const bool must = aimed && !law_.aim.must.empty();
    const int before = static_cast<int>(draw_.between(1, must ? 4 : 6));
    for (int i = 0; i < before && room_for_steps(); ++i) add_random();
    const bool refused = aimed && bad_ + over_ > 0;
    if (must || refused) {
      add_content();
      if (must) {
        add_must();
        if (draw_.chance(35)) add_idle_generate();
      }
      if (refused) add_refused();
      const int after = static_cast<int>(draw_.between(1, 3));
      for (int i = 0; i < after && room_for_steps(); ++i) add_random();
    }
    if (aimed && (refused || draw_.chance(80))) add_look();
    return steps_;
  }

 private:
  void choose_weights() {
    weights_ = {{"open", 6},   {"append", 30}, {"generate", 14}, {"complete", 14}, {"crop", 10},
                {"length", 4}, {"reset", 8},   {"close", 8},     {"peek", 4},      {"poison", 5}};
    for (auto& [op, weight] : weights_)  // swarm: a case without some calls lets the others meet more often
      if (draw_.chance(20)) weight = 0;
    constexpr int kSiblings = 35, kChurn = 15;  // sessions side by side, sessions in the place of closed ones
    if (draw_.chance(kSiblings)) weights_["open"] = 20;
    if (draw_.chance(kChurn)) weights_["open"] = weights_["close"] = 20;
    for (const auto& [op, weight] : law_.aim.favour) weights_[op] += weight;
    for (const std::string& op : law_.aim.must) weights_[op] = std::max(weights_[op], 10);
    const auto need = [&](const char* op, const char* capability) {
      if (!configuration_.can(capability)) weights_[op] = 0;
    };
    for (const char* op : {"open", "append", "length", "reset", "close"}) need(op, "append");
    for (const char* op : {"generate", "complete", "crop", "peek", "poison"}) need(op, op);
    if (configuration_.can("recompile"))
      weights_["recompile"] = std::max(0, weights_["recompile"] + 3);
    else
      weights_.erase("recompile");
    bad_ = law_.aim.bad_calls ? 25 : 0;
    over_ = law_.aim.overflow ? 25 : 0;
  }

  bool room_for_steps() const { return static_cast<int>(steps_.size()) < kMaxSteps; }

  // -- sizes

  int limit(const std::optional<int>& declared, int otherwise) const {
    return declared ? std::min(*declared, otherwise) : otherwise;
  }

  /// Tokens that still fit: into the capacity and into the model's own context.
  int room(const ShadowSession& s) const { return std::min(s.capacity, spec_.context) - s.longest(); }

  /// A size from 1 to `most`: the boundaries of the range and of the declarations, small numbers, anything.
  int size_to(int most) {
    if (most <= 1) return 1;
    std::vector<int> sizes = {1, 1, 2, 2, 3, most - 1, most, most};
    const Declarations& d = configuration_.declarations;
    for (const auto* list : {&d.append_buckets, &d.capacity_buckets})
      for (const int b : *list) sizes.insert(sizes.end(), {b - 1, b, b + 1});
    for (const auto& b : {d.block, d.ring})
      if (b) sizes.insert(sizes.end(), {*b - 1, *b, *b + 1});
    sizes.push_back(static_cast<int>(draw_.between(1, std::min(most, kLongAppend))));
    return std::clamp(draw_.pick(sizes), 1, most);
  }

  Token token() { return draw_.between(0, spec_.vocab - 1); }

  /// A prompt that repeats, shortens, extends or changes an earlier one, or a new one; 1 to `most` tokens.
  Tokens prompt(int most) {
    Tokens out;
    if (!prompts_.empty() && draw_.chance(65)) {
      out = draw_.pick(prompts_);
      switch (draw_.between(0, 4)) {
        case 0:
          break;
        case 1:
          out.resize(static_cast<std::size_t>(draw_.between(1, static_cast<std::int64_t>(out.size()))));
          break;
        case 2:
          out.push_back(token());
          break;
        case 3:
          out.back() = token();
          break;
        default:
          out.front() = token();
          break;
      }
      if (static_cast<int>(out.size()) > most) out.resize(static_cast<std::size_t>(most));
    } else {
      const int n = size_to(most);
      for (int i = 0; i < n; ++i) out.push_back(token());
    }
    prompts_.push_back(out);
    return out;
  }

  Tokens fresh_tokens(int n) {
    Tokens out;
    for (int i = 0; i < n; ++i) out.push_back(token());
    return out;
  }

  Loop loop(int most) {
    Loop out;
    out.new_tokens = std::clamp(static_cast<int>(draw_.between(1, 4)), 1, std::max(most, 1));
    return out;
  }

  /// Stop ids, mostly ones that the loop comes upon, and a least number of tokens around the place where it does.
  void add_stop(Loop& loop, const Tokens& history) {
    constexpr int kStops = 30;
    if (!draw_.chance(kStops) || static_cast<int>(history.size()) > spec_.context) return;
    const Tokens met = oracle_.greedy(model_, history, loop.new_tokens, {});
    if (met.empty()) return;
    loop.stop = Tokens{draw_.chance(75) ? draw_.pick(met) : token()};
    if (draw_.chance(25)) loop.stop->push_back(token());
    if (draw_.chance(50)) loop.min_new = static_cast<int>(draw_.between(1, loop.new_tokens));
  }

  // -- sessions

  std::vector<std::string> sessions(bool with_content) const {
    std::vector<std::string> out;
    for (const auto& [name, s] : shadow_.sessions())
      if (!s.torn && (!with_content || s.longest() > 0)) out.push_back(name);
    return out;
  }

  std::string free_name() const {
    for (const char* name : {"a", "b", "c"})
      if (shadow_.find(name) == nullptr) return name;
    return {};
  }

  /// A capacity: small ones often, so that traces reach it.
  int capacity() {
    const int most = limit(configuration_.declarations.max_capacity, spec_.context);
    std::vector<int> sizes = {2, 3, 4, 5, 6, 8, 12, 16, most, most};
    for (const int b : configuration_.declarations.capacity_buckets) sizes.insert(sizes.end(), {b - 1, b, b + 1});
    return std::clamp(draw_.pick(sizes), 1, most);
  }

  int rows() {
    if (!configuration_.can("batch") || law_.aim.single_row || draw_.chance(law_.aim.many_rows ? 5 : 70)) return 1;
    return std::min(limit(configuration_.declarations.max_rows, 3), static_cast<int>(draw_.between(2, 3)));
  }

  // -- steps

  /// Adds the step if the contract allows it here; emitted tokens are the reference's.
  bool add(Step step) {
    const Expectation e = shadow_.expect(step);
    if (e.demand == Demand::kUndefined) return false;
    if (e.demand == Demand::kRefuse && bad_ == 0 && over_ == 0) return false;
    if (e.demand == Demand::kAnswer) shadow_.assume(step, predict_emitted(step, shadow_, model_, oracle_));
    steps_.push_back(std::move(step));
    return true;
  }

  bool add_open() {
    const std::string name = free_name();
    return !name.empty() && add(Open{name, rows(), capacity()});
  }

  bool add_append(bool keep) {
    const std::vector<std::string> open = sessions(false);
    if (open.empty()) return add_open();
    const std::string name = draw_.pick(open);
    const ShadowSession& s = *shadow_.find(name);
    int most = room(s);
    if (draw_.chance(over_)) most += 1 + static_cast<int>(draw_.between(0, 1));
    if (most < 1) return false;
    const int n = draw_.chance(over_) ? most : size_to(most);
    Append step{name, {}, {}, configuration_.can("all_rows") && draw_.chance(40) ? Want::kAll : Want::kLast, keep};
    if (s.rows() == 1 && s.longest() == 0)
      step.tokens.push_back(prompt(most));
    else
      for (int r = 0; r < s.rows(); ++r) step.tokens.push_back(fresh_tokens(n));
    return add(std::move(step));
  }

  bool add_generate() {
    const std::vector<std::string> open = sessions(false);
    if (open.empty()) return add_open();
    const std::string name = draw_.pick(open);
    const ShadowSession& s = *shadow_.find(name);
    const int most = room(s) + (draw_.chance(over_) ? 2 : 0);
    if (most < 1) return false;
    Generate step{name, {}, loop(most)};
    if (s.longest() == 0 || draw_.chance(50)) {
      const int n = size_to(std::max(1, most - step.loop.new_tokens));
      step.loop.new_tokens = std::clamp(most - n, 1, step.loop.new_tokens);
      step.tokens = Rows{};
      for (int r = 0; r < s.rows(); ++r) step.tokens->push_back(fresh_tokens(n));
    }
    Tokens history = s.history.front();
    if (step.tokens) history.insert(history.end(), step.tokens->front().begin(), step.tokens->front().end());
    add_stop(step.loop, history);
    return add(std::move(step));
  }

  bool add_complete() {
    const int largest = std::min(spec_.context, limit(configuration_.declarations.max_capacity, spec_.context));
    const int most = largest + (draw_.chance(over_) ? 2 : 0);
    Complete step;
    step.loop = loop(std::max(1, most - 1));
    const int width = std::max(1, most - step.loop.new_tokens);
    step.tokens.push_back(prompt(width));
    const auto n = step.tokens.front().size();
    for (int r = rows(); r > 1; --r) step.tokens.push_back(fresh_tokens(static_cast<int>(n)));
    if (n <= static_cast<std::size_t>(spec_.context)) add_stop(step.loop, step.tokens.front());
    if (draw_.chance(25)) {
      const int need = static_cast<int>(n) + step.loop.new_tokens;
      step.capacity = std::clamp(need + static_cast<int>(draw_.between(draw_.chance(over_) ? -2 : 0, 2)), 1, largest);
      if (*step.capacity < need && over_ == 0) step.capacity.reset();
    }
    return add(std::move(step));
  }

  bool add_crop() {
    const std::vector<std::string> full = sessions(true);
    if (full.empty()) return add_append(true);
    const std::string name = draw_.pick(full);
    const ShadowSession& s = *shadow_.find(name);
    int shortest = s.longest();
    for (const Tokens& row : s.history) shortest = std::min(shortest, static_cast<int>(row.size()));
    const std::vector<int> lengths = {0, 1, shortest - 1, shortest - 1, shortest, static_cast<int>(draw_.between(0, shortest))};
    const int keep = std::max(0, draw_.pick(lengths));
    return add(Crop{name, std::vector<int>(s.history.size(), keep)});
  }

  template <typename S>
  bool add_named(bool with_content) {
    const std::vector<std::string> open = sessions(with_content);
    return !open.empty() && add(S{draw_.pick(open)});
  }

  bool add_op(const std::string& op) {
    if (op == "open") return add_open();
    if (op == "append") return add_append(true);
    if (op == "peek") return add_append(false);
    if (op == "generate") return add_generate();
    if (op == "complete") return add_complete();
    if (op == "crop") return add_crop();
    if (op == "length") return add_named<Length>(false);
    if (op == "reset") return add_named<Reset>(draw_.chance(85));
    if (op == "close") return add_named<Close>(draw_.chance(85));
    if (op == "poison") return add_named<Poison>(false);
    if (op == "recompile") return add(Recompile{});
    return false;
  }

  /// A call that must be refused, on whatever is there.
  bool add_bad() {
    const std::vector<std::string> open = sessions(false);
    const std::string name = open.empty() || draw_.chance(10) ? "nowhere" : draw_.pick(open);
    const ShadowSession* s = shadow_.find(name);
    const int rows = s == nullptr ? 1 : s->rows();
    const int length = s == nullptr ? 0 : s->longest();
    Rows tokens(static_cast<std::size_t>(rows), Tokens{token()});
    switch (draw_.pick(std::vector<int>{0, 1, 1, 1, 2, 3, 4, 5, 6, 7, 8})) {
      case 0:
        tokens.back().clear();
        return add(Append{name, tokens, {}, Want::kLast, true});
      case 1:
        tokens.back().back() = draw_.pick(std::vector<Token>{-1, -1, spec_.vocab, spec_.vocab + 3});
        return add(Append{name, tokens, {}, Want::kLast, true});
      case 2:
        tokens.push_back({token()});
        return add(Append{name, tokens, {}, Want::kLast, true});
      case 3:
        return configuration_.can("crop") &&
               add(Crop{name,
                        std::vector<int>(static_cast<std::size_t>(rows), length + 1 + static_cast<int>(draw_.between(0, 1)))});
      case 4:
        return configuration_.can("crop") &&
               add(Crop{name, std::vector<int>(static_cast<std::size_t>(rows), -1 - static_cast<int>(draw_.between(0, 1)))});
      case 5: {
        const Open call{open.empty() ? "a" : name, draw_.chance(50) ? 1 : 0, draw_.chance(50) ? 4 : 0};
        if (!malformed(call)) return add(call);
        return add(Raw{"{\"capacity\":" + std::to_string(call.capacity) +
                       ",\"op\":\"open\",\"rows\":" + std::to_string(call.rows) + ",\"session\":\"" + call.session + "\"}"});
      }
      case 6:
        return configuration_.can("generate") &&
               add(Generate{name, length == 0 ? std::nullopt : std::optional<Rows>(Rows(static_cast<std::size_t>(rows))),
                            Loop{}});
      case 7:
        return configuration_.can("complete") &&
               add(Complete{{draw_.chance(50) ? Tokens{} : Tokens{token(), spec_.vocab}}, {}, Loop{}});
      default:
        return add(Length{"nowhere"});
    }
  }

  void add_random() {
    constexpr int kTries = 8;
    for (int i = 0; i < kTries; ++i) {
      if (bad_ > 0 && draw_.chance(bad_) ? add_bad() : add_op(weighted(draw_, weights_))) return;
    }
  }

  /// Something to lose: a session with content, or a completed prompt where there are no sessions.
  void add_content() {
    if (!configuration_.can("append")) {
      add_complete();
      return;
    }
    if (sessions(false).empty()) add_open();
    for (int i = 0; i < 3 && sessions(true).empty(); ++i) add_append(true);
    if (configuration_.can("generate") && draw_.chance(bad_ > 0 ? 60 : 35)) add_generate();
  }

  void add_must() {
    constexpr int kTries = 6;
    for (int i = 0; i < 2 * kTries; ++i) {
      if (i == kTries) add_open();  // the others may be full
      if (add_op(draw_.pick(law_.aim.must))) return;
    }
  }

  /// The loop goes on from what is there, right after a call that changed it.
  void add_idle_generate() {
    const std::vector<std::string> full = sessions(true);
    if (full.empty() || !configuration_.can("generate")) return;
    const std::string name = draw_.pick(full);
    const int most = room(*shadow_.find(name));
    if (most > 0) add(Generate{name, {}, loop(most)});
  }

  /// A call that must be refused where it has most to spoil: on a session with content, or past the end of one.
  void add_refused() {
    const int over = over_;
    constexpr int kTries = 6;
    const bool overflow = over_ > 0 && (bad_ == 0 || draw_.chance(40));
    if (overflow) over_ = 100;
    for (int i = 0; i < kTries; ++i)
      if (overflow ? add_op(draw_.chance(75) && configuration_.can("append") ? "append"
                            : draw_.chance(50)                               ? "generate"
                                                                             : "complete")
                   : add_bad())
        break;
    over_ = over;
  }

  /// A last look: rows or tokens that would show what went before.
  void add_look() {
    const bool append = configuration_.can("append") && !sessions(false).empty();
    constexpr int kAppend = 60;
    if (append && draw_.chance(kAppend) && add_append(true)) return;
    if (append && configuration_.can("generate") && add_generate()) return;
    if (append && add_append(true)) return;
    if (configuration_.can("complete")) add_complete();
  }

  const Property& law_;
  const Configuration& configuration_;
  ModelPtr model_;
  const ModelSpec& spec_;
  Draw& draw_;
  Oracle& oracle_;
  Shadow shadow_;
  std::map<std::string, int> weights_;
  int bad_ = 0, over_ = 0;  // of a hundred
  std::vector<Step> steps_;
  std::vector<Tokens> prompts_;
};

/// The families that a backend takes: those it declares, or else the one of a spec without choices.
std::vector<std::string> families_of(const Configuration& configuration) {
  std::vector<std::string> out;
  for (const std::string& family : configuration.declarations.architectures)
    if (reference::find_architecture(family) != nullptr) out.push_back(family);
  if (out.empty()) out.push_back(ModelSpec{}.family);
  return out;
}

/// Choices that only some families have, each of them known to the family.
void choose(Draw& draw, const std::set<std::string>& choices, ModelSpec& spec) {
  if (choices.count("kv_heads")) {
    if (draw.chance(50)) {  // groups of two, and two of them: fewer cannot tell which group a query is in
      spec.width = spec.width / spec.heads * 4;
      spec.heads = 4;
      spec.kv_heads = 2;
    } else if (spec.heads > 1 && draw.chance(50)) {
      spec.kv_heads = 1;
    }
  }
  if (choices.count("head_dim") && draw.chance(15)) spec.head_dim = draw.pick(std::vector<int>{2, 4, 6});
  if (choices.count("rope_theta") && draw.chance(60)) {
    spec.rope_theta = draw.pick(std::vector<double>{100, 500'000});
    if (spec.head_dim == 2) spec.head_dim = 4;  // a head of one pair does not depend on the base
    if (spec.head_dim == 0) spec.width = std::max(spec.width, 4 * spec.heads);
  }
  if (choices.count("tie_word_embeddings")) spec.tie_word_embeddings = draw.chance(40);
}

ModelSpec random_spec(Draw& draw, const std::string& family) {
  ModelSpec spec = standard_spec(family);
  spec.layers = draw.pick(std::vector<int>{1, 1, 1, 2, 2, 3});
  spec.heads = draw.pick(std::vector<int>{1, 1, 2, 4});
  spec.width = spec.heads * draw.pick(std::vector<int>{2, 2, 4, 4, 8});
  spec.vocab = draw.pick(std::vector<int>{2, 3, 4, 5, 8, 16, 32});
  spec.context = draw.pick(std::vector<int>{8, 12, 16, 24, 32});
  const auto& activations = reference::find_architecture(family)->activations;
  if (activations.size() > 1 && draw.chance(15)) spec.activation = activations[1];
  if (draw.chance(10)) spec.norm_epsilon = 1e-3;
  choose(draw, reference::find_architecture(family)->choices, spec);
  spec.weights.seed = static_cast<std::uint64_t>(draw.between(0, 999'999));
  return spec;
}

}  // namespace

std::uint64_t hash_seed(std::uint64_t seed, const std::string& text, std::uint64_t number) {
  const auto mix = [](std::uint64_t z) {  // SplitMix64 (Steele, Lea, Flood 2014)
    z += 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  };
  std::uint64_t h = mix(seed);
  for (const char c : text) h = mix(h ^ static_cast<unsigned char>(c));
  return mix(h ^ number);
}

std::vector<ModelSpec> model_pool(std::uint64_t seed, const Configuration& configuration) {
  constexpr double kDearLoad_s = 0.2;
  RapidDraw draw(seed);
  const std::vector<std::string> families = families_of(configuration);
  const auto last = static_cast<std::int64_t>(families.size()) - 1;
  auto family = static_cast<std::size_t>(draw.between(0, last));  // the second model is of the next one
  std::vector<ModelSpec> out = {random_spec(draw, families[family])};
  if (configuration.declarations.load_cost_s.value_or(0) < kDearLoad_s)
    out.push_back(random_spec(draw, families[(family + 1) % families.size()]));
  return out;
}

Case generate_case(const Request& request, Oracle& oracle) {
  RapidDraw draw(request.seed);
  Case out;
  out.law = request.law->name;
  out.backend = request.subject;
  const ModelPtr model = draw.pick(request.pool);
  Builder builder(request, model, draw, oracle);
  out.trace.events.push_back(Load{"m", model->spec});
  constexpr int kPrelude = 20;  // of a hundred; a chunk's earlier cases are a prelude too
  if (draw.chance(kPrelude)) out.trace.events.push_back(Run{"m", builder.run(false)});
  std::vector<Step> last = builder.run(true);
  if (request.law->aim.vary != nullptr) out.vary = request.law->aim.vary(last, model->spec, draw);
  out.trace.events.push_back(Run{"m", std::move(last)});
  return out;
}

std::optional<std::string> misfit(const Case& value, const Property& law, const Configuration& configuration, Oracle& oracle) {
  std::map<std::string, ModelSpec> held;
  for (const Event& event : value.trace.events) {
    if (const auto* load = std::get_if<Load>(&event)) {
      if (const auto wrong = check_model_spec(load->spec)) return to_string(*wrong);
      const auto& families = configuration.declarations.architectures;
      if (!families.empty() && std::count(families.begin(), families.end(), load->spec.family) == 0)
        return "family " + load->spec.family + " is not declared";
      held[load->handle] = load->spec;
    }
    if (const auto* unload = std::get_if<Unload>(&event)) held.erase(unload->handle);
    const auto* run = std::get_if<Run>(&event);
    if (run == nullptr) continue;
    const auto spec = held.find(run->handle);
    if (spec == held.end()) return "model " + run->handle + " is not loaded";
    ModelPtr model;  // built only where a loop's tokens must be known
    Shadow shadow(spec->second, configuration);
    for (const Step& step : run->steps) {
      const Expectation e = shadow.expect(step);
      if (malformed(step)) return std::string(op_name(step)) + " has no text form";
      if (e.demand == Demand::kUndefined) return std::string(op_name(step)) + ": " + e.fault + " is not defined here";
      if (e.demand == Demand::kAnswer) {
        if (std::holds_alternative<Generate>(step) && !model) {
          Result<ModelPtr> built = load_model(spec->second);
          if (!built) return to_string(built.error());
          model = *built;
        }
        shadow.assume(step, predict_emitted(step, shadow, model, oracle));
        continue;
      }
      const bool overflow = e.fault == "past_capacity" || e.fault == "past_context";
      const bool prelude = run != value.trace.last_run();  // may be another law's case
      if (!prelude && !law.always && !law.aim.bad_calls && !(law.aim.overflow && overflow))
        return std::string(op_name(step)) + ": " + e.fault;
    }
  }
  return std::nullopt;
}

}  // namespace cachet
