// Folding, fusion and the sweep of what is left unused.
#include "backends/compiler/passes.h"

#include <algorithm>
#include <cmath>

namespace cachet::compiler {
namespace {

const float* operand(const Node& node, int row) {
  return &node.constant[node.rows == 1 ? 0 : static_cast<std::size_t>(row) * node.columns];
}

void fold(const Graph& graph, Node& node) {
  const auto input = [&](std::size_t i) -> const Node& { return graph.nodes[static_cast<std::size_t>(node.inputs[i])]; };
  const Node& x = input(0);
  std::vector<float> out(static_cast<std::size_t>(node.rows) * node.columns);
  for (int r = 0; r < node.rows; ++r) {
    float* row = &out[static_cast<std::size_t>(r) * node.columns];
    if (node.op == Op::kTranspose) {
      for (int c = 0; c < node.columns; ++c) row[c] = x.constant[static_cast<std::size_t>(c) * x.columns + r];
    } else if (node.op == Op::kRows) {
      std::copy_n(&x.constant[static_cast<std::size_t>(node.first + r) * x.columns], node.columns, row);
    } else {
      const Node* y = node.inputs.size() > 1 ? &input(1) : nullptr;
      apply_row(node.op, operand(x, r), x.columns > 1, y != nullptr ? operand(*y, r) : nullptr, y != nullptr && y->columns > 1,
                node.columns, graph.activation, row);
    }
  }
  node.op = Op::kConstant;
  node.inputs.clear();
  node.constant = std::move(out);
}

Graph without_unused(Graph graph) {
  std::vector<bool> used(graph.nodes.size());
  for (std::size_t n = graph.nodes.size(); n-- > 0;) {
    const Node& node = graph.nodes[n];
    used[n] = used[n] || static_cast<int>(n) == graph.output || node.op == Op::kWrite;
    if (!used[n]) continue;
    for (const int i : node.inputs) used[static_cast<std::size_t>(i)] = true;
  }
  std::vector<int> now(graph.nodes.size(), -1);
  std::vector<Node> kept;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    if (!used[n]) continue;
    Node node = std::move(graph.nodes[n]);
    for (int& i : node.inputs) i = now[static_cast<std::size_t>(i)];
    now[n] = static_cast<int>(kept.size());
    kept.push_back(std::move(node));
  }
  graph.output = now[static_cast<std::size_t>(graph.output)];
  graph.nodes = std::move(kept);
  return graph;
}

/// The node's own operation as a chain of one.
std::vector<Micro> chain_of(const Node& node) {
  if (node.op == Op::kFused) return node.chain;
  return {{node.op, 0, node.inputs.size() > 1 ? 1 : -1}};
}

/// `user` with `from`, its only source of that value, computed inside.
Node joined(const Node& from, int from_index, const Node& user) {
  Node out = user;
  out.op = Op::kFused;
  out.inputs = from.inputs;
  for (const int i : user.inputs)
    if (i != from_index) out.inputs.push_back(i);
  const int before = static_cast<int>(from.inputs.size()), all = static_cast<int>(out.inputs.size());
  out.chain.clear();
  for (Micro micro : chain_of(from)) {
    for (int* operand_of : {&micro.a, &micro.b})
      if (*operand_of >= before) *operand_of += all - before;
    out.chain.push_back(micro);
  }
  const int result = all + static_cast<int>(out.chain.size()) - 1;
  std::vector<int> moved;  // where the user's inputs are now
  int next = before;
  for (const int i : user.inputs) moved.push_back(i == from_index ? result : next++);
  const int of_user = static_cast<int>(user.inputs.size()), shift = all + static_cast<int>(out.chain.size()) - of_user;
  for (Micro micro : chain_of(user)) {
    for (int* operand_of : {&micro.a, &micro.b})
      if (*operand_of >= of_user)
        *operand_of += shift;
      else if (*operand_of >= 0)
        *operand_of = moved[static_cast<std::size_t>(*operand_of)];
    out.chain.push_back(micro);
  }
  return out;
}

}  // namespace

void apply_row(Op op, const float* a, int sa, const float* b, int sb, int columns, float (*activation)(float), float* out) {
  switch (op) {
    case Op::kAdd:
      for (int c = 0; c < columns; ++c) out[c] = a[c * sa] + b[c * sb];
      break;
    case Op::kSubtract:
      for (int c = 0; c < columns; ++c) out[c] = a[c * sa] - b[c * sb];
      break;
    case Op::kMultiply:
      for (int c = 0; c < columns; ++c) out[c] = a[c * sa] * b[c * sb];
      break;
    case Op::kDivide:
      for (int c = 0; c < columns; ++c) out[c] = a[c * sa] / b[c * sb];
      break;
    case Op::kExp:
      for (int c = 0; c < columns; ++c) out[c] = std::exp(a[c * sa]);
      break;
    case Op::kRsqrt:
      for (int c = 0; c < columns; ++c) out[c] = 1.0F / std::sqrt(a[c * sa]);
      break;
    case Op::kCos:
      for (int c = 0; c < columns; ++c) out[c] = std::cos(a[c * sa]);
      break;
    case Op::kSin:
      for (int c = 0; c < columns; ++c) out[c] = std::sin(a[c * sa]);
      break;
    default:  // kActivation
      for (int c = 0; c < columns; ++c) out[c] = activation(a[c * sa]);
  }
}

const char* name_of(Op op) {
  static const char* const kNames[] = {"constant", "add",        "subtract", "multiply",  "divide", "exp",
                                       "rsqrt",    "activation", "cos",      "sin",       "mask",   "fused",
                                       "row_mean", "row_sum",    "row_max",  "transpose", "rows",   "gather",
                                       "matmul",   "rotate",     "write",    "scores",    "mix"};
  return kNames[static_cast<int>(op)];
}

bool is_elementwise(Op op) { return op >= Op::kAdd && op <= Op::kFused && op != Op::kMask; }

Graph fold_constants(Graph graph) {
  for (Node& node : graph.nodes) {
    const bool foldable = is_elementwise(node.op) || node.op == Op::kTranspose || node.op == Op::kRows;
    if (foldable && std::all_of(node.inputs.begin(), node.inputs.end(),
                                [&](int i) { return graph.nodes[static_cast<std::size_t>(i)].op == Op::kConstant; }))
      fold(graph, node);
  }
  return without_unused(std::move(graph));
}

Graph fuse_elementwise(Graph graph) {
  std::vector<int> users(graph.nodes.size());
  for (const Node& node : graph.nodes)
    for (const int i : node.inputs) ++users[static_cast<std::size_t>(i)];
  for (Node& node : graph.nodes) {
    if (!is_elementwise(node.op)) continue;
    for (bool again = true; again;) {
      again = false;
      for (const int i : node.inputs) {
        const Node& from = graph.nodes[static_cast<std::size_t>(i)];
        const bool same = from.rows == node.rows && from.columns == node.columns;
        if (!is_elementwise(from.op) || !same || users[static_cast<std::size_t>(i)] != 1) continue;
        node = joined(from, i, node);
        again = true;
        break;
      }
    }
  }
  return without_unused(std::move(graph));
}

}  // namespace cachet::compiler
