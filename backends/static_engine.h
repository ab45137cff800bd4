// An engine over static storage. It retains one cache across `complete` calls and runs and reuses the prefix that it shares with
// the next prompt; storage of ended sessions goes to later ones as it is.
#pragma once

#include "backends/host.h"
#include "backends/static_storage.h"

namespace cachet::backends {

class StaticEngine : public SessionEngine {
 public:
  using SessionEngine::SessionEngine;

  void end_run() override {
    SessionEngine::end_run();
    for (int r = 0; retained_ && r < kMaxRows; ++r) retained_->row(r).forget_calls();
    pool_.end_run(retained_ && seams().end_run_spares_retained ? retained_->storage() : nullptr);
  }

 protected:
  /// Slots that a row of `capacity` tokens gets.
  virtual int padded(int capacity) const { return capacity; }

 private:
  std::unique_ptr<Cache> make_cache(int rows, int capacity) override {
    const int slots = padded(capacity);
    return std::make_unique<StaticCache>(pool_.lend(rows * slots, decoder()), rows, slots, decoder());
  }

  void close(Cache& cache) override { pool_.give_back(static_cast<StaticCache&>(cache).storage(), seams().close_ends_the_loan); }

  int complete_limit(const Complete& step) override {
    const int needed = static_cast<int>(step.tokens.front().size()) + step.loop.new_tokens;
    return std::min(seams().retained_capacity(step.capacity.value_or(max_capacity()), needed, capacity_of_first_call_),
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
      const int slots = padded(std::min(max_capacity(), std::max(spec().context, kMaxCapacity)));
      retained_ = std::make_unique<StaticCache>(pool_.lend(kMaxRows * slots, decoder()), kMaxRows, slots, decoder());
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
  std::unique_ptr<StaticCache> retained_;            // of `complete`: kMaxRows rows of padded slots
  Rows retained_tokens_;                             // (kMaxRows) what it holds
  std::vector<int> retained_prompts_;                // (kMaxRows) how much of that was prompt
  std::vector<std::vector<float>> retained_logits_;  // (kMaxRows) of (vocab), after the last token of it
  int capacity_of_first_call_ = 0;
};

}  // namespace cachet::backends
