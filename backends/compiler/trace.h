// Traces a decoder once for a shape: the forward pass as a graph.
#pragma once

#include <compare>
#include <string>

#include "backends/compiler/graph.h"
#include "backends/decoder.h"

namespace cachet::compiler {

/// What a graph is compiled for.
struct Signature {
  std::string what;  ///< "prefill" or "decode"
  int rows = 0;
  int tokens = 0;    ///< of a row
  int capacity = 0;  ///< slots of a row of the cache

  auto operator<=>(const Signature&) const = default;
};
std::string text_of(const Signature& signature);  ///< "rows=1 tokens=8 capacity=16"

Graph trace(const backends::Decoder& decoder, const Signature& signature);

}  // namespace cachet::compiler
