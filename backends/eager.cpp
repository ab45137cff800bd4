// The plainest decoder with a cache: keys and values grow by concatenation, each call is computed as it comes, nothing is kept
// between one-shot calls. A loop's last token stays pending until the next call feeds it.
#include <cmath>

#include "backends/host.h"

namespace cachet::backends {
namespace {

class GrowingKv final : public KvRow {
 public:
  GrowingKv(int layers, int width, int capacity)
      : grown_{width, std::vector<std::vector<float>>(layers), std::vector<std::vector<float>>(layers)}, capacity_(capacity) {}

  RowFacts facts() const override {
    const int n = grown_.length(0);
    return {n, n, n, capacity_, n};
  }
  int past(int layer) const override { return grown_.length(layer); }
  bool holds(int) const override { return true; }
  void write(int layer, int, const float* key, const float* value) override {
    auto& keys = grown_.keys[static_cast<std::size_t>(layer)];
    auto& values = grown_.values[static_cast<std::size_t>(layer)];
    keys.insert(keys.end(), key, key + grown_.width);
    values.insert(values.end(), value, value + grown_.width);
  }
  const float* key(int layer, int slot) const override {
    return &grown_.keys[static_cast<std::size_t>(layer)][static_cast<std::size_t>(slot) * grown_.width];
  }
  const float* value(int layer, int slot) const override {
    return &grown_.values[static_cast<std::size_t>(layer)][static_cast<std::size_t>(slot) * grown_.width];
  }

  GrowingRow& grown() { return grown_; }

 private:
  GrowingRow grown_;
  int capacity_;
};

class GrowingCache final : public Cache {
 public:
  GrowingCache(int rows, int capacity, const Decoder& decoder)
      : seams_(decoder.seams()),
        rows_(static_cast<std::size_t>(rows), GrowingKv(decoder.spec().layers, decoder.kv_width(), capacity)) {}

  KvRow& row(int r) override { return rows_[static_cast<std::size_t>(r)]; }
  int layer_length(int layer, int r) const override { return rows_[static_cast<std::size_t>(r)].past(layer); }
  void advance(int, int) override {}  // writing is growing
  void rewind(int r, int n) override {
    GrowingRow& grown = rows_[static_cast<std::size_t>(r)].grown();
    grown.truncate(grown.length(0) - n);
  }
  void crop(int r, int length) override { seams_.crop_grown(rows_[static_cast<std::size_t>(r)].grown(), length); }
  void reset(int r) override { seams_.reset_grown(rows_[static_cast<std::size_t>(r)].grown()); }
  void poison(int) override {}  // there is no slot without a token

 private:
  const Seams& seams_;
  std::vector<GrowingKv> rows_;
};

class EagerEngine final : public SessionEngine {
 public:
  using SessionEngine::SessionEngine;

 private:
  std::unique_ptr<Cache> make_cache(int rows, int capacity) override {
    return std::make_unique<GrowingCache>(rows, capacity, decoder());
  }

  int complete_limit(const Complete& step) override { return std::min(step.capacity.value_or(kMaxCapacity), spec().context); }

  void complete(const Complete& step, Report& report) override {
    const int rows = static_cast<int>(step.tokens.size());
    const std::unique_ptr<Cache> cache = make_cache(rows, complete_limit(step));
    report.cached = std::vector<std::int64_t>(step.tokens.size(), 0);
    std::vector<std::vector<float>> logits;
    if (!feed(*cache, step.tokens, logits, report)) return;
    for (std::vector<float>& row : logits) row.erase(row.begin(), row.end() - spec().vocab);
    continue_rows(*cache, step.loop, logits, report);
  }
};

}  // namespace

Host eager() {
  Host host = session_host_of<EagerEngine>("eager");
  host.configuration.declarations.last_token_cached = false;
  return host;
}

}  // namespace cachet::backends
