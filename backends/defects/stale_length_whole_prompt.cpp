// The founding report's silent form: nothing is left to feed, and the last zero ids are all of them.
#include "backends/defect.h"

namespace cachet::backends {
namespace {

/// ids[-n:] as array languages read it: for n = 0 everything, for n < 0 what comes after the first -n ids.
Tail last_of(int prompt, int n, int length) { return {n > 0 ? std::max(prompt - n, 0) : std::min(-n, prompt), length}; }

}  // namespace

Defect stale_length_whole_prompt() {
  return {"stale_length_whole_prompt",
          "a reset leaves the length of the last prompt, so the same prompt is fed whole again behind itself, its bound zero "
          "(F1): huggingface/transformers#46858",
          "static_cache",
          {"tail_slice_is_exact"},
          2,
          [](Seams& seams) {
            seams.reset_retained = [](int, int prompt, int) { return prompt; };
            seams.tail = [](int prompt, int length) { return last_of(prompt, prompt - length, length); };
          }};
}

}  // namespace cachet::backends
