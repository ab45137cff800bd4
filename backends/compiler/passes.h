// Rewrites of a graph that leave what it computes as it is.
#pragma once

#include "backends/compiler/graph.h"

namespace cachet::compiler {

/// Computes what depends on constants alone, and drops what nothing uses then.
Graph fold_constants(Graph graph);

/// Joins elementwise operations whose result only the next one reads into one node, computed row by row.
Graph fuse_elementwise(Graph graph);

/// One elementwise operation on `columns` numbers. `stride` 0: the operand is one number.
void apply_row(Op op, const float* a, int a_stride, const float* b, int b_stride, int columns, float (*activation)(float),
               float* out);

}  // namespace cachet::compiler
