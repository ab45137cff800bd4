// The parts that several kinds of steps share: their tokens and their loop. Order, generator and shrinker look at steps this way.
#pragma once

#include "harness/step.h"

namespace cachet {

/// The rows of tokens a step gives, nullptr when it gives none. `S` is Step or const Step.
template <typename S>
auto* rows_of(S& step) {
  using R = std::conditional_t<std::is_const_v<S>, const Rows, Rows>;
  if (auto* a = std::get_if<Append>(&step)) return static_cast<R*>(&a->tokens);
  if (auto* g = std::get_if<Generate>(&step)) return static_cast<R*>(g->tokens ? &*g->tokens : nullptr);
  if (auto* c = std::get_if<Complete>(&step)) return static_cast<R*>(&c->tokens);
  return static_cast<R*>(nullptr);
}

/// The loop of a step that generates, nullptr otherwise.
template <typename S>
auto* loop_of(S& step) {
  using L = std::conditional_t<std::is_const_v<S>, const Loop, Loop>;
  if (auto* g = std::get_if<Generate>(&step)) return static_cast<L*>(&g->loop);
  if (auto* c = std::get_if<Complete>(&step)) return static_cast<L*>(&c->loop);
  return static_cast<L*>(nullptr);
}

}  // namespace cachet
