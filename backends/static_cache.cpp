// A decoder over preallocated storage that is written in place. The engine retains one cache across `complete` calls and runs
// and reuses the prefix it shares with the next prompt; storage of ended sessions goes to later ones as it is.
#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/host.h"

namespace cachet::backends {
namespace {

/// Keys and values of all rows: (layers, slots, width of a key). Never cleared.
struct Storage {
  int slots = 0;
  std::vector<float> keys, values;
};
using StoragePtr = std::shared_ptr<Storage>;

class StaticKv final : public KvRow {
 public:
  StaticKv(StoragePtr storage, int base, int capacity, int width) : storage_(std::move(storage)), base_(base), width_(width) {
    facts_.capacity = capacity;
  }

  RowFacts facts() const override { return facts_; }
  int past(int) const override { return facts_.length; }
  bool holds(int slot) const override { return slot >= 0 && slot < facts_.capacity; }
  void write(int layer, int slot, const float* key, const float* value) override {
    std::copy(key, key + width_, &storage_->keys[at(layer, slot)]);
    std::copy(value, value + width_, &storage_->values[at(layer, slot)]);
    facts_.write_index = slot + 1;
    facts_.high_water = std::max(facts_.high_water, slot + 1);
  }
  const float* key(int layer, int slot) const override { return &storage_->keys[at(layer, slot)]; }
  const float* value(int layer, int slot) const override { return &storage_->values[at(layer, slot)]; }

  void set_length(int n) { facts_.length = n; }
  void cut(int n) { facts_.length = facts_.write_index = n; }
  void crop(int n) {
    facts_.cropped += facts_.length - n;
    cut(n);
  }
  void empty() { facts_ = RowFacts{0, 0, 0, facts_.capacity}; }
  void note_refused(int n) { facts_.refused += n; }
  void note_call() { ++facts_.calls; }
  void forget_calls() { facts_.calls = 0; }
  void poison(int layers) {
    for (int l = 0; l < layers; ++l) {
      const std::size_t begin = at(l, facts_.length), end = at(l, facts_.capacity - 1) + static_cast<std::size_t>(width_);
      for (std::size_t i = begin; i < end; ++i) storage_->keys[i] = storage_->values[i] = std::numeric_limits<float>::quiet_NaN();
    }
  }

 private:
  std::size_t at(int layer, int slot) const {
    return (static_cast<std::size_t>(layer) * storage_->slots + base_ + slot) * width_;
  }

  StoragePtr storage_;
  int base_, width_;
  RowFacts facts_;
};

class StaticCache final : public Cache {
 public:
  StaticCache(StoragePtr storage, int rows, int capacity, const Decoder& decoder)
      : storage_(std::move(storage)), layers_(decoder.spec().layers) {
    for (int r = 0; r < rows; ++r)
      rows_.emplace_back(storage_, decoder.seams().row_base(r, capacity), capacity, decoder.kv_width());
  }

  StaticKv& row(int r) override { return rows_[static_cast<std::size_t>(r)]; }
  int layer_length(int, int r) const override { return rows_[static_cast<std::size_t>(r)].facts().length; }
  void advance(int r, int n) override { row(r).set_length(row(r).facts().length + n); }
  void rewind(int r, int n) override { row(r).set_length(row(r).facts().length - n); }
  void crop(int r, int length) override { row(r).crop(length); }
  void reset(int r) override { row(r).empty(); }
  void note_refused(int r, int n) override { row(r).note_refused(n); }
  void poison(int r) override { row(r).poison(layers_); }

  const StoragePtr& storage() const { return storage_; }

 private:
  StoragePtr storage_;
  int layers_;
  std::vector<StaticKv> rows_;
};

/// Storage that goes from session to session, and the loans of the current run.
class Pool {
 public:
  StoragePtr lend(int slots, const Decoder& decoder) {
    StoragePtr storage;
    auto at = free_.end();  // the smallest that suffices
    for (auto s = free_.begin(); s != free_.end(); ++s)
      if ((*s)->slots >= slots && (at == free_.end() || (*s)->slots < (*at)->slots)) at = s;
    if (at != free_.end()) {
      storage = *at;
      free_.erase(at);
    } else {
      const std::size_t size = static_cast<std::size_t>(decoder.spec().layers) * slots * decoder.kv_width();
      storage = std::make_shared<Storage>(Storage{slots, std::vector<float>(size), std::vector<float>(size)});
    }
    lent_.push_back(storage);
    return storage;
  }

  void give_back(const StoragePtr& storage, bool ends_the_loan) {
    if (ends_the_loan) std::erase(lent_, storage);
    free_.push_back(storage);
  }

  /// All loans end but that of `kept`.
  void end_run(const StoragePtr& kept) {
    for (const StoragePtr& storage : lent_)
      if (storage != kept) free_.push_back(storage);
    std::erase_if(lent_, [&](const StoragePtr& storage) { return storage != kept; });
  }

 private:
  std::vector<StoragePtr> free_, lent_;
};

class StaticEngine final : public SessionEngine {
 public:
  using SessionEngine::SessionEngine;

  void end_run() override {
    SessionEngine::end_run();
    for (int r = 0; retained_ && r < kMaxRows; ++r) retained_->row(r).forget_calls();
    pool_.end_run(retained_ && seams().end_run_spares_retained ? retained_->storage() : nullptr);
  }

 private:
  std::unique_ptr<Cache> make_cache(int rows, int capacity) override {
    return std::make_unique<StaticCache>(pool_.lend(rows * capacity, decoder()), rows, capacity, decoder());
  }

  void close(Cache& cache) override { pool_.give_back(static_cast<StaticCache&>(cache).storage(), seams().close_ends_the_loan); }

  int complete_limit(const Complete& step) override {
    const int needed = static_cast<int>(step.tokens.front().size()) + step.loop.new_tokens;
    return std::min(seams().retained_capacity(step.capacity.value_or(kMaxCapacity), needed, capacity_of_first_call_),
                    spec().context);
  }

  /// Empties what the next prompt does not share, then says which part of the prompt is left to feed.
  Tail reuse(int r, int keep, int prompt) {
    StaticKv& row = retained_->row(r);
    const auto at = static_cast<std::size_t>(r);
    retained_tokens_[at].clear();
    row.cut(seams().reset_retained(keep, retained_prompts_[at], row.facts().length));
    const int length = row.facts().length;
    const Tail tail = seams().tail(prompt, length);
    row.set_length(tail.position);
    return tail;
  }

  /// Leaves each row's last logits; a row whose tail is empty beside others has none.
  bool feed_tails(const Rows& tails, std::vector<std::vector<float>>& logits, Report& report) {
    if (!feed(*retained_, tails, logits, report)) return false;
    for (std::vector<float>& row : logits) {
      if (row.empty()) {
        report.status = Status::kFailed;
        report.kind = "IndexError";
        report.message = "no last position in an empty slice";
        return false;
      }
      row.erase(row.begin(), row.end() - spec().vocab);
    }
    return true;
  }

  void complete(const Complete& step, Report& report) override {
    if (!retained_) {
      retained_ =
          std::make_unique<StaticCache>(pool_.lend(kMaxRows * kMaxCapacity, decoder()), kMaxRows, kMaxCapacity, decoder());
      retained_tokens_.resize(kMaxRows);
      retained_prompts_.resize(kMaxRows);
      retained_logits_.resize(kMaxRows);
    }
    const int rows = static_cast<int>(step.tokens.size()), prompt = static_cast<int>(step.tokens.front().size());
    int keep = prompt;  // rows are fed in step, so they reuse what all of them share with theirs
    for (int r = 0; r < rows; ++r)
      keep = std::min(
          keep, seams().common_prefix(retained_tokens_[static_cast<std::size_t>(r)], step.tokens[static_cast<std::size_t>(r)]));
    for (int r = 0; r < kMaxRows; ++r) retained_->row(r).note_call();
    Rows tails;
    report.cached.emplace();
    for (int r = 0; r < rows; ++r) {
      const Tail tail = reuse(r, keep, prompt);
      const Tokens& row = step.tokens[static_cast<std::size_t>(r)];
      tails.emplace_back(row.begin() + tail.begin, row.end());
      report.cached->push_back(std::min(keep, prompt));
    }
    std::vector<std::vector<float>> logits;
    if (keep == prompt && seams().exact_hit_keeps_logits) {
      logits.assign(retained_logits_.begin(), retained_logits_.begin() + rows);
      for (int r = 0; r < rows; ++r) retained_->row(r).set_length(prompt);
    } else if (!feed_tails(tails, logits, report)) {
      return tell_lengths(*retained_, rows, report);
    }
    if (continue_rows(*retained_, step.loop, logits, report))
      for (std::size_t r = 0; r < step.tokens.size(); ++r) {
        retained_tokens_[r] = step.tokens[r];
        retained_tokens_[r].insert(retained_tokens_[r].end(), (*report.tokens)[r].begin(), (*report.tokens)[r].end());
        retained_prompts_[r] = prompt;
        retained_logits_[r] = logits[r];
      }
    tell_lengths(*retained_, rows, report);
  }

  Pool pool_;
  std::unique_ptr<StaticCache> retained_;            // of `complete`: kMaxRows rows of kMaxCapacity slots
  Rows retained_tokens_;                             // (kMaxRows) what it holds
  std::vector<int> retained_prompts_;                // (kMaxRows) how much of that was prompt
  std::vector<std::vector<float>> retained_logits_;  // (kMaxRows) of (vocab), after the last token of it
  int capacity_of_first_call_ = 0;
};

}  // namespace

Host static_cache() {
  Host host = session_host_of<StaticEngine>("static_cache");
  host.configuration.capabilities.insert("poison");
  host.configuration.declarations.reuse = "library";
  host.configuration.declarations.last_token_cached = true;
  return host;
}

}  // namespace cachet::backends
