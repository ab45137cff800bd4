// The forward pass of decoder.cpp in primitive operations. Weights are used as they are stored: what can be computed from them
// alone (transposes, the parts of the joint projection, the scale of the scores, the angles of rotary positions) is left to
// folding.
#include "backends/compiler/trace.h"

#include <fmt/format.h>

#include <cmath>

namespace cachet::compiler {
namespace {

using backends::Decoder;

class Tracer {
 public:
  Tracer(const Decoder& decoder, const Signature& signature) : decoder_(decoder), weights_(decoder.weights()) {
    graph_.tokens = signature.rows * signature.tokens;
    graph_.capacity = signature.capacity;
    graph_.heads = weights_.heads;
    graph_.kv_heads = weights_.kv_heads;
    graph_.head = weights_.head;
    const auto lowered = decoder.seams().compiler.activation;
    graph_.activation = lowered != nullptr ? lowered : weights_.activation;
    graph_.pairs = decoder.seams().rope_pairs;
    for (int h = 0; h < weights_.heads; ++h)
      graph_.kv_of_head.push_back(decoder.seams().kv_head(h, weights_.heads, weights_.kv_heads));
  }

  Graph graph() && {
    const ModelSpec& spec = decoder_.spec();
    const int table = constant(spec.vocab, spec.width, weights_.wte);
    int x = gather(table, kTokens);
    if (!weights_.wpe.empty()) x = elementwise(Op::kAdd, x, gather(constant(spec.context, spec.width, weights_.wpe), kPositions));
    if (!weights_.frequencies.empty()) angles(spec.context);
    for (int l = 0; l < spec.layers; ++l) x = block(weights_.blocks[static_cast<std::size_t>(l)], l, x);
    const bool tied = weights_.lm_head.empty() || decoder_.seams().head_is_embedding;
    const int head = tied ? table : constant(spec.vocab, spec.width, weights_.lm_head);
    graph_.output = matmul(norm(weights_.ln_f, x), transpose(head));
    return std::move(graph_);
  }

 private:
  int constant(int rows, int columns, std::vector<float> values) {
    return graph_.add({Op::kConstant, rows, columns, {}, kNone, 0, 0, std::move(values), {}});
  }
  int scalar(float value) { return constant(1, 1, {value}); }
  const Node& at(int n) const { return graph_.nodes[static_cast<std::size_t>(n)]; }

  int elementwise(Op op, int a, int b = -1) {
    Node node{op, at(a).rows, at(a).columns, {a}, kNone, 0, 0, {}, {}};
    if (b >= 0) {
      node.inputs.push_back(b);
      node.rows = std::max(node.rows, at(b).rows);
      node.columns = std::max(node.columns, at(b).columns);
    }
    return graph_.add(std::move(node));
  }
  int reduce(Op op, int x) { return graph_.add({op, at(x).rows, 1, {x}, kNone, 0, 0, {}, {}}); }
  int gather(int table, Input list) {
    return graph_.add({Op::kGather, graph_.tokens, at(table).columns, {table}, list, 0, 0, {}, {}});
  }
  int transpose(int x) { return graph_.add({Op::kTranspose, at(x).columns, at(x).rows, {x}, kNone, 0, 0, {}, {}}); }
  int rows(int x, int first, int count) { return graph_.add({Op::kRows, count, at(x).columns, {x}, kNone, 0, first, {}, {}}); }
  int matmul(int x, int w) { return graph_.add({Op::kMatMul, at(x).rows, at(w).columns, {x, w}, kNone, 0, 0, {}, {}}); }

  /// x W^T + bias, with the outputs from `first` on; `scale` times that.
  int linear(const Decoder::Linear& linear, int x, int first, int count, std::optional<float> scale = std::nullopt) {
    const auto scaled = [&](int n) { return scale ? elementwise(Op::kMultiply, n, scalar(*scale)) : n; };
    const int w = rows(constant(linear.out, linear.in, linear.weight), first, count);
    const int y = matmul(x, transpose(scaled(w)));
    if (linear.bias.empty()) return y;
    return elementwise(Op::kAdd, y, transpose(scaled(rows(constant(linear.out, 1, linear.bias), first, count))));
  }
  int linear(const Decoder::Linear& l, int x) { return linear(l, x, 0, l.out); }

  int norm(const Decoder::Norm& norm, int x) {
    const int width = at(x).columns;
    if (!norm.bias.empty()) x = elementwise(Op::kSubtract, x, reduce(Op::kRowMean, x));
    const int variance = reduce(Op::kRowMean, elementwise(Op::kMultiply, x, x));
    const int scale = elementwise(Op::kRsqrt, elementwise(Op::kAdd, variance, scalar(weights_.epsilon)));
    const int y = elementwise(Op::kMultiply, elementwise(Op::kMultiply, x, scale), constant(1, width, norm.gain));
    return norm.bias.empty() ? y : elementwise(Op::kAdd, y, constant(1, width, norm.bias));
  }

  /// Tables of all positions' cosines and sines.
  void angles(int context) {
    std::vector<float> positions;
    for (int p = 0; p < context; ++p) positions.push_back(static_cast<float>(p));
    const int half = static_cast<int>(weights_.frequencies.size());
    const int angle =
        elementwise(Op::kMultiply, constant(context, 1, std::move(positions)), constant(1, half, weights_.frequencies));
    cosines_ = gather(elementwise(Op::kCos, angle), kRopePositions);
    sines_ = gather(elementwise(Op::kSin, angle), kRopePositions);
  }
  int rotated(int x) {
    if (cosines_ < 0) return x;
    return graph_.add({Op::kRotate, at(x).rows, at(x).columns, {x, cosines_, sines_}, kNone, 0, 0, {}, {}});
  }

  int block(const Decoder::Block& b, int layer, int x) {
    const int queries = weights_.heads * weights_.head, keys = decoder_.kv_width();
    const int normed = norm(b.ln_1, x);
    const int q = rotated(linear(b.c_attn, normed, 0, queries, 1.0F / std::sqrt(static_cast<float>(weights_.head))));
    const int k = rotated(linear(b.c_attn, normed, queries, keys));
    const int v = linear(b.c_attn, normed, queries + keys, keys);
    graph_.add({Op::kWrite, 0, 0, {k, v}, kSlots, layer, 0, {}, {}});
    const int scores = graph_.add({Op::kScores, graph_.tokens * weights_.heads, graph_.capacity, {q}, kNone, layer, 0, {}, {}});
    const int masked = elementwise(Op::kMask, scores);
    graph_.nodes.back().list = kVisible;
    const int e = elementwise(Op::kExp, elementwise(Op::kSubtract, masked, reduce(Op::kRowMax, masked)));
    const int p = elementwise(Op::kDivide, e, reduce(Op::kRowSum, e));
    const int mixed = graph_.add({Op::kMix, graph_.tokens, queries, {p}, kVisible, layer, 0, {}, {}});
    x = elementwise(Op::kAdd, x, linear(b.c_proj, mixed));
    const int second = norm(b.ln_2, x);
    int inner = linear(b.c_fc, second);
    if (b.gate.out == 0)
      inner = elementwise(Op::kActivation, inner);
    else
      inner = elementwise(Op::kMultiply, inner, elementwise(Op::kActivation, linear(b.gate, second)));
    return elementwise(Op::kAdd, x, linear(b.mlp_proj, inner));
  }

  const Decoder& decoder_;
  const Decoder::Weights& weights_;
  Graph graph_;
  int cosines_ = -1, sines_ = -1;
};

}  // namespace

std::string text_of(const Signature& s) { return fmt::format("rows={} tokens={} capacity={}", s.rows, s.tokens, s.capacity); }

Graph trace(const Decoder& decoder, const Signature& signature) { return Tracer(decoder, signature).graph(); }

}  // namespace cachet::compiler
