// What the built-in backends share: sessions over some cache, the checks of every call, the generation loop and the reports.
// A host adds its cache and what it retains.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/decoder.h"
#include "harness/backend.h"

namespace cachet::backends {

inline constexpr int kMaxRows = 4;
inline constexpr int kMaxCapacity = 64;

/// The keys and values of some rows.
class Cache {
 public:
  virtual ~Cache() = default;
  virtual KvRow& row(int r) = 0;
  virtual int layer_length(int layer, int r) const = 0;
  virtual void advance(int r, int n) = 0;  ///< n tokens that were written count from now on
  virtual void rewind(int r, int n) = 0;   ///< the last n tokens are about to be fed again
  virtual void crop(int r, int length) = 0;
  virtual void reset(int r) = 0;
  virtual void note_refused(int, int) {}  ///< row r was refused n tokens
  virtual void poison(int r) = 0;         ///< every slot that no token owns becomes NaN
};

struct Session {
  int capacity = 0;
  Rows history;  ///< (rows) everything fed or emitted
  Rows pending;  ///< (rows) at most one token each: emitted, not yet fed
  std::unique_ptr<Cache> cache;
  bool dead = false;  ///< a model call failed half-way
  SessionFacts facts;

  int rows() const { return static_cast<int>(history.size()); }
};

/// Why a call is not let in.
struct Refusal {
  std::string kind;
  std::string message;
};

class SessionEngine : public Engine {
 public:
  /// `configuration` outlives the engine.
  SessionEngine(std::unique_ptr<Decoder> decoder, const Configuration& configuration)
      : decoder_(std::move(decoder)), configuration_(configuration) {}

  Report execute(const Step& step) final;
  void end_run() override;

 protected:
  virtual std::unique_ptr<Cache> make_cache(int rows, int capacity) = 0;
  /// A session with this cache ends.
  virtual void close(Cache&) {}
  /// The one-shot call on `tokens`, which have been checked.
  virtual void complete(const Complete& step, Report& report) = 0;
  /// What a one-shot call may fill.
  virtual int complete_limit(const Complete& step) = 0;

  /// One model call: the rows of `tokens` behind what the cache holds; empty rows beside filled ones are left alone. Logits of
  /// row r: (tokens, vocab). False when the call failed; the report says so.
  virtual bool feed(Cache& cache, const Rows& tokens, std::vector<std::vector<float>>& logits, Report& report);

  /// What a call of the model by the decoder, row by row, leaves; counted as one call.
  bool feed_eagerly(Cache& cache, const Rows& tokens, std::vector<std::vector<float>>& logits, Report& report);

  /// A growing shape that this engine does not take: of `past` tokens in the cache, `fed` now and `emitted` one by one after
  /// them.
  virtual std::optional<Refusal> check_shapes(int, int, int) const { return std::nullopt; }
  virtual void recompile() {}

  /// The greedy loop of a step. `logits` are each row's last ones, before and after; emitted tokens go into the report and are
  /// fed but for the last, which is fed too where it is declared cached. False when a call failed.
  bool continue_rows(Cache& cache, const Loop& loop, std::vector<std::vector<float>>& logits, Report& report);

  void tell_lengths(Cache& cache, int rows, Report& report) const;

  const ModelSpec& spec() const { return decoder_->spec(); }
  const Seams& seams() const { return decoder_->seams(); }
  const Decoder& decoder() const { return *decoder_; }
  int max_capacity() const { return configuration_.declarations.max_capacity.value_or(kMaxCapacity); }
  const Configuration& configuration() const { return configuration_; }
  bool last_token_cached() const { return configuration_.declarations.last_token_cached.value_or(false); }

 private:
  std::optional<Refusal> check(const Step& step);
  std::optional<Refusal> check_tokens(const Rows& tokens, int rows) const;
  std::optional<Refusal> check_loop(const Loop& loop, bool one_shot) const;
  std::optional<Refusal> check_room(Session& session, const Rows& tokens, int new_tokens);
  std::optional<Refusal> check_step(const Open& step);
  std::optional<Refusal> check_step(const Append& step);
  std::optional<Refusal> check_step(const Generate& step);
  std::optional<Refusal> check_step(const Complete& step);
  std::optional<Refusal> check_step(const Crop& step);
  void perform(const Open& step, Report& report);
  void perform(const Append& step, Report& report);
  void perform(const Generate& step, Report& report);
  void perform(const Crop& step, Report& report);
  void perform(const Reset& step, Report& report);
  void write_what_fits(Session& session, const Append& step, Report& report);
  void refeed(Session& session);
  Session* find(const std::string& name);
  Token pick(const std::vector<float>& logits, const Loop& loop, const Tokens& stop, int emitted) const;

  std::unique_ptr<Decoder> decoder_;
  const Configuration& configuration_;
  std::map<std::string, Session> sessions_;
  Tokens stop_of_last_call_;
};

}  // namespace cachet::backends
