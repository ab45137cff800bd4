// A decoder that is compiled: traced once for each shape of a call, folded, fused and planned, then run over a cache that is
// padded to a bucket. Positions, slots and masks are inputs of the graphs, so that one graph serves every length of the cache.
// A loop's finished rows stay in the batch and are masked.
#include <fmt/format.h>

#include "backends/compiler/passes.h"
#include "backends/compiler/plan.h"
#include "backends/compiler/trace.h"
#include "backends/static_engine.h"

namespace cachet::backends {
namespace {

using compiler::Plan;
using compiler::Signature;

/// Which calls are compiled, and whether the cache has a static shape.
struct CompilePolicy {
  bool prefill = true;
  bool decode = false;
  bool pad_to_capacity = true;  ///< false: a graph is compiled for the cache's present length, and refuses another
};

constexpr int kMostPadded = 128;
const std::vector<int> kChunks = {1, 8};  // tokens of a row that a graph takes: decode and prefill
const std::vector<int> kRowBuckets = {1, 2, 4};
const std::vector<int> kCapacityBuckets = {8, 16, 32, 64, kMostPadded};

int bucket(const std::vector<int>& buckets, int n) { return *std::lower_bound(buckets.begin(), buckets.end() - 1, n); }

class CompiledEngine final : public StaticEngine {
 public:
  CompiledEngine(std::unique_ptr<Decoder> decoder, const Configuration& configuration)
      : StaticEngine(std::move(decoder), configuration) {
    policy_.pad_to_capacity = seams().compiler.decode_is_padded;
    policy_.decode = configuration.name != "default" || !policy_.pad_to_capacity;
  }

 private:
  struct Compiled {
    Plan plan;
    compiler::Call traced;  ///< the call that it was traced with
  };

  int padded(int capacity) const override { return bucket(kCapacityBuckets, capacity); }

  void recompile() override {
    graphs_.clear();
    decode_length_ = 0;
    dropped_ = true;
  }

  std::optional<Refusal> check_shapes(int past, int fed, int emitted) const override {
    if (policy_.pad_to_capacity) return std::nullopt;
    const int first = past > 0 && fed == 1 ? past + 1 : past + fed + 1;  // the cache's length in the first decode call
    const int last = past + fed + emitted;
    const int compiled = decode_length_ > 0 ? decode_length_ : first;
    if (last < first || (first == compiled && last == compiled)) return std::nullopt;
    return Refusal{"unsupported",
                   fmt::format("decode is compiled for a cache of {} tokens and would be called with {}: a growing shape "
                               "means compiling at every step; pad the cache to its capacity or leave decode uncompiled",
                               compiled, first == compiled ? last : first)};
  }

  bool feed(Cache& cache, const Rows& tokens, std::vector<std::vector<float>>& logits, Report& report) override {
    if (!report.compilations) report.compilations.emplace();
    logits.assign(tokens.size(), {});
    std::size_t longest = 0;
    for (const Tokens& row : tokens) longest = std::max(longest, row.size());
    const bool decode = longest == 1 && cache.row(active(tokens)).facts().length > 0;
    if (longest == 0 || !(decode ? policy_.decode : policy_.prefill)) return feed_eagerly(cache, tokens, logits, report);
    if (dropped_ && !seams().compiler.recompiles) return feed_eagerly(cache, tokens, logits, report);
    std::vector<std::vector<const float*>> late(tokens.size());  // outputs that are read when all calls are over
    for (std::size_t at = 0; at < longest; at += static_cast<std::size_t>(kChunks.back())) {
      Rows chunk;
      for (const Tokens& row : tokens)
        chunk.emplace_back(
            row.begin() + static_cast<std::ptrdiff_t>(std::min(at, row.size())),
            row.begin() + static_cast<std::ptrdiff_t>(std::min(at + static_cast<std::size_t>(kChunks.back()), row.size())));
      if (!feed_chunk(static_cast<StaticCache&>(cache), chunk, decode, logits, late, report)) return false;
    }
    for (std::size_t r = 0; r < late.size(); ++r)
      for (const float* row : late[r]) logits[r].insert(logits[r].end(), row, row + spec().vocab);
    return true;
  }

  static int active(const Rows& tokens) {
    for (std::size_t r = 0; r < tokens.size(); ++r)
      if (!tokens[r].empty()) return static_cast<int>(r);
    return 0;
  }

  bool feed_chunk(StaticCache& cache, const Rows& tokens, bool decode, std::vector<std::vector<float>>& logits,
                  std::vector<std::vector<const float*>>& late, Report& report) {
    const CompilerSeams& wrong = seams().compiler;
    const int n = static_cast<int>(tokens[static_cast<std::size_t>(active(tokens))].size());
    const RowFacts facts = cache.row(active(tokens)).facts();
    Signature shape{decode ? "decode" : "prefill", bucket(kRowBuckets, static_cast<int>(tokens.size())),
                    decode ? 1 : (wrong.chunks_are_padded ? kChunks.back() : n), facts.capacity};
    if (!policy_.pad_to_capacity) shape.capacity = std::min(facts.length + n, facts.capacity);
    report.calls->push_back({tokens, std::nullopt, {shape.rows, shape.tokens}});
    compiler::Call call;
    if (const std::optional<Failure> failure = bind(cache, tokens, shape, call)) {
      report.status = Status::kFailed;
      report.kind = failure->kind;
      report.message = failure->message;
      return false;
    }
    if (decode && !policy_.pad_to_capacity) decode_length_ = shape.capacity;
    Compiled& compiled = graph_for(shape, facts.length, call, report);
    if (wrong.positions_are_constant) {
      call.lists[compiler::kPositions] = compiled.traced.lists[compiler::kPositions];
      call.lists[compiler::kRopePositions] = compiled.traced.lists[compiler::kRopePositions];
    }
    if (wrong.slots_are_constant) call.lists[compiler::kSlots] = compiled.traced.lists[compiler::kSlots];
    if (wrong.mask_is_constant) call.lists[compiler::kVisible] = compiled.traced.lists[compiler::kVisible];
    if (wrong.cache_is_constant) {
      call.keys = compiled.traced.keys;
      call.values = compiled.traced.values;
      call.slots = compiled.traced.slots;
      call.row_base = compiled.traced.row_base;
    }
    const auto needed = static_cast<std::size_t>(compiled.plan.graph().tokens);  // of a graph for other rows: what fits
    for (std::vector<int>& list : call.lists) list.resize(needed, 0);
    const std::size_t traced_rows = compiled.traced.row_base.size();
    call.row_base.resize(traced_rows, 0);
    const float* out = compiled.plan.run(call);
    const int vocab = spec().vocab;
    for (std::size_t r = 0; r < tokens.size(); ++r) {
      for (std::size_t i = 0; i < tokens[r].size(); ++i) {
        const std::size_t at = std::min(r * static_cast<std::size_t>(shape.tokens) + i, needed - 1);
        const float* row = out + at * static_cast<std::size_t>(vocab);
        if (wrong.output_is_shared)
          late[r].push_back(row);
        else
          logits[r].insert(logits[r].end(), row, row + vocab);
      }
      cache.advance(static_cast<int>(r), static_cast<int>(tokens[r].size()));
    }
    return true;
  }

  /// What the call is to the graph; padding writes nothing and sees one slot.
  std::optional<Failure> bind(StaticCache& cache, const Rows& tokens, const Signature& shape, compiler::Call& call) const {
    for (std::vector<int>& list : call.lists) list.assign(static_cast<std::size_t>(shape.rows) * shape.tokens, 0);
    std::fill(call.lists[compiler::kSlots].begin(), call.lists[compiler::kSlots].end(), -1);
    std::fill(call.lists[compiler::kVisible].begin(), call.lists[compiler::kVisible].end(), 1);
    for (std::size_t r = 0; r < tokens.size(); ++r) {
      const StaticKv& row = cache.row(static_cast<int>(r));
      for (int i = 0; i < static_cast<int>(tokens[r].size()); ++i) {
        const Fed fed{row.facts().length, i, static_cast<int>(tokens[r].size()), row.facts(), spec().context};
        const std::size_t at = r * static_cast<std::size_t>(shape.tokens) + static_cast<std::size_t>(i);
        const int position = seams().position_id(fed), slot = seams().slot(fed);
        if (position < 0 || position >= spec().context)
          return Failure{"IndexError", fmt::format("position {} is outside the {} of the model", position, spec().context)};
        if (!row.holds(slot)) return Failure{"IndexError", fmt::format("slot {} is outside the cache", slot)};
        call.lists[compiler::kTokens][at] =
            static_cast<int>(*seams().embedding_row(tokens[r][static_cast<std::size_t>(i)], spec().vocab));
        call.lists[compiler::kPositions][at] = position;
        call.lists[compiler::kRopePositions][at] = std::clamp(seams().rope_position(fed, position), 0, spec().context - 1);
        call.lists[compiler::kSlots][at] = slot;
        call.lists[compiler::kVisible][at] =
            seams().compiler.pads_are_visible ? std::min(fed.past + shape.tokens, shape.capacity) : seams().visible(fed);
      }
    }
    for (int r = 0; r < shape.rows; ++r) call.row_base.push_back(r < cache.rows() ? cache.row(r).base() : 0);
    call.keys = cache.storage()->keys.data();
    call.values = cache.storage()->values.data();
    call.slots = cache.storage()->slots;
    call.stored = seams().stored;
    if (seams().compiler.cache_is_constant) kept_.push_back(cache.storage());
    return std::nullopt;
  }

  Compiled& graph_for(const Signature& shape, int past, const compiler::Call& call, Report& report) {
    const CompilerSeams& wrong = seams().compiler;
    Signature key = shape;
    if (!wrong.key_has_rows) key.rows = 0;
    if (!wrong.key_has_capacity) key.capacity = 0;
    const auto full = std::make_pair(key, wrong.key_has_past ? past : 0);
    auto at = graphs_.find(full);
    const bool too_long = at != graphs_.end() && at->second->plan.graph().capacity > shape.capacity;
    if (too_long) graphs_.erase(at);  // only where the key misses it: no such cache has these slots
    if (too_long || at == graphs_.end()) {
      report.compilations->push_back({shape.what, compiler::text_of(shape)});
      Plan plan(compiler::fuse_elementwise(compiler::fold_constants(compiler::trace(decoder(), shape))),
                wrong.lifetimes_end_early);
      at = graphs_.emplace(full, std::make_unique<Compiled>(Compiled{std::move(plan), call})).first;
    }
    return *at->second;
  }

  CompilePolicy policy_;
  std::map<std::pair<Signature, int>, std::unique_ptr<Compiled>> graphs_;
  int decode_length_ = 0;  // without padding: what the decode graph was compiled for
  bool dropped_ = false;
  mutable std::vector<StoragePtr> kept_;  // where graphs are tied to a cache
};

}  // namespace

Host compiled() {
  Host host = session_host_of<CompiledEngine>("compiled");
  Configuration& c = host.configuration;
  c.name = "default";
  c.capabilities.insert({"poison", "compilations", "recompile"});
  Declarations& d = c.declarations;
  d.reuse = "library";
  d.last_token_cached = true;
  d.bitwise = {"repeat", "process", "reset", "batch"};
  d.max_capacity = kMostPadded;
  d.append_buckets = kChunks;
  d.row_buckets = kRowBuckets;
  d.capacity_buckets = kCapacityBuckets;
  d.compile_budget = {{"prefill", 1}, {"decode", 0}};
  Configuration all = c;
  all.name = "padded";
  all.declarations.compile_budget["decode"] = 1;
  host.others = {std::move(all)};
  return host;
}

}  // namespace cachet::backends
