// A graph made ready to run: its operations in order, and one arena in which every value has its place for as long as it lives.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "backends/compiler/graph.h"

namespace cachet::compiler {

/// What a call supplies.
struct Call {
  std::vector<int> lists[kInputs];  ///< each of (rows times tokens)
  std::vector<int> row_base;        ///< (rows) first slot of each row in the cache
  float* keys = nullptr;            ///< (layers, slots, kv_heads * head)
  float* values = nullptr;
  int slots = 0;  ///< of all rows
  std::function<float(float)> stored;
};

class Plan {
 public:
  /// `early`: nodes by which a lifetime is believed to end before its last use; 0 is correct.
  explicit Plan(Graph graph, int early = 0);

  /// Logits (rows times tokens, vocab), valid until the next run. One call at a time.
  const float* run(const Call& call);

  std::size_t arena() const { return arena_.size(); }  ///< numbers in the arena
  std::size_t total() const { return total_; }         ///< numbers that all values would take side by side
  int vocab() const { return node(graph_.output).columns; }
  const Graph& graph() const { return graph_; }

  /// One line an operation: shape, operands, place in the arena; then the sums.
  std::string explain() const;

 private:
  const Node& node(int n) const { return graph_.nodes[static_cast<std::size_t>(n)]; }
  const float* value(int n) const;
  float* place(int n) { return &arena_[offset_[static_cast<std::size_t>(n)]]; }
  void place_values(int early);
  void run_node(int n, const Call& call);
  void fused(int n);

  Graph graph_;
  std::vector<std::size_t> offset_;   // (nodes) in the arena
  std::vector<std::size_t> scratch_;  // (nodes) of the registers of fused chains
  std::vector<float> arena_;
  std::size_t total_ = 0;
};

}  // namespace cachet::compiler
