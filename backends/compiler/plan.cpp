// Places by size, largest first, each as low as those that live at the same time allow (Pisarchyk and Lee 2020, greedy by size).
#include "backends/compiler/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "backends/compiler/passes.h"

namespace cachet::compiler {
namespace {

struct Buffer {
  int begin = 0, end = 0;  // nodes during which it lives, both included
  std::size_t size = 0, offset = 0;
};

std::size_t size_of(const Node& node) { return static_cast<std::size_t>(node.rows) * static_cast<std::size_t>(node.columns); }

void place_greedily(std::vector<Buffer>& buffers) {
  std::vector<Buffer*> order;
  for (Buffer& b : buffers) order.push_back(&b);
  std::stable_sort(order.begin(), order.end(), [](const Buffer* a, const Buffer* b) { return a->size > b->size; });
  std::vector<const Buffer*> placed;  // by offset
  for (Buffer* b : order) {
    std::size_t at = 0;
    for (const Buffer* other : placed) {
      if (other->end < b->begin || b->end < other->begin) continue;
      if (at + b->size <= other->offset) break;
      at = std::max(at, other->offset + other->size);
    }
    b->offset = at;
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), b, [](const Buffer* x, const Buffer* y) { return x->offset < y->offset; }),
        b);
  }
}

}  // namespace

Plan::Plan(Graph graph, int early) : graph_(std::move(graph)) { place_values(early); }

void Plan::place_values(int early) {
  const int count = static_cast<int>(graph_.nodes.size());
  std::vector<int> last(graph_.nodes.size(), 0);
  for (int n = 0; n < count; ++n)
    for (const int i : node(n).inputs) last[static_cast<std::size_t>(i)] = n;
  for (int n = 0; n < count; ++n) last[static_cast<std::size_t>(n)] = std::max(n, last[static_cast<std::size_t>(n)] - early);
  last[static_cast<std::size_t>(graph_.output)] = count;
  std::vector<Buffer> buffers;
  std::vector<int> buffer(graph_.nodes.size(), -1), registers(graph_.nodes.size(), -1);
  for (int n = 0; n < count; ++n) {
    const auto at = static_cast<std::size_t>(n);
    if (node(n).op == Op::kConstant || node(n).op == Op::kWrite) continue;
    total_ += size_of(node(n));
    for (const int i : node(n).inputs) {  // in place of an operand that ends here
      const int theirs = buffer[static_cast<std::size_t>(i)];
      const bool elementwise = is_elementwise(node(n).op) || node(n).op == Op::kMask;
      if (buffer[at] >= 0 || !elementwise || theirs < 0 || last[static_cast<std::size_t>(i)] != n) continue;
      if (node(i).rows != node(n).rows || node(i).columns != node(n).columns ||
          buffers[static_cast<std::size_t>(theirs)].end != n)
        continue;
      buffer[at] = theirs;
      buffers[static_cast<std::size_t>(theirs)].end = last[at];
    }
    if (buffer[at] < 0) {
      buffer[at] = static_cast<int>(buffers.size());
      buffers.push_back({n, last[at], size_of(node(n))});
    }
    if (node(n).op == Op::kFused) {
      registers[at] = static_cast<int>(buffers.size());
      buffers.push_back({n, n, node(n).chain.size() * static_cast<std::size_t>(node(n).columns)});
    }
  }
  place_greedily(buffers);
  std::size_t size = 0;
  for (const Buffer& b : buffers) size = std::max(size, b.offset + b.size);
  arena_.resize(size);
  offset_.resize(graph_.nodes.size());
  scratch_.resize(graph_.nodes.size());
  for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
    if (buffer[n] >= 0) offset_[n] = buffers[static_cast<std::size_t>(buffer[n])].offset;
    if (registers[n] >= 0) scratch_[n] = buffers[static_cast<std::size_t>(registers[n])].offset;
  }
}

const float* Plan::value(int n) const {
  return node(n).op == Op::kConstant ? node(n).constant.data() : &arena_[offset_[static_cast<std::size_t>(n)]];
}

const float* Plan::run(const Call& call) {
  for (int n = 0; n < static_cast<int>(graph_.nodes.size()); ++n)
    if (node(n).op != Op::kConstant) run_node(n, call);
  return value(graph_.output);
}

void Plan::fused(int n) {
  const Node& f = node(n);
  const int inputs = static_cast<int>(f.inputs.size()), last = static_cast<int>(f.chain.size()) - 1;
  float* registers = &arena_[scratch_[static_cast<std::size_t>(n)]];
  for (int r = 0; r < f.rows; ++r) {
    const auto operand = [&](int i, int& stride) -> const float* {
      stride = 1;
      if (i < 0) return nullptr;
      if (i >= inputs) return registers + static_cast<std::ptrdiff_t>(i - inputs) * f.columns;
      const Node& from = node(f.inputs[static_cast<std::size_t>(i)]);
      stride = from.columns > 1 ? 1 : 0;
      return value(f.inputs[static_cast<std::size_t>(i)]) + (from.rows > 1 ? static_cast<std::ptrdiff_t>(r) * from.columns : 0);
    };
    for (int m = 0; m <= last; ++m) {
      const Micro& micro = f.chain[static_cast<std::size_t>(m)];
      int sa = 1, sb = 1;
      const float *a = operand(micro.a, sa), *b = operand(micro.b, sb);
      float* out = m == last ? place(n) + static_cast<std::ptrdiff_t>(r) * f.columns
                             : registers + static_cast<std::ptrdiff_t>(m) * f.columns;
      apply_row(micro.op, a, sa, b, sb, f.columns, graph_.activation, out);
    }
  }
}

void Plan::run_node(int n, const Call& call) {
  const Node& f = node(n);
  const int kv_width = graph_.kv_heads * graph_.head, head = graph_.head, heads = graph_.heads;
  const int of_row = graph_.tokens / static_cast<int>(call.row_base.size());  // tokens
  const float* x = value(f.inputs.front());
  const int width = node(f.inputs.front()).columns;
  float* out = f.op == Op::kWrite ? nullptr : place(n);
  const auto cached = [&](float* all, int token, int slot) {
    const std::ptrdiff_t at =
        static_cast<std::ptrdiff_t>(f.layer) * call.slots + call.row_base[static_cast<std::size_t>(token / of_row)] + slot;
    return all + at * kv_width;
  };
  const auto list = [&](int i) { return call.lists[f.list][static_cast<std::size_t>(i)]; };
  switch (f.op) {
    case Op::kFused:
      return fused(n);
    case Op::kGather:
      for (int t = 0; t < f.rows; ++t)
        std::copy_n(x + static_cast<std::ptrdiff_t>(list(t)) * width, width, out + static_cast<std::ptrdiff_t>(t) * width);
      return;
    case Op::kMatMul: {
      const float* w = value(f.inputs[1]);
      for (int t = 0; t < f.rows; ++t) {
        float* y = out + static_cast<std::ptrdiff_t>(t) * f.columns;
        std::fill_n(y, f.columns, 0.0F);
        for (int i = 0; i < width; ++i) {
          const float xi = x[static_cast<std::ptrdiff_t>(t) * width + i];
          const float* wi = w + static_cast<std::ptrdiff_t>(i) * f.columns;
          for (int o = 0; o < f.columns; ++o) y[o] += xi * wi[o];
        }
      }
      return;
    }
    case Op::kRotate: {
      const float *cosines = value(f.inputs[1]), *sines = value(f.inputs[2]);
      const int half = head / 2;
      const bool halves = graph_.pairs == kernels::Pairs::kHalves;
      for (int t = 0; t < f.rows; ++t)
        for (int h = 0; h < f.columns / head; ++h) {
          const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(t) * f.columns + static_cast<std::ptrdiff_t>(h) * head;
          for (int i = 0; i < half; ++i) {
            const int a = halves ? i : 2 * i, b = halves ? i + half : 2 * i + 1;
            const float c = cosines[t * half + i], s = sines[t * half + i];
            out[at + a] = x[at + a] * c - x[at + b] * s;
            out[at + b] = x[at + b] * c + x[at + a] * s;
          }
        }
      return;
    }
    case Op::kWrite: {
      const float* v = value(f.inputs[1]);
      for (int t = 0; t < graph_.tokens; ++t) {
        if (list(t) < 0) continue;
        float *key = cached(call.keys, t, list(t)), *val = cached(call.values, t, list(t));
        for (int i = 0; i < kv_width; ++i) {
          key[i] = call.stored(x[static_cast<std::ptrdiff_t>(t) * kv_width + i]);
          val[i] = call.stored(v[static_cast<std::ptrdiff_t>(t) * kv_width + i]);
        }
      }
      return;
    }
    case Op::kScores:
      for (int r = 0; r < f.rows; ++r)
        for (int s = 0; s < f.columns; ++s) {
          const float* key = cached(call.keys, r / heads, s) + graph_.kv_of_head[static_cast<std::size_t>(r % heads)] * head;
          out[static_cast<std::ptrdiff_t>(r) * f.columns + s] =
              kernels::dot(x + static_cast<std::ptrdiff_t>(r) * head, key, head, kernels::Summation::kForward);
        }
      return;
    case Op::kMask:
      for (int r = 0; r < f.rows; ++r)
        for (int s = 0; s < f.columns; ++s) {
          const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(r) * f.columns + s;
          out[at] = s < list(r / heads) ? x[at] : -INFINITY;
        }
      return;
    case Op::kMix:
      for (int r = 0; r < f.rows * heads; ++r) {
        float* y = out + static_cast<std::ptrdiff_t>(r) * head;
        std::fill_n(y, head, 0.0F);
        for (int s = 0; s < std::min(list(r / heads), graph_.capacity); ++s) {  // a weight of zero would still read a NaN
          const float* v = cached(call.values, r / heads, s) + graph_.kv_of_head[static_cast<std::size_t>(r % heads)] * head;
          const float p = x[static_cast<std::ptrdiff_t>(r) * graph_.capacity + s];
          for (int d = 0; d < head; ++d) y[d] += p * v[d];
        }
      }
      return;
    case Op::kRowMean:
    case Op::kRowSum:
    case Op::kRowMax:
      for (int r = 0; r < f.rows; ++r) {
        const float* row = x + static_cast<std::ptrdiff_t>(r) * width;
        if (f.op == Op::kRowMax) {
          out[r] = *std::max_element(row, row + width);
          continue;
        }
        const float sum = kernels::sum(row, width, kernels::Summation::kForward);
        out[r] = f.op == Op::kRowMean ? sum / static_cast<float>(width) : sum;
      }
      return;
    default: {  // elementwise by itself
      const Node* second = f.inputs.size() > 1 ? &node(f.inputs[1]) : nullptr;
      const float* y = second != nullptr ? value(f.inputs[1]) : nullptr;
      const Node& first = node(f.inputs.front());
      for (int r = 0; r < f.rows; ++r)
        apply_row(f.op, x + (first.rows > 1 ? static_cast<std::ptrdiff_t>(r) * width : 0), width > 1,
                  second != nullptr ? y + (second->rows > 1 ? static_cast<std::ptrdiff_t>(r) * second->columns : 0) : nullptr,
                  second != nullptr && second->columns > 1, f.columns, graph_.activation,
                  out + static_cast<std::ptrdiff_t>(r) * f.columns);
    }
  }
}

std::string Plan::explain() const {
  std::string text;
  for (int n = 0; n < static_cast<int>(graph_.nodes.size()); ++n) {
    const Node& f = node(n);
    std::string name = name_of(f.op);
    for (const Micro& micro : f.chain) name += std::string(&micro == f.chain.data() ? " " : ",") + name_of(micro.op);
    text += fmt::format("%{} = {} ({}, {})", n, name, f.rows, f.columns);
    for (const int i : f.inputs) text += fmt::format(" %{}", i);
    if (f.op != Op::kConstant && f.op != Op::kWrite) text += fmt::format(" at {}", offset_[static_cast<std::size_t>(n)]);
    text += "\n";
  }
  return text + fmt::format("arena {} numbers; all values side by side {}\n", arena(), total());
}

}  // namespace cachet::compiler
