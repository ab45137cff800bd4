// The fields of each step, in one place: text and JSON, both ways, are four visitors of this list, so that they cannot drift
// apart. Positional fields of the text form come first and in order.
#pragma once

#include <string_view>
#include <type_traits>
#include <utility>

#include "harness/step.h"

namespace cachet {

enum class JsonKind { kObject, kListOfObjects };

/// The generation loop's fields, shared by generate and complete.
template <typename L, typename V>
void each_loop_field(L& loop, V& v) {
  v.integer("new", loop.new_tokens, 1);
  v.ids("stop", loop.stop);
  v.integer_or_zero("min_new", loop.min_new);
  v.json("sampling", loop.extras, JsonKind::kObject);
  v.json("processors", loop.extras, JsonKind::kListOfObjects);
  v.json("beams", loop.extras, JsonKind::kObject);
  v.json("draft", loop.extras, JsonKind::kObject);
}

/// Shows `v` every field of `s` (any step but raw; const for writers). A visitor has
///   positional: word, rows (Rows or optional), numbers, place (int or optional);
///   keyed: integer and maybe_integer (with the least legal value), integer_or_zero (0: absent), ids (optional list),
///   pads (empty: absent), want (last: absent), keep (true: absent), json (one entry of `extras`).
template <typename S, typename V>
void each_field(S& s, V& v) {
  using T = std::remove_const_t<S>;
  if constexpr (requires { s.session; }) v.word("session", s.session);
  if constexpr (std::is_same_v<T, Open>) {
    v.integer("rows", s.rows, 1);
    v.integer("capacity", s.capacity, 1);
  } else if constexpr (std::is_same_v<T, Append>) {
    v.rows("tokens", s.tokens);
    v.pads("pad", s.pad, s.tokens);
    v.want("want", s.want);
    v.keep("keep", s.keep);
  } else if constexpr (std::is_same_v<T, Generate>) {
    v.rows("tokens", s.tokens);
    each_loop_field(s.loop, v);
  } else if constexpr (std::is_same_v<T, Complete>) {
    v.rows("tokens", s.tokens);
    v.maybe_integer("capacity", s.capacity, 1);
    each_loop_field(s.loop, v);
  } else if constexpr (std::is_same_v<T, Crop>) {
    v.numbers("length", s.length);
  } else if constexpr (std::is_same_v<T, Remove>) {
    v.place("begin", s.begin);
    v.place("end", s.end);
  } else if constexpr (std::is_same_v<T, Shift>) {
    v.place("begin", s.begin);
    v.place("end", s.end);
    v.any_integer("delta", s.delta);
  } else if constexpr (std::is_same_v<T, Fork>) {
    v.word("into", s.into);
  } else if constexpr (std::is_same_v<T, Reorder>) {
    v.numbers("rows", s.rows);
  } else if constexpr (requires { s.blob; }) {
    v.word("blob", s.blob);
  } else if constexpr (requires { s.mark; }) {
    v.word("mark", s.mark);
  }
}

/// The step of a word with every field at its default; nullopt when no step but raw is called so.
inline std::optional<Step> blank_step(std::string_view op) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    std::optional<Step> found;
    ((op == op_name(Step(std::in_place_index<I>)) && (found.emplace(std::in_place_index<I>), true)) || ...);
    return found;
  }
  (std::make_index_sequence<std::variant_size_v<Step> - 1>());
}

}  // namespace cachet
