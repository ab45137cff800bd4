// Passes that make calls smaller: fewer rows, shorter token lists, alone or coupled with the capacity, context and crops that a
// boundary ties them to, and tokens moved between appends to where the normal form has them.
#include <algorithm>
#include <tuple>

#include "harness/shrink_search.h"
#include "harness/step_parts.h"

namespace cachet {
namespace {

/// Keeps only row `keep` (or drops only it) of one session of a run, or of one complete.
template <typename T>
void select(std::vector<T>& list, std::size_t row, bool only) {
  if (row >= list.size()) return;
  if (only)
    list = {list[row]};
  else if (list.size() > 1)
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(row));
}

/// A session's later runs keep its name, not its life: calls on it there are told the same rows.
void select_rows(Case& value, At at, std::size_t row, bool only) {
  Step& first = step_at(value, at);
  if (auto* complete = std::get_if<Complete>(&first)) {
    select(complete->tokens, row, only);
    return;
  }
  auto& open = std::get<Open>(first);
  const std::string session = open.session;
  open.rows = only ? 1 : open.rows - 1;
  for (const At later : places(value)) {
    if (std::tie(later.event, later.step) <= std::tie(at.event, at.step)) continue;
    Step& s = step_at(value, later);
    if (session_of(s) != session) continue;
    if (std::holds_alternative<Open>(s)) break;
    if (Rows* rows = rows_of(s)) select(*rows, row, only);
    if (auto* append = std::get_if<Append>(&s)) select(append->pad, row, only);
    if (auto* crop = std::get_if<Crop>(&s)) select(crop->length, row, only);
  }
}

int rows_at(const Step& step) {
  if (const auto* open = std::get_if<Open>(&step)) return open->rows;
  if (const auto* complete = std::get_if<Complete>(&step)) return static_cast<int>(complete->tokens.size());
  return 1;
}

void fewer_rows(Search& search) {
  for (const bool only : {true, false}) {
    for (int i = 0; i < static_cast<int>(places(search.best()).size()); ++i) {
      const At at = places(search.best())[static_cast<std::size_t>(i)];
      for (int row = 0;
           row < rows_at(step_at(search.best(), at)) && rows_at(step_at(search.best(), at)) > 1 && !search.exhausted(); ++row) {
        Case candidate = search.best();
        select_rows(candidate, at, static_cast<std::size_t>(row), only);
        search.offer(std::move(candidate));
      }
    }
  }
}

/// Lengths to try below n: the smallest first, since a size that does not fit costs nothing.
std::vector<int> below(int n) {
  std::vector<int> out;
  for (const int m : {1, 2, n / 2, n - 1})
    if (m >= 1 && m < n && std::find(out.begin(), out.end(), m) == out.end()) out.push_back(m);
  return out;
}

int longest(const Rows& rows) {
  std::size_t n = 0;
  for (const Tokens& row : rows) n = std::max(n, row.size());
  return static_cast<int>(n);
}

void cut(Rows& rows, int to, bool front) {
  for (Tokens& row : rows) {
    if (static_cast<int>(row.size()) <= to) continue;
    const auto drop = static_cast<std::ptrdiff_t>(row.size()) - to;
    if (front)
      row.erase(row.begin(), row.begin() + drop);
    else
      row.resize(static_cast<std::size_t>(to));
  }
}

/// What may have to shrink with a token list so that a boundary stays where it is.
enum Coupled { kAlone = 0, kCapacity = 1, kCrops = 2, kContext = 4, kCropsUp = 8 };

void couple(Case& value, At at, int by, int with) {
  Run& run = run_at(value, at);
  Step& here = run.steps[static_cast<std::size_t>(at.step)];
  if (auto* complete = std::get_if<Complete>(&here); complete && (with & kCapacity) && complete->capacity)
    *complete->capacity = std::max(1, *complete->capacity - by);
  const std::string session = session_of(here);
  for (Step& step : run.steps) {
    if (session.empty() || session_of(step) != session) continue;
    if (auto* open = std::get_if<Open>(&step); open && (with & kCapacity)) open->capacity = std::max(1, open->capacity - by);
    if (auto* crop = std::get_if<Crop>(&step); crop && (with & kCrops))
      for (int& n : crop->length) n = n > by ? n - by : std::min(n, 1);
    if (auto* crop = std::get_if<Crop>(&step); crop && (with & kCropsUp))  // what is appended after it ends where it did
      for (int& n : crop->length) n += by;
  }
  if (with & kContext)
    for (Event& event : value.trace.events)
      if (auto* load = std::get_if<Load>(&event); load && load->handle == run.handle)
        load->spec.context = std::max(1, load->spec.context - by);
}

void shorten(Search& search) {
  for (int i = 0; i < static_cast<int>(places(search.best()).size()); ++i) {
    const At at = places(search.best())[static_cast<std::size_t>(i)];
    const auto length = [&] {
      const Rows* rows = rows_of(step_at(search.best(), at));
      return rows == nullptr ? 0 : longest(*rows);
    };
    const auto once = [&] {
      const int n = length();
      for (const int to : below(n))
        for (const int with : {static_cast<int>(kAlone), static_cast<int>(kCrops), static_cast<int>(kCapacity),
                               kCapacity | kCrops, static_cast<int>(kContext), kCapacity | kContext, static_cast<int>(kCropsUp)})
          for (const bool front : {false, true}) {
            Case candidate = search.best();
            cut(*rows_of(step_at(candidate, at)), to, front);
            couple(candidate, at, n - to, with);
            if (search.offer(std::move(candidate))) return true;
          }
      return false;
    };
    while (length() > 1 && !search.exhausted() && once()) {}
  }
}

/// Loops that emit fewer tokens, with what a boundary ties to where they end.
void shorten_loops(Search& search) {
  for (int i = 0; i < static_cast<int>(places(search.best()).size()); ++i) {
    const At at = places(search.best())[static_cast<std::size_t>(i)];
    const auto emits = [&] {
      Case probe = search.best();
      const Loop* loop = loop_of(step_at(probe, at));
      return loop == nullptr ? 0 : loop->new_tokens;
    };
    const auto once = [&] {
      const int n = emits();
      for (const int to : below(n))
        for (const int with : {static_cast<int>(kCapacity), static_cast<int>(kCrops), kCapacity | kCrops,
                               static_cast<int>(kContext), kCapacity | kContext}) {
          Case candidate = search.best();
          loop_of(step_at(candidate, at))->new_tokens = to;
          couple(candidate, at, n - to, with);
          if (search.offer(std::move(candidate))) return true;
        }
      return false;
    };
    while (emits() > 1 && !search.exhausted() && once()) {}
  }
}

/// Prompts that repeat or extend each other, and rows of one call, must shrink together.
void shorten_together(Search& search) {
  const auto most = [&] {
    int n = 0;
    for (const At at : places(search.best()))
      if (const Rows* rows = rows_of(step_at(search.best(), at))) n = std::max(n, longest(*rows));
    return n;
  };
  const auto once = [&] {
    const int n = most();
    for (const int to : below(n))
      for (const bool front : {false, true})
        for (const bool relative : {false, true}) {  // to at most `to` tokens each, or each by as many
          Case candidate = search.best();
          for (const At at : places(candidate))
            if (Rows* rows = rows_of(step_at(candidate, at)))
              cut(*rows, relative ? std::max(longest(*rows) - (n - to), 1) : to, front);
          if (search.offer(std::move(candidate))) return true;
        }
    return false;
  };
  while (most() > 1 && !search.exhausted() && once()) {}
}

/// The same number of tokens, the first appends as short as they may be: one split of many that fail alike.
void move_tokens(Search& search) {
  offer_at_each(search, [](Case& value, At at) {
    Run& run = run_at(value, at);
    Rows* from = rows_of(run.steps[static_cast<std::size_t>(at.step)]);
    const std::string session = session_of(run.steps[static_cast<std::size_t>(at.step)]);
    if (from == nullptr || session.empty() || longest(*from) < 2) return false;
    for (std::size_t i = static_cast<std::size_t>(at.step) + 1; i < run.steps.size(); ++i) {
      if (session_of(run.steps[i]) != session) continue;
      Rows* to = rows_of(run.steps[i]);
      if (to == nullptr || to->size() != from->size()) continue;
      for (std::size_t r = 0; r < to->size(); ++r) {
        if ((*from)[r].size() < 2) return false;
        (*to)[r].insert((*to)[r].begin(), (*from)[r].begin() + 1, (*from)[r].end());
        (*from)[r].resize(1);
      }
      return true;
    }
    return false;
  });
}

}  // namespace

std::vector<ShrinkPass> length_passes() {
  return {{"fewer_rows", fewer_rows},
          {"shorten_together", shorten_together},
          {"shorten", shorten},
          {"shorten_loops", shorten_loops},
          {"move_tokens", move_tokens}};
}

}  // namespace cachet
