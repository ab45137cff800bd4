// The places where real decoders go wrong, as plain values and functions that a host reads where it acts. The defaults are
// correct; a defect changes one of them, so that a host reads as if there were no defects.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <string>

#include "backends/kernels.h"
#include "harness/report.h"

namespace cachet::backends {

/// What a cache knows of one row.
struct RowFacts {
  int length = 0;       ///< committed tokens
  int write_index = 0;  ///< one past the slot that was written last
  int high_water = 0;   ///< one past the highest slot written since the row was emptied
  int capacity = 0;
  int cropped = 0;  ///< tokens that crops took away since the row was emptied
  int refused = 0;  ///< tokens that found no room since then
  int calls = 0;    ///< one-shot calls of this run that the cache served
};

/// What an engine knows of a session when it hands out rows.
struct SessionFacts {
  int rows = 0;              ///< of the session
  int tokens = 0;            ///< of each row in this call
  int others = 0;            ///< sessions that were open when it was opened
  bool cut = false;          ///< cropped or reset since it was opened
  bool length_read = false;  ///< since it was opened, cropped or reset
  bool poisoned = false;     ///< since then
};

/// One token of a model call, beside what was cached before the call.
struct Fed {
  int past = 0;   ///< keys in the cache before the call
  int index = 0;  ///< of the token in the call
  int count = 0;  ///< tokens in the call
  RowFacts row;
  int context = 0;  ///< positions that the model has
};

/// The part of a prompt that is fed: prompt[begin:], written from `position` on.
struct Tail {
  int begin = 0;
  int position = 0;
};

/// One row of a cache that grows by concatenation: (layers) of (tokens, width of a key).
struct GrowingRow {
  int width = 0;
  std::vector<std::vector<float>> keys, values;

  int length(int layer) const { return static_cast<int>(keys[static_cast<std::size_t>(layer)].size()) / width; }
  void truncate_layer(int layer, int n) {
    keys[static_cast<std::size_t>(layer)].resize(static_cast<std::size_t>(n) * width);
    values[static_cast<std::size_t>(layer)].resize(static_cast<std::size_t>(n) * width);
  }
  void truncate(int n) {
    for (int l = 0; l < static_cast<int>(keys.size()); ++l) truncate_layer(l, n);
  }
};

/// Where a compiler goes wrong: what it takes for constant, which graph serves which call, which memory a graph is tied to.
struct CompilerSeams {
  bool decode_is_padded = true;  ///< false: a cache as long as its tokens; decode graphs are compiled, and refuse to grow
  bool key_has_rows = true;      ///< a graph is found by the rows it was compiled for
  bool key_has_capacity = true;
  bool key_has_past = false;            ///< a graph serves one length of the cache
  bool positions_are_constant = false;  ///< as they were when the graph was traced
  bool slots_are_constant = false;
  bool mask_is_constant = false;
  bool cache_is_constant = false;        ///< the graph stays tied to the first cache it ran on
  bool output_is_shared = false;         ///< a call's logits are read when a later call has replaced them
  bool pads_are_visible = false;         ///< to the real tokens before them
  bool chunks_are_padded = true;         ///< false: a chunk's own number of tokens is compiled for
  bool recompiles = true;                ///< false: after `recompile` nothing is compiled any more, silently
  float (*activation)(float) = nullptr;  ///< what graphs compute in the place of the model's
  int lifetimes_end_early = 0;           ///< nodes before the last use of a value
};

struct Seams {
  CompilerSeams compiler;

  // Arithmetic of the decoder.
  kernels::Summation summation = kernels::Summation::kForward;
  kernels::Softmax softmax = kernels::Softmax::kTwoPass;
  std::optional<float> norm_epsilon;                               ///< absent: the model's
  std::string activation;                                          ///< of gpt2; empty: the model's
  std::function<float(float)> stored = [](float x) { return x; };  ///< how a key or value is kept

  // Where a family has rotary positions, grouped queries, a head of its own.
  std::optional<float> rope_theta;  ///< absent: the model's
  kernels::Pairs rope_pairs = kernels::Pairs::kHalves;
  std::function<int(const Fed&, int position)> rope_position = [](const Fed&, int position) { return position; };
  std::function<int(const Fed&, int slot)> key_position;  ///< set: keys are cached as they are, and rotated by it when read
  std::function<int(int head, int heads, int kv_heads)> kv_head = [](int head, int heads, int kv_heads) {
    return head / (heads / kv_heads);
  };
  bool gate_is_up = false;         ///< the activation goes on the other half of the MLP
  bool head_is_embedding = false;  ///< whatever the model says

  // Where tokens go and what they see.
  std::function<int(const Fed&)> position_id = [](const Fed& f) { return f.row.length + f.index; };
  std::function<int(const Fed&)> slot = [](const Fed& f) { return f.row.length + f.index; };
  std::function<int(const Fed&)> visible = [](const Fed& f) { return f.past + f.index + 1; };  ///< how many keys, from the first
  std::function<int(const Fed&, int seen)> read = [](const Fed&, int seen) {
    return seen;
  };  ///< keys loaded; those past the visible ones weigh zero
  std::function<int(int row, int capacity)> row_base = [](int row, int capacity) {
    return row * capacity;
  };  ///< first slot of a row

  // What calls are let in.
  std::function<bool(const RowFacts&, int more, int limit)> over = [](const RowFacts& row, int more, int limit) {
    return row.length + more > limit;
  };
  std::function<std::optional<Token>(Token, int vocab)> embedding_row = [](Token id, int vocab) {
    return id >= 0 && id < vocab ? std::optional<Token>(id) : std::nullopt;
  };
  std::function<bool(const Loop&, bool one_shot)> offers = [](const Loop& loop, bool) { return loop.extras.empty(); };
  bool append_takes_pending_before_checks = false;  ///< of the tokens and of the room
  bool append_writes_what_fits = false;             ///< when it is over: before it refuses

  // Lengths and rows as they are told.
  std::function<Value(const RowFacts&)> told_length = [](const RowFacts& row) { return IntegerValue{row.length}; };

  std::function<float(float logit, const SessionFacts&)> returned = [](float logit, const SessionFacts&) { return logit; };

  // Emptying, cropping, pending tokens.
  std::function<int(int asked, int length)> crop_target = [](int asked, int) { return asked; };
  std::function<void(GrowingRow&, int)> crop_grown = [](GrowingRow& row, int n) { row.truncate(n); };
  std::function<void(GrowingRow&)> reset_grown = [](GrowingRow& row) { row.truncate(0); };
  bool reset_drops_pending = true;
  bool crop_drops_pending = true;
  bool crop_refeeds = false;  ///< what is kept is computed anew; correct too
  bool append_feeds_pending = true;

  // The generation loop.
  std::function<bool(int emitted, int min_new)> suppresses_stop = [](int emitted, int min_new) { return emitted < min_new; };
  std::function<bool(const Tokens& emitted, const Tokens& stop)> ended = [](const Tokens& emitted, const Tokens& stop) {
    return std::find(stop.begin(), stop.end(), emitted.back()) != stop.end();
  };
  std::function<Tokens(const Loop&, Tokens& of_last_call)> stop_ids = [](const Loop& loop, Tokens&) {
    return loop.stop.value_or(Tokens{});
  };
  bool loop_feeds_last_token = true;  ///< only where the last token is cached: feed it, not just count it
  std::function<Token(Token, bool last)> loop_feeds = [](Token token, bool) { return token; };

  // What is retained between calls and runs.
  std::function<int(const Tokens& retained, const Tokens& prompt)> common_prefix = [](const Tokens& retained,
                                                                                      const Tokens& prompt) {
    return static_cast<int>(std::mismatch(retained.begin(), retained.end(), prompt.begin(), prompt.end()).first -
                            retained.begin());
  };
  std::function<int(int keep, int retained_prompt, int retained_length)> reset_retained = [](int keep, int, int) { return keep; };
  std::function<Tail(int prompt, int length)> tail = [](int prompt, int length) {
    const int begin = std::min(length, prompt - 1);  // a fully cached prompt feeds its last token again
    return Tail{begin, begin};
  };
  std::function<int(int asked, int needed, int& of_first_call)> retained_capacity = [](int asked, int, int&) { return asked; };
  bool exact_hit_keeps_logits = false;  ///< a fully cached prompt goes on from the last call's logits, nothing is fed
  bool close_ends_the_loan = true;      ///< a closed session's storage is no longer the run's to give back
  bool end_run_spares_retained = true;  ///< storage that `complete` retains stays out of the pool
  bool end_run_closes_sessions = true;
};

}  // namespace cachet::backends
