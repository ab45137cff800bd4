// Preallocated storage that is written in place, the cache over it, and the pool from which sessions have it.
#pragma once

#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

#include "backends/sessions.h"

namespace cachet::backends {

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

  int base() const { return base_; }  ///< first slot of the row in the storage
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
  int rows() const { return static_cast<int>(rows_.size()); }

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

}  // namespace cachet::backends
