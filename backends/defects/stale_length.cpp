// The founding report: what is left to feed is computed from a length that outlived the storage it counted.
#include "backends/defect.h"

namespace cachet::backends {
namespace {

/// ids[-n:] as array languages read it: for n = 0 everything, for n < 0 what comes after the first -n ids.
Tail last_of(int prompt, int n, int length) { return {n > 0 ? std::max(prompt - n, 0) : std::min(-n, prompt), length}; }

}  // namespace

Defect stale_length() {
  return {"stale_length",
          "a reset does not reach the length, so the next call feeds an empty tail, its bound below zero (F1): "
          "huggingface/transformers#46858",
          "static_cache",
          {"tail_slice_is_exact", "repeat_call"},
          2,
          [](Seams& seams) {
            seams.reset_retained = [](int, int, int length) { return length; };
            seams.tail = [](int prompt, int length) { return last_of(prompt, prompt - length, length); };
          }};
}

}  // namespace cachet::backends
