// Passes that make calls plainer: simpler calls for richer ones, optional fields dropped, numbers and ids lowered.
#include <algorithm>

#include "harness/shrink_search.h"
#include "harness/step_parts.h"

namespace cachet {
namespace {

/// A loop that emits nothing the failure needs is an append; a call that only has to be refused, or to be there, is the plainest
/// append that does.
void plainer_calls(Search& search) {
  for (const Tokens& row : {Tokens{}, Tokens{0}, Tokens{-1}})
    offer_at_each(search, [&row](Case& value, At at) {
      Step& step = step_at(value, at);
      if (session_of(step).empty() || std::holds_alternative<Open>(step)) return false;
      step = Append{session_of(step), {row}, {}, Want::kLast, true};
      return true;
    });
  offer_at_each(search, [](Case& value, At at) {
    Step& step = step_at(value, at);
    const auto* generate = std::get_if<Generate>(&step);
    if (generate == nullptr || !generate->tokens) return false;
    step = Append{generate->session, *generate->tokens, {}, Want::kLast, true};
    return true;
  });
}

void drop_fields(Search& search) {
  const std::vector<bool (*)(Step&)> drops = {
      [](Step& s) {
        auto* l = loop_of(s);
        return l && l->new_tokens > 1 && (l->new_tokens = 1, true);
      },
      [](Step& s) {
        auto* l = loop_of(s);
        return l && (l->stop || l->min_new > 0) && (l->stop.reset(), l->min_new = 0, true);
      },
      [](Step& s) {
        auto* l = loop_of(s);
        return l && l->min_new > 0 && (l->min_new = 0, true);
      },
      [](Step& s) {
        auto* l = loop_of(s);
        return l && l->stop && l->stop->size() > 1 && (l->stop->erase(l->stop->begin() + 1, l->stop->end()), true);
      },
      [](Step& s) {
        auto* l = loop_of(s);
        return l && l->stop && l->stop->size() > 1 && (l->stop->erase(l->stop->begin()), true);
      },
      [](Step& s) {
        auto* l = loop_of(s);
        return l && !l->extras.empty() && (l->extras.clear(), true);
      },
      [](Step& s) {
        auto* c = std::get_if<Complete>(&s);
        return c && c->capacity && (c->capacity.reset(), true);
      },
      [](Step& s) {
        auto* g = std::get_if<Generate>(&s);
        return g && g->tokens && (g->tokens.reset(), true);
      },
      [](Step& s) {
        auto* a = std::get_if<Append>(&s);
        return a && a->want == Want::kAll && (a->want = Want::kLast, true);
      },
      [](Step& s) {
        auto* a = std::get_if<Append>(&s);
        return a && !a->keep && (a->keep = true);
      },
      [](Step& s) {
        auto* a = std::get_if<Append>(&s);
        return a && !a->pad.empty() && (a->pad.clear(), true);
      },
      [](Step& s) {
        auto* l = loop_of(s);
        return l && l->new_tokens > 2 && (--l->new_tokens, true);
      },
      [](Step& s) {
        auto* l = loop_of(s);
        return l && l->new_tokens > 1 && l->min_new > 1 && (--l->new_tokens, --l->min_new, true);
      },
  };
  for (const auto drop : drops) offer_at_each(search, [drop](Case& value, At at) { return drop(step_at(value, at)); });
}

/// Numbers of a step that may be lowered, each with the lowest value it may take.
struct Number {
  int* value;
  int least;
};
std::vector<Number> numbers_of(Step& step) {
  std::vector<Number> out;
  if (auto* open = std::get_if<Open>(&step)) out.push_back({&open->capacity, 1});
  if (auto* complete = std::get_if<Complete>(&step); complete && complete->capacity) out.push_back({&*complete->capacity, 1});
  if (auto* crop = std::get_if<Crop>(&step))
    for (int& n : crop->length) out.push_back({&n, 0});
  if (Loop* loop = loop_of(step)) out.insert(out.end(), {{&loop->new_tokens, 1}, {&loop->min_new, 1}});
  return out;
}

/// Each number from the least upwards: the first that still fails is the lowest.
void lower_numbers(Search& search) {
  constexpr int kMostTries = 10;
  for (int i = static_cast<int>(places(search.best()).size()) - 1; i >= 0; --i) {
    const At at = places(search.best())[static_cast<std::size_t>(i)];
    Case probe = search.best();
    const std::size_t count = numbers_of(step_at(probe, at)).size();
    for (std::size_t k = 0; k < count && !search.exhausted(); ++k) {
      Case best = search.best();
      const Number now = numbers_of(step_at(best, at))[k];
      const bool capacity = std::holds_alternative<Open>(step_at(best, at));
      const int from =
          capacity ? std::min(now.least - 1 + longest_history(best), *now.value - 1) : now.least;  // what fits tightly first
      std::vector<int> tries;
      for (int v = std::max(from, now.least); v < *now.value && static_cast<int>(tries.size()) < kMostTries; ++v)
        tries.push_back(v);
      for (int v = std::max(from, now.least) - 1; capacity && v >= now.least && static_cast<int>(tries.size()) < kMostTries; --v)
        tries.push_back(v);
      for (const int v : tries) {
        Case candidate = search.best();
        *numbers_of(step_at(candidate, at))[k].value = v;
        if (search.offer(std::move(candidate)) && !capacity) break;
      }
    }
  }
}

/// The capacity of a session and its crops or its loops, which a boundary may tie together.
void lower_together(Search& search) {
  offer_at_each(search, [](Case& value, At at) {
    auto* open = std::get_if<Open>(&step_at(value, at));
    if (open == nullptr || open->capacity < 2) return false;
    bool loops = false;
    for (Step& step : run_at(value, at).steps)
      if (Loop* loop = loop_of(step); loop && session_of(step) == open->session && loop->new_tokens > 1)
        loops = (--loop->new_tokens, true);
    --open->capacity;
    return loops;
  });
  offer_at_each(search, [](Case& value, At at) {
    auto* open = std::get_if<Open>(&step_at(value, at));
    if (open == nullptr || open->capacity < 2) return false;
    bool crops = false;
    for (Step& step : run_at(value, at).steps)
      if (auto* crop = std::get_if<Crop>(&step); crop && crop->session == open->session)
        for (int& n : crop->length) crops |= n > 0 && (--n, true);
    --open->capacity;
    return crops;
  });
}

/// Ids: all zero, all of one call zero, then one by one upwards. Equal prompts must change alike, so an id is also lowered
/// wherever it stands.
void lower_tokens(Search& search) {
  const auto inside = [](Token t) { return t > 0; };
  Case zeros = search.best();
  for (const At at : places(zeros))
    if (Rows* rows = rows_of(step_at(zeros, at)))
      for (Tokens& row : *rows)
        for (Token& t : row)
          if (inside(t)) t = 0;
  search.offer(std::move(zeros));
  for (Token id = 1; id < 64 && !search.exhausted(); ++id) {
    for (Token to = 0; to < std::min<Token>(id, 4); ++to) {
      Case candidate = search.best();
      bool any = false;
      for (const At at : places(candidate)) {
        Step& step = step_at(candidate, at);
        if (Rows* rows = rows_of(step))
          for (Tokens& row : *rows)
            for (Token& t : row) any |= t == id && (t = to, true);
        if (Loop* loop = loop_of(step); loop && loop->stop)
          for (Token& t : *loop->stop) t = t == id ? to : t;
      }
      if (!any || search.offer(std::move(candidate))) break;
    }
  }
  offer_at_each(search, [](Case& value, At at) {  // one id that no model knows stands for all of them
    const ModelSpec* spec = value.trace.spec_at(at.event, run_at(value, at).handle);
    bool any = false;
    if (Rows* rows = rows_of(step_at(value, at)); rows != nullptr && spec != nullptr)
      for (Tokens& row : *rows)
        for (Token& t : row) any |= (t < -1 || t >= spec->vocab) && (t = -1, true);
    return any;
  });
  for (int i = 0; i < static_cast<int>(places(search.best()).size()); ++i) {
    const At at = places(search.best())[static_cast<std::size_t>(i)];
    const Rows* rows = rows_of(step_at(search.best(), at));
    if (rows == nullptr) continue;
    for (std::size_t r = 0; r < rows_of(step_at(search.best(), at))->size(); ++r)
      for (std::size_t t = 0; t < (*rows_of(step_at(search.best(), at)))[r].size(); ++t)
        for (Token to = 0; to < std::min<Token>((*rows_of(step_at(search.best(), at)))[r][t], 3) && !search.exhausted(); ++to) {
          Case candidate = search.best();
          (*rows_of(step_at(candidate, at)))[r][t] = to;
          if (search.offer(std::move(candidate))) break;
        }
  }
}

/// Each stop id from zero upwards: the first that still fails is the lowest.
void lower_stops(Search& search) {
  constexpr Token kMostTries = 4;
  for (std::size_t k = 0; k < 2; ++k)
    for (Token to = 0; to < kMostTries; ++to)
      offer_at_each(search, [&](Case& value, At at) {
        Loop* loop = loop_of(step_at(value, at));
        return loop && loop->stop && k < loop->stop->size() && (*loop->stop)[k] > to && ((*loop->stop)[k] = to, true);
      });
}

void lower_vary(Search& search) {
  for (int i = static_cast<int>(search.best().vary.size()) - 1; i >= 0; --i) {
    Case dropped = search.best();
    dropped.vary.erase(dropped.vary.begin() + i);
    if (search.offer(std::move(dropped))) continue;
    const auto at = static_cast<std::size_t>(i);
    for (std::int64_t v = 0; v < std::min<std::int64_t>(search.best().vary[at], 4) && !search.exhausted(); ++v) {
      Case candidate = search.best();
      candidate.vary[at] = v;
      if (search.offer(std::move(candidate))) break;
    }
  }
}

}  // namespace

std::vector<ShrinkPass> value_passes() {
  return {{"plainer_calls", plainer_calls}, {"drop_fields", drop_fields},       {"lower_vary", lower_vary},
          {"lower_numbers", lower_numbers}, {"lower_together", lower_together}, {"lower_tokens", lower_tokens},
          {"lower_stops", lower_stops}};
}

}  // namespace cachet
