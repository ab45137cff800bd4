// Other calls that leave the same tokens behind: starting points of detours, from which a descent may get below a case that no
// simplification improves.
#include <algorithm>

#include "harness/shrink_search.h"
#include "harness/step_parts.h"

namespace cachet {
namespace {

using Change = bool (*)(std::vector<Step>& steps, std::size_t i);

/// The next step of the same session after i, the end where there is none.
std::size_t next_of(const std::vector<Step>& steps, std::size_t i) {
  std::size_t j = i + 1;
  while (j < steps.size() && session_of(steps[j]) != session_of(steps[i])) ++j;
  return j;
}

/// generate T new=k: append T and k tokens more.
bool loop_as_append(std::vector<Step>& steps, std::size_t i) {
  const auto* generate = std::get_if<Generate>(&steps[i]);
  if (generate == nullptr || !generate->tokens) return false;
  Append append{generate->session, *generate->tokens, {}, Want::kLast, true};
  for (Tokens& row : append.tokens) row.resize(row.size() + static_cast<std::size_t>(generate->loop.new_tokens), 0);
  steps[i] = std::move(append);
  return true;
}

/// generate without tokens: with one of its own.
bool loop_with_tokens(std::vector<Step>& steps, std::size_t i) {
  auto* generate = std::get_if<Generate>(&steps[i]);
  if (generate == nullptr || generate->tokens) return false;
  std::size_t rows = 1;
  for (Step& step : steps)
    if (auto* open = std::get_if<Open>(&step); open != nullptr && open->session == generate->session)
      rows = static_cast<std::size_t>(open->rows), ++open->capacity;
  generate->tokens = Rows(rows, Tokens{0});
  return true;
}

/// generate T new=k after other calls: without T, and as many tokens more.
bool loop_emits_its_tokens(std::vector<Step>& steps, std::size_t i) {
  auto* generate = std::get_if<Generate>(&steps[i]);
  if (generate == nullptr || !generate->tokens || generate->tokens->empty()) return false;
  generate->loop.new_tokens += static_cast<int>(generate->tokens->front().size());
  generate->tokens.reset();
  return true;
}

/// append A, peek at B: peek at A and B.
bool append_within_peek(std::vector<Step>& steps, std::size_t i) {
  const auto* append = std::get_if<Append>(&steps[i]);
  const std::size_t p = next_of(steps, i);
  auto* peek = p < steps.size() ? std::get_if<Append>(&steps[p]) : nullptr;
  if (append == nullptr || peek == nullptr || !append->keep || peek->keep || append->tokens.size() != peek->tokens.size())
    return false;
  for (std::size_t r = 0; r < append->tokens.size(); ++r)
    peek->tokens[r].insert(peek->tokens[r].begin(), append->tokens[r].begin(), append->tokens[r].end());
  steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(i));
  return true;
}

/// crop to n, generate T: crop to as many tokens more, generate.
bool crop_leaves_tokens(std::vector<Step>& steps, std::size_t i) {
  auto* crop = std::get_if<Crop>(&steps[i]);
  const std::size_t g = next_of(steps, i);
  auto* generate = g < steps.size() ? std::get_if<Generate>(&steps[g]) : nullptr;
  if (crop == nullptr || generate == nullptr || !generate->tokens || generate->tokens->size() != crop->length.size())
    return false;
  for (std::size_t r = 0; r < crop->length.size(); ++r) crop->length[r] += static_cast<int>((*generate->tokens)[r].size());
  generate->tokens.reset();
  return true;
}

/// complete P: generate P on a session that is open, made larger by as much.
bool complete_in_session(std::vector<Step>& steps, std::size_t i) {
  const auto* complete = std::get_if<Complete>(&steps[i]);
  if (complete == nullptr) return false;
  for (Step& step : steps) {
    auto* open = std::get_if<Open>(&step);
    if (open == nullptr || open->rows != static_cast<int>(complete->tokens.size())) continue;
    open->capacity += static_cast<int>(complete->tokens.front().size()) + complete->loop.new_tokens;
    Generate generate{open->session, complete->tokens, complete->loop};
    steps[i] = std::move(generate);
    return true;
  }
  return false;
}

/// append A, crop to n, append B: peek at A, append its first n tokens and B.
bool crop_as_peek(std::vector<Step>& steps, std::size_t i) {
  auto* first = std::get_if<Append>(&steps[i]);
  const std::size_t c = next_of(steps, i), b = c < steps.size() ? next_of(steps, c) : c;
  if (first == nullptr || b >= steps.size()) return false;
  const auto* crop = std::get_if<Crop>(&steps[c]);
  auto* second = std::get_if<Append>(&steps[b]);
  if (crop == nullptr || second == nullptr || crop->length.size() != first->tokens.size() ||
      second->tokens.size() != first->tokens.size())
    return false;
  for (std::size_t r = 0; r < first->tokens.size(); ++r) {
    const Tokens& row = first->tokens[r];
    const auto keep =
        static_cast<std::ptrdiff_t>(std::min<std::size_t>(static_cast<std::size_t>(std::max(crop->length[r], 0)), row.size()));
    second->tokens[r].insert(second->tokens[r].begin(), row.begin(), row.begin() + keep);
  }
  first->keep = false;
  steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(c));
  return true;
}

/// A longer loop as a longer prompt and one token.
bool emits_one(std::vector<Step>& steps, std::size_t i) {
  Loop* loop = loop_of(steps[i]);
  Rows* rows = rows_of(steps[i]);
  if (loop == nullptr || rows == nullptr || loop->new_tokens < 2) return false;
  for (Tokens& row : *rows) row.resize(row.size() + static_cast<std::size_t>(loop->new_tokens - 1), 0);
  loop->new_tokens = 1;
  return true;
}

/// A long prompt as one token and a longer loop.
bool prompts_one(std::vector<Step>& steps, std::size_t i) {
  Loop* loop = loop_of(steps[i]);
  Rows* rows = rows_of(steps[i]);
  if (loop == nullptr || rows == nullptr || rows->empty() || rows->front().size() < 2) return false;
  loop->new_tokens += static_cast<int>(rows->front().size()) - 1;
  for (Tokens& row : *rows) row.resize(1);
  return true;
}

}  // namespace

std::vector<Case> paraphrases(const Case& value) {
  std::vector<Case> out;
  const std::vector<At> all = places(value);
  for (const Change change : {loop_as_append, loop_with_tokens, loop_emits_its_tokens, append_within_peek, crop_as_peek,
                              crop_leaves_tokens, complete_in_session, emits_one, prompts_one}) {
    Case everywhere = value;
    int changes = 0;
    for (auto at = all.rbegin(); at != all.rend(); ++at) {
      Case once = value;
      if (!change(run_at(once, *at).steps, static_cast<std::size_t>(at->step))) continue;
      change(run_at(everywhere, *at).steps, static_cast<std::size_t>(at->step));
      ++changes;
      out.push_back(std::move(once));
    }
    if (changes > 1) out.push_back(std::move(everywhere));
  }
  return out;
}

}  // namespace cachet
