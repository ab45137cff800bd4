// The list of passes and what they share: places of steps, and the repair of sizes that a change left too large.
#include <algorithm>
#include <map>

#include "harness/shrink_search.h"
#include "harness/step_parts.h"

namespace cachet {

std::vector<ShrinkPass> shrink_passes() {
  std::vector<ShrinkPass> out;
  for (const auto& part : {structure_passes(), length_passes(), value_passes(), model_passes()})
    out.insert(out.end(), part.begin(), part.end());
  return out;
}

std::vector<At> places(const Case& value) {
  std::vector<At> out;
  for (const int e : value.trace.run_indices())
    for (int s = 0; s < static_cast<int>(std::get<Run>(value.trace.events[static_cast<std::size_t>(e)]).steps.size()); ++s)
      out.push_back({e, s});
  return out;
}

void offer_at_each(Search& search, const std::function<bool(Case&, At)>& change) {
  for (int i = static_cast<int>(places(search.best()).size()) - 1; i >= 0 && !search.exhausted(); --i) {
    const std::vector<At> all = places(search.best());
    if (i >= static_cast<int>(all.size())) continue;
    Case candidate = search.best();
    if (change(candidate, all[static_cast<std::size_t>(i)])) search.offer(std::move(candidate));
  }
}

namespace {

/// Lengths of a run's sessions as its calls make them, ids aside. Loops are taken to emit all they may.
class Lengths {
 public:
  /// Rows of a session, nullptr when it is not open.
  std::vector<int>* find(const std::string& session) {
    const auto at = rows_.find(session);
    return at == rows_.end() ? nullptr : &at->second;
  }

  void follow(const Step& step) {
    if (const auto* open = std::get_if<Open>(&step))
      rows_[open->session].assign(static_cast<std::size_t>(std::max(open->rows, 0)), 0);
    std::vector<int>* rows = find(session_of(step));
    if (rows == nullptr) return;
    const auto* append = std::get_if<Append>(&step);
    if (const Rows* given = rows_of(step); given != nullptr && (append == nullptr || append->keep))
      for (std::size_t r = 0; r < std::min(rows->size(), given->size()); ++r) (*rows)[r] += static_cast<int>((*given)[r].size());
    if (const Loop* loop = loop_of(step))
      for (int& n : *rows) n += loop->new_tokens;
    if (const auto* crop = std::get_if<Crop>(&step))
      for (std::size_t r = 0; r < std::min(rows->size(), crop->length.size()); ++r)
        (*rows)[r] = std::clamp(crop->length[r], 0, (*rows)[r]);
    if (std::holds_alternative<Reset>(step)) std::fill(rows->begin(), rows->end(), 0);
    if (std::holds_alternative<Close>(step)) rows_.erase(session_of(step));
  }

 private:
  std::map<std::string, std::vector<int>> rows_;
};

/// A list with as many entries as the session has rows; missing ones repeat the first.
template <typename T>
void fit(std::vector<T>& list, std::size_t rows) {
  if (!list.empty() && list.size() != rows) list.resize(rows, T(list.front()));
}

}  // namespace

Case repaired(const Case& value) {
  Case out = value;
  for (Event& event : out.trace.events) {
    Run* run = std::get_if<Run>(&event);
    if (run == nullptr) continue;
    Lengths lengths;
    for (Step& step : run->steps) {
      if (const std::vector<int>* rows = lengths.find(session_of(step))) {
        if (Rows* given = rows_of(step)) fit(*given, rows->size());
        if (auto* append = std::get_if<Append>(&step)) fit(append->pad, rows->size());
        if (auto* crop = std::get_if<Crop>(&step)) {
          fit(crop->length, rows->size());
          for (std::size_t r = 0; r < std::min(rows->size(), crop->length.size()); ++r)
            crop->length[r] = std::min(crop->length[r], (*rows)[r]);
        }
      }
      lengths.follow(step);
    }
  }
  return out;
}

int longest_history(const Case& value) {
  int longest = 1;
  for (const Event& event : value.trace.events) {
    const Run* run = std::get_if<Run>(&event);
    if (run == nullptr) continue;
    Lengths lengths;
    for (const Step& step : run->steps) {
      lengths.follow(step);
      if (const std::vector<int>* rows = lengths.find(session_of(step)))
        for (const int n : *rows) longest = std::max(longest, n);
      if (const auto* complete = std::get_if<Complete>(&step))
        for (const Tokens& row : complete->tokens)
          longest = std::max(longest, static_cast<int>(row.size()) + complete->loop.new_tokens);
    }
  }
  return longest;
}

}  // namespace cachet
