// The search: one consider(), a fixed point over all passes, and a common starting point for normal forms.
#include "harness/shrinker.h"

#include "harness/generator.h"
#include "harness/order.h"
#include "harness/shrink_search.h"
#include "harness/text.h"

namespace cachet {
namespace {

/// The counts and kinds of calls of a case.
std::vector<std::int64_t> skeleton(const Case& value) {
  std::vector<std::int64_t> r = rank(value);
  r.resize(kSkeleton);
  return r;
}

}  // namespace

Search::Search(const Case& failing, const Verdict& verdict, Judge& judge, const Property& law, const Configuration& configuration,
               const ShrinkOptions& options)
    : best_(failing),
      verdict_(verdict),
      judge_(judge),
      law_(law),
      configuration_(configuration),
      options_(options),
      target_(signature_of(failing.law, verdict)) {}

void Search::run(const std::string& name, const std::function<void(Search&)>& pass) {
  current_ = 0;
  while (current_ < passes_.size() && passes_[current_].name != name) ++current_;
  if (current_ == passes_.size()) passes_.push_back({name, 0, 0, 0});
  pass(*this);
}

bool Search::offer(Case candidate) {
  ++passes_[current_].proposed;
  Case fitted = repaired(candidate);
  if (consider(candidate)) return true;
  if (!(fitted == candidate) && consider(fitted)) return true;
  if (!on_standard_too_ || skeleton(fitted) >= skeleton(best_)) return false;
  const std::optional<Case> standard = on_standard_model(fitted);
  return standard && consider(*standard);
}

bool Search::jump(Case candidate) {
  return !exhausted() && tried_.count(print_case(candidate)) == 0 && !misfit(candidate, law_, configuration_, judge_.oracle()) &&
         fails_alike(candidate);
}

void Search::back(Mark mark) {
  best_ = std::move(mark.best);
  verdict_ = std::move(mark.verdict);
  neighbours_ = std::move(mark.neighbours);
}

bool Search::consider(const Case& candidate) {
  if (exhausted() || !simpler(candidate, best_)) return false;
  const std::string text = print_case(candidate);
  if (const auto known = tried_.find(text); known != tried_.end()) {
    neighbours_.push_back({passes_[current_].name, known->second, text});
    return false;
  }
  if (misfit(candidate, law_, configuration_, judge_.oracle())) return false;
  return fails_alike(candidate);
}

bool Search::fails_alike(const Case& candidate) {
  ++passes_[current_].evaluated;
  ++evaluations_;
  Verdict verdict = judge_.replay(candidate);
  if (is_failure(verdict)) {
    const Signature signature = signature_of(candidate.law, verdict);
    if (signature == target_) {
      ++passes_[current_].useful;
      best_ = candidate;
      verdict_ = std::move(verdict);
      neighbours_.clear();
      return true;
    }
    slipped_.emplace(signature, candidate);
  }
  const std::string text = print_case(candidate);
  const std::string name = is_failure(verdict) ? to_string(signature_of(candidate.law, verdict)) : verdict_name(verdict);
  tried_[text] = name;
  neighbours_.push_back({passes_[current_].name, name, text});
  return false;
}

ShrinkResult Search::result() && {
  return {std::move(best_),       std::move(verdict_), target_, evaluations_, exhausted(), std::move(passes_),
          std::move(neighbours_), std::move(slipped_)};
}

namespace {

/// Passes until none of them improves the case any more.
void descend(Search& search, const std::vector<ShrinkPass>& passes) {
  for (bool improved = true; improved && !search.exhausted();) {
    const Case before = search.best();
    for (const ShrinkPass& pass : passes) search.run(pass.name, pass.propose);
    improved = !(search.best() == before);
  }
}

/// Goes to the first of the cases that fails alike.
bool jump_to_first(Search& search, const std::string& pass, std::vector<Case> cases, long most) {
  bool jumped = false;
  search.run(pass, [&](Search& s) {
    const long end = s.evaluations() + most;
    for (Case& form : cases)
      if (s.evaluations() >= end || (jumped = s.jump(std::move(form)))) break;
  });
  return jumped;
}

/// Descends from each paraphrase that fails alike; true as soon as one ends in a simpler case than the best.
bool detour(Search& search, const std::vector<ShrinkPass>& passes) {
  for (Case& other : paraphrases(search.best())) {
    const Search::Mark before = search.mark();
    std::vector<Case> forms = {other};
    if (std::optional<Case> standard = on_standard_model(other)) forms.push_back(std::move(*standard));
    for (std::size_t i = 0, plain = forms.size(); i < plain; ++i) forms.push_back(with_ids_of_one(forms[i]));
    const long most = static_cast<long>(forms.size());
    if (!jump_to_first(search, "paraphrase", std::move(forms), most)) continue;
    descend(search, passes);
    if (simpler(search.best(), before.best)) return true;
    search.back(before);
  }
  return false;
}

/// Whether a failure of this kind shows only where the greedy choice hangs on what is wrong.
bool decided_by_choice(const std::string& kind) { return kind == "tokens" || kind == "token_count" || kind == "stop_reason"; }

/// Local names as a reader expects them: sessions a, b, c in order of appearance in each run, models m, n.
Case renamed(const Case& value) {
  const auto name = [](std::map<std::string, std::string>& names, const std::string& old, char first) -> std::string {
    if (old.empty()) return old;
    const std::string fresh(1, static_cast<char>(first + static_cast<int>(names.size())));
    return names.emplace(old, fresh).first->second;
  };
  Case out = value;
  std::map<std::string, std::string> handles;
  for (Event& event : out.trace.events) {
    std::visit([&](auto& e) { e.handle = name(handles, e.handle, 'm'); }, event);
    Run* run = std::get_if<Run>(&event);
    if (run == nullptr) continue;
    std::map<std::string, std::string> sessions;
    for (Step& step : run->steps)
      std::visit(
          [&](auto& s) {
            if constexpr (requires { s.session; }) s.session = name(sessions, s.session, 'a');
          },
          step);
  }
  constexpr std::size_t kLetters = 6;
  return handles.size() > kLetters ? value : out;
}

}  // namespace

ShrinkResult shrink(const Case& failing, Judge& judge, const std::vector<Property>& laws, const Configuration& configuration,
                    const ShrinkOptions& options) {
  const Property* law = find_law(laws, failing.law);
  const Verdict verdict = judge.replay(failing);
  Search search(failing, verdict, judge, *law, configuration, options);
  const std::vector<ShrinkPass> passes = shrink_passes();
  descend(search, passes);
  // A descent ends where no pass finds a simpler case, which may depend on where it began. So the small cases are tried from
  // below, and every search that came to the same calls goes on from the same model and tokens where those fail too.
  constexpr long kMostBelow = 150, kMostForms = 96;  // of one shrink, and each time
  long below = kMostBelow;
  const auto jump_below = [&] {
    const long before = search.evaluations();
    const bool jumped = jump_to_first(search, "from_below", cases_below(search.best(), search.target().op, configuration), below);
    below -= search.evaluations() - before;
    return jumped;
  };
  const auto settle = [&] {
    for (std::vector<std::int64_t> before; before != skeleton(search.best()) && !search.exhausted();) {
      before = skeleton(search.best());
      if (jump_below() || jump_to_first(search, "canonical", canonical_forms(search.best()), kMostForms)) descend(search, passes);
    }
  };
  settle();
  if (decided_by_choice(search.target().kind)) {
    search.offer_on_standard_model_too();
    descend(search, passes);
    settle();
  }
  while (detour(search, passes)) settle();
  if (Case plain = renamed(search.best()); !(plain == search.best())) jump_to_first(search, "rename", {std::move(plain)}, 1);
  return std::move(search).result();
}

}  // namespace cachet
