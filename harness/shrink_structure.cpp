// Passes that remove or join whole parts of a case: runs, models, sessions, steps.
#include <algorithm>
#include <set>
#include <utility>

#include "harness/shrink_search.h"
#include "harness/step_parts.h"

namespace cachet {
namespace {

/// The case without loads and unloads of models that no run uses.
Case without_unused_models(Case value) {
  std::set<std::string> used;
  for (const Event& event : value.trace.events)
    if (const auto* run = std::get_if<Run>(&event)) used.insert(run->handle);
  std::erase_if(value.trace.events, [&](const Event& event) {
    if (const auto* load = std::get_if<Load>(&event)) return used.count(load->handle) == 0;
    if (const auto* unload = std::get_if<Unload>(&event)) return used.count(unload->handle) == 0;
    return false;
  });
  return value;
}

bool offer_tidied(Search& search, const Case& candidate) {
  Case tidy = without_unused_models(candidate);
  return search.offer(tidy) || (!(tidy == candidate) && search.offer(candidate));
}

/// Zeller's ddmin over the runs before the last: all of them, halves, quarters ... one by one.
void drop_runs(Search& search) {
  const auto preludes = [&] { return search.best().trace.runs() - 1; };
  for (int chunk = preludes(); chunk >= 1 && !search.exhausted(); chunk = std::min(chunk / 2, std::max(preludes(), 1))) {
    for (int begin = 0; begin < preludes() && !search.exhausted();) {
      const std::vector<int> runs = search.best().trace.run_indices();
      Case candidate = search.best();
      for (int i = std::min(begin + chunk, preludes()) - 1; i >= begin; --i)
        candidate.trace.events.erase(candidate.trace.events.begin() + runs[static_cast<std::size_t>(i)]);
      if (!offer_tidied(search, candidate)) begin += chunk;
    }
    if (chunk == 1) break;
  }
}

/// Every run on the model of the last.
void one_model(Search& search) {
  const Run* last = search.best().trace.last_run();
  if (last == nullptr) return;
  Case candidate = search.best();
  for (Event& event : candidate.trace.events)
    if (auto* run = std::get_if<Run>(&event)) run->handle = last->handle;
  std::stable_sort(candidate.trace.events.begin(), candidate.trace.events.end(), [](const Event& a, const Event& b) {
    return std::holds_alternative<Load>(a) && !std::holds_alternative<Load>(b);
  });
  offer_tidied(search, candidate);
}

void drop_events(Search& search) {
  for (int i = static_cast<int>(search.best().trace.events.size()) - 1; i >= 0; --i) {
    if (i >= static_cast<int>(search.best().trace.events.size()) ||
        std::holds_alternative<Run>(search.best().trace.events[static_cast<std::size_t>(i)]))
      continue;
    Case candidate = search.best();
    candidate.trace.events.erase(candidate.trace.events.begin() + i);
    search.offer(std::move(candidate));
  }
}

/// The steps with one session in the place of two: the second is not opened, and the first is as large as both.
std::vector<Step> with_one_session(std::vector<Step> steps, const std::string& keep, const std::string& gone) {
  int more = 0;
  std::erase_if(steps, [&](const Step& step) {
    const auto* open = std::get_if<Open>(&step);
    return open != nullptr && open->session == gone && (more = std::max(more, open->capacity), true);
  });
  for (Step& step : steps)
    std::visit(
        [&](auto& s) {
          if constexpr (requires { s.session; })
            if (s.session == gone) s.session = keep;
        },
        step);
  for (Step& step : steps)
    if (auto* open = std::get_if<Open>(&step); open != nullptr && open->session == keep) open->capacity += more;
  return steps;
}

/// Two sessions of a run as one.
void merge_sessions(Search& search) {
  offer_at_each(search, [](Case& value, At at) {
    std::vector<Step>& steps = run_at(value, at).steps;
    const auto* gone = std::get_if<Open>(&steps[static_cast<std::size_t>(at.step)]);
    for (int i = 0; gone != nullptr && i < at.step; ++i)
      if (const auto* keep = std::get_if<Open>(&steps[static_cast<std::size_t>(i)]); keep && keep->session != gone->session) {
        steps = with_one_session(steps, std::string(keep->session), std::string(gone->session));
        return true;
      }
    return false;
  });
}

/// Two neighbouring runs of one model as one run, with sessions of their own or with the first run's.
void merge_runs(Search& search) {
  for (int i = search.best().trace.runs() - 1; i >= 1 && !search.exhausted(); --i) {
    const std::vector<int> runs = search.best().trace.run_indices();
    Case candidate = search.best();
    auto& events = candidate.trace.events;
    Run& first = std::get<Run>(events[static_cast<std::size_t>(runs[static_cast<std::size_t>(i - 1)])]);
    const Run& second = std::get<Run>(events[static_cast<std::size_t>(runs[static_cast<std::size_t>(i)])]);
    if (first.handle != second.handle) continue;
    std::vector<Step> later = second.steps;
    for (Step& step : later)  // told apart until they are one
      std::visit(
          [](auto& s) {
            if constexpr (requires { s.session; })
              if (!s.session.empty()) s.session += "2";
          },
          step);
    std::vector<Step> apart = first.steps, shared = first.steps;
    apart.insert(apart.end(), second.steps.begin(), second.steps.end());
    shared.insert(shared.end(), later.begin(), later.end());
    for (const Step& step : second.steps)
      if (const std::string name = session_of(step); !name.empty()) shared = with_one_session(shared, name, name + "2");
    first.steps = apart;
    events.erase(events.begin() + runs[static_cast<std::size_t>(i)]);
    if (search.offer(candidate) || shared == apart) continue;
    std::get<Run>(candidate.trace.events[static_cast<std::size_t>(runs[static_cast<std::size_t>(i - 1)])]).steps = shared;
    search.offer(std::move(candidate));
  }
}

void drop_sessions(Search& search) {
  std::set<std::pair<int, std::string>> sessions;
  for (const At at : places(search.best()))
    if (const std::string name = session_of(step_at(search.best(), at)); !name.empty()) sessions.insert({at.event, name});
  for (const auto& [event, name] : sessions) {
    Case candidate = search.best();
    if (event >= static_cast<int>(candidate.trace.events.size())) continue;
    Run* run = std::get_if<Run>(&candidate.trace.events[static_cast<std::size_t>(event)]);
    if (run == nullptr || std::erase_if(run->steps, [&](const Step& s) { return session_of(s) == name; }) == 0) continue;
    search.offer(std::move(candidate));
  }
}

Case without(const Case& value, const std::vector<At>& all, int begin, int count) {
  Case out = value;
  for (int i = begin + count - 1; i >= begin; --i) {
    Run& run = run_at(out, all[static_cast<std::size_t>(i)]);
    run.steps.erase(run.steps.begin() + all[static_cast<std::size_t>(i)].step);
  }
  return out;
}

/// Chunks of steps from the end, halving: the last calls are seldom what a failure needs.
void drop_steps(Search& search) {
  for (int chunk = std::max(search.best().trace.steps() / 2, 1); chunk >= 1 && !search.exhausted(); chunk /= 2) {
    for (int end = search.best().trace.steps(); end > 0 && !search.exhausted(); end -= chunk) {
      const std::vector<At> all = places(search.best());
      end = std::min(end, static_cast<int>(all.size()));
      const int begin = std::max(end - chunk, 0);
      if (begin < end) search.offer(without(search.best(), all, begin, end - begin));
    }
  }
}

/// Two steps that only go together: a reset and the append after it, a crop and what it made room for.
void drop_pairs(Search& search) {
  constexpr int kMostSteps = 10;
  if (search.best().trace.steps() > kMostSteps) return;
  for (int j = search.best().trace.steps() - 1; j >= 1; --j)
    for (int i = j - 1; i >= 0; --i) {
      const std::vector<At> all = places(search.best());
      if (j >= static_cast<int>(all.size())) break;
      search.offer(without(without(search.best(), all, j, 1), all, i, 1));
    }
}

/// What a step commits of tokens, as far as the text says: those of an append, those of a generate and then zeros.
std::optional<Rows> committed(const Step& step) {
  if (const auto* append = std::get_if<Append>(&step)) return append->keep ? std::optional<Rows>(append->tokens) : std::nullopt;
  const auto* generate = std::get_if<Generate>(&step);
  if (generate == nullptr || !generate->tokens) return std::nullopt;
  Rows out = *generate->tokens;
  for (Tokens& row : out) row.resize(row.size() + static_cast<std::size_t>(generate->loop.new_tokens), 0);
  return out;
}

/// An append or a loop joins the next one of its session: as many tokens in fewer calls.
void merge_appends(Search& search) {
  offer_at_each(search, [](Case& value, At at) {
    Run& run = run_at(value, at);
    Step& later = run.steps[static_cast<std::size_t>(at.step)];
    auto* generate = std::get_if<Generate>(&later);
    if (generate == nullptr && !std::holds_alternative<Append>(later)) return false;
    for (int i = at.step - 1; i >= 0; --i) {
      const Step& step = run.steps[static_cast<std::size_t>(i)];
      if (session_of(step) != session_of(later) || std::holds_alternative<Length>(step)) continue;
      std::optional<Rows> rows = committed(step);
      if (!rows) return false;
      if (const Rows* own = rows_of(std::as_const(later))) {
        if (own->size() != rows->size()) return false;
        for (std::size_t r = 0; r < rows->size(); ++r) (*rows)[r].insert((*rows)[r].end(), (*own)[r].begin(), (*own)[r].end());
      }
      (generate != nullptr ? generate->tokens.emplace() : std::get<Append>(later).tokens) = std::move(*rows);
      run.steps.erase(run.steps.begin() + i);
      return true;
    }
    return false;
  });
}

/// Neighbouring steps that do not touch the same session in the order that reads simpler.
void swap_neighbours(Search& search) {
  offer_at_each(search, [](Case& value, At at) {
    std::vector<Step>& steps = run_at(value, at).steps;
    const auto i = static_cast<std::size_t>(at.step);
    if (i + 1 >= steps.size() || session_of(steps[i]) == session_of(steps[i + 1])) return false;
    std::swap(steps[i], steps[i + 1]);
    return true;
  });
}

}  // namespace

std::vector<ShrinkPass> structure_passes() {
  return {{"drop_runs", drop_runs},           {"one_model", one_model},
          {"drop_events", drop_events},       {"merge_runs", merge_runs},
          {"drop_steps", drop_steps},         {"drop_sessions", drop_sessions},
          {"merge_sessions", merge_sessions}, {"drop_pairs", drop_pairs},
          {"merge_appends", merge_appends},   {"swap_neighbours", swap_neighbours}};
}

}  // namespace cachet
