// A decoder's forward pass as a graph of static shapes: matrices of float32, (rows, columns), and lists of integers that a call
// supplies. Nodes are in an order in which they can be computed.
#pragma once

#include <vector>

#include "backends/kernels.h"

namespace cachet::compiler {

enum class Op {
  kConstant,
  // Elementwise; an operand of one row or one column is broadcast.
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kExp,
  kRsqrt,  ///< 1 / sqrt
  kActivation,
  kCos,
  kSin,
  kMask,   ///< column c of row r stays where c < visible[r / group], else minus infinity
  kFused,  ///< a chain of the above
  // Over the columns of a row.
  kRowMean,
  kRowSum,
  kRowMax,
  // Others.
  kTranspose,
  kRows,    ///< `count` rows from `first` on
  kGather,  ///< row ids[r] of a table
  kMatMul,  ///< (rows, in) (in, columns)
  kRotate,  ///< heads turned by tables of cosines and sines
  kWrite,   ///< keys and values into the cache, at slots[r]; nothing where that is negative
  kScores,  ///< queries by the cache's keys: (rows * heads, capacity)
  kMix,     ///< the cache's values by weights (rows * heads, capacity): (rows, heads * head)
};
const char* name_of(Op op);
bool is_elementwise(Op op);

/// The lists of integers that a call supplies, one number a token.
enum Input { kNone = -1, kTokens, kPositions, kRopePositions, kSlots, kVisible, kInputs };

/// One operation of a fused chain; an operand below `inputs of the node` is an input, else the result of an earlier operation.
struct Micro {
  Op op = Op::kAdd;
  int a = 0, b = -1;
};

struct Node {
  Op op = Op::kConstant;
  int rows = 0, columns = 0;
  std::vector<int> inputs;      ///< nodes
  Input list = kNone;           ///< of kGather, kWrite, kMask and kMix
  int layer = 0;                ///< of kWrite, kScores, kMix
  int first = 0;                ///< of kRows
  std::vector<float> constant;  ///< (rows, columns) of kConstant
  std::vector<Micro> chain;     ///< of kFused
};

struct Graph {
  std::vector<Node> nodes;
  int output = -1;
  int tokens = 0;    ///< rows of a call times tokens of a row
  int capacity = 0;  ///< slots of a row of the cache
  int heads = 0, kv_heads = 0, head = 0;
  std::vector<int> kv_of_head;  ///< which keys the queries of a head meet
  kernels::Pairs pairs = kernels::Pairs::kHalves;
  float (*activation)(float) = nullptr;

  int add(Node node) {
    nodes.push_back(std::move(node));
    return static_cast<int>(nodes.size()) - 1;
  }
};

}  // namespace cachet::compiler
