// Envelopes from perturbed passes, a cache of passes by the hash of each prefix, and the judgements that rest on them.
#include "harness/oracle.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <list>
#include <unordered_map>

#include "reference/arithmetic.h"

namespace cachet {

namespace {

using reference::Rounding;

std::optional<double> roundoff_of(const std::string& name) {
  if (name == "exact") return 0.0;
  if (name == "float64") return 0x1p-53;
  if (name == "float32") return 0x1p-24;
  if (name == "float16") return 0x1p-11;
  if (name == "bfloat16") return 0x1p-8;
  return std::nullopt;
}

/// Adds the time until its end to a total.
class Stopwatch {
 public:
  explicit Stopwatch(double& total) : total_(total) {}
  ~Stopwatch() { total_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  double& total_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

std::vector<OracleRow> rows_with_envelope(const Model& model, const Tokens& history, const reference::Rows& exact,
                                          const Rounding& rounding) {
  const std::size_t vocab = exact.vocab;
  std::vector<double> squares(exact.logits.size());  // (tokens, vocab), summed over passes
  for (int pass = 0; pass < Oracle::kPasses; ++pass) {
    const reference::Rows noisy = reference::perturbed(model, history, rounding, static_cast<std::uint64_t>(pass));
    for (std::size_t i = 0; i < squares.size(); ++i)
      squares[i] += (noisy.logits[i] - exact.logits[i]) * (noisy.logits[i] - exact.logits[i]);
  }
  const reference::Rows floor = reference::error_floor(exact, rounding);
  std::vector<OracleRow> rows(exact.tokens);
  for (int t = 0; t < exact.tokens; ++t) {
    const std::size_t begin = t * vocab;
    OracleRow& row = rows[t];
    row.logits.assign(exact.row(t), exact.row(t) + vocab);
    double sum = 0;
    for (std::size_t j = 0; j < vocab; ++j) sum += squares[begin + j];
    row.sigma = std::sqrt(sum / static_cast<double>(Oracle::kPasses * vocab));
    row.envelope.resize(vocab);
    for (std::size_t j = 0; j < vocab; ++j) {
      // A logit that spreads more than its row's average is judged by its own spread.
      const double own = std::sqrt(squares[begin + j] / Oracle::kPasses);
      row.envelope[j] = std::max(Oracle::kFactor * std::max(row.sigma, own), floor.logits[begin + j]);
    }
  }
  return rows;
}

}  // namespace

std::optional<Rounding> rounding_of(const NumericClass& numeric) {
  const auto compute = roundoff_of(numeric.compute), weights = roundoff_of(numeric.weights), kv = roundoff_of(numeric.kv);
  if (!compute || !weights || !kv) return std::nullopt;
  // The reference itself is rounded at fp64, so no backend can be compared with it more closely than that.
  return Rounding{std::max(*compute, 0x1p-53), *weights, *kv};
}

int OracleRow::argmax() const { return static_cast<int>(std::max_element(logits.begin(), logits.end()) - logits.begin()); }

RowJudgement judge_row(const OracleRow& expected, const std::vector<double>& observed) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  RowJudgement judgement;
  if (observed.size() != expected.logits.size()) {
    return {false, static_cast<int>(std::min(observed.size(), expected.logits.size() - 1)), kInfinity, kInfinity};
  }
  double worst_excess = -kInfinity;
  double largest = 0;
  for (std::size_t j = 0; j < observed.size(); ++j) {
    const double error = std::isfinite(observed[j]) ? std::abs(observed[j] - expected.logits[j]) : kInfinity;
    const double excess = error - expected.envelope[j];
    // Written so that an envelope that is not a number admits nothing.
    if (!(error <= expected.envelope[j])) judgement.inside = false;
    largest = std::max(largest, error);
    if (excess > worst_excess) {
      worst_excess = excess;
      judgement.worst = static_cast<int>(j);
      judgement.error = error;
    }
  }
  judgement.ratio = largest == 0 ? 0 : largest / expected.sigma;
  return judgement;
}

Choice judge_choice(const OracleRow& expected, Token token) {
  if (token < 0 || token >= static_cast<Token>(expected.logits.size())) return Choice::kDifferent;
  const int best = expected.argmax();
  if (token == best) return Choice::kSame;
  const double margin = expected.logits[best] - expected.logits[token];
  return margin <= expected.envelope[best] + expected.envelope[token] ? Choice::kTie : Choice::kDifferent;
}

/// Passes, most recently used first, found by the hash of every prefix. Nothing here is a result: a lost entry is computed again
/// to the last bit, since rows and their noise depend on model and prefix alone.
struct Oracle::Cache {
  struct Entry {
    ModelPtr model;
    Tokens history;
    reference::Rows exact;
    std::vector<std::pair<Rounding, std::vector<OracleRow>>> judged;  // one a numeric class

    std::size_t charged = 0;  // bytes counted for it so far

    std::size_t bytes() const {
      const std::size_t arrays = 2 + 2 * judged.size();
      return 256 + history.size() * (64 + arrays * static_cast<std::size_t>(exact.vocab) * sizeof(double));
    }
  };
  using Entries = std::list<Entry>;

  Entries entries;
  std::size_t bytes = 0;
  std::unordered_map<std::uint64_t, Entries::iterator> by_prefix;

  static std::vector<std::uint64_t> hashes(const Model& model, const Tokens& history) {
    std::vector<std::uint64_t> out;
    std::uint64_t hash = model.digest;
    for (const Token token : history) out.push_back(hash = reference::mix(hash, static_cast<std::uint64_t>(token)));
    return out;
  }

  /// The pass over `history` or over a longer one that begins with it; nullptr when there is none.
  Entry* find(const Model& model, const Tokens& history) {
    const auto found = by_prefix.find(hashes(model, history).back());
    if (found == by_prefix.end()) return nullptr;
    const Entry& entry = *found->second;
    const bool same = entry.model->digest == model.digest && entry.history.size() >= history.size() &&
                      std::equal(history.begin(), history.end(), entry.history.begin());
    if (!same) return nullptr;
    entries.splice(entries.begin(), entries, found->second);
    return &entries.front();
  }

  Entry& keep(const ModelPtr& model, const Tokens& history, reference::Rows exact) {
    entries.push_front({model, history, std::move(exact), {}});
    for (const std::uint64_t key : hashes(*model, history)) by_prefix[key] = entries.begin();
    charge(entries.front());
    return entries.front();
  }

  void charge(Entry& entry) {
    bytes += entry.bytes() - entry.charged;
    entry.charged = entry.bytes();
  }

  const std::vector<OracleRow>& judged(Entry& entry, const Rounding& rounding) {
    for (const auto& [known, rows] : entry.judged) {
      if (known == rounding) return rows;
    }
    entry.judged.emplace_back(rounding, rows_with_envelope(*entry.model, entry.history, entry.exact, rounding));
    charge(entry);
    return entry.judged.back().second;
  }

  void shrink() {
    while (entries.size() > static_cast<std::size_t>(kKept) + 1 && bytes > kMostBytes) {
      const auto last = std::prev(entries.end());
      bytes -= last->charged;
      for (const std::uint64_t key : hashes(*last->model, last->history)) {
        const auto found = by_prefix.find(key);
        if (found != by_prefix.end() && found->second == last) by_prefix.erase(found);
      }
      entries.erase(last);
    }
  }
};

std::size_t Oracle::remembered_bytes() const { return cache_->bytes; }

Oracle::Oracle() : cache_(std::make_unique<Cache>()) {}
Oracle::~Oracle() = default;
Oracle::Oracle(Oracle&&) noexcept = default;
Oracle& Oracle::operator=(Oracle&&) noexcept = default;

const OracleRow& Oracle::row(const ModelPtr& model, const Tokens& history, const NumericClass& numeric) {
  const Stopwatch watch(seconds_);
  // Laws ask only where the class has an envelope; a caller that does not gets the widest one and no crash.
  const Rounding rounding = rounding_of(numeric).value_or(Rounding{0x1p-8, 0x1p-8, 0x1p-8});
  Cache::Entry* entry = cache_->find(*model, history);
  if (!entry) entry = &cache_->keep(model, history, reference::forward(*model, history));
  const auto& rows = cache_->judged(*entry, rounding);
  cache_->shrink();
  return rows[history.size() - 1];
}

void Oracle::prepare(const ModelPtr& model, const Tokens& history, const NumericClass& numeric) {
  static_cast<void>(row(model, history, numeric));
}

Tokens Oracle::greedy(const ModelPtr& model, const Tokens& history, int count, const Tokens& stop, int min_new) {
  const Stopwatch watch(seconds_);
  const auto stops = [&](Token token) { return std::find(stop.begin(), stop.end(), token) != stop.end(); };
  Tokens all = history;
  Tokens emitted;
  std::optional<reference::Rows> longest;  // of our own passes; each holds the rows of those before it, so that one is kept
  Tokens longest_history;
  while (static_cast<int>(emitted.size()) < count && all.size() <= static_cast<std::size_t>(model->spec.context)) {
    const Cache::Entry* entry = cache_->find(*model, all);
    if (!entry) longest = reference::forward(*model, longest_history = all);
    const reference::Rows& rows = entry ? entry->exact : *longest;
    const double* logits = rows.row(static_cast<int>(all.size()) - 1);
    int best = -1;
    for (int j = 0; j < rows.vocab; ++j) {
      if (static_cast<int>(emitted.size()) < min_new && stops(j)) continue;
      if (best < 0 || logits[j] > logits[best]) best = j;
    }
    emitted.push_back(std::max(best, 0));
    all.push_back(emitted.back());
    if (stops(emitted.back())) break;
  }
  if (longest) cache_->keep(model, longest_history, std::move(*longest));
  cache_->shrink();
  return emitted;
}

}  // namespace cachet
