// All arguments that are not positive count from the end, and zero from the end is the end.
#include "backends/defect.h"

namespace cachet::backends {

Defect crop_to_zero_keeps_all() {
  return {"crop_to_zero_keeps_all",
          "crop(0) is taken as relative and keeps everything (crop-leaves-tail, F11): huggingface/transformers#47433",
          "eager",
          {"crop_forgets", "seq_length_counts_tokens", "logits_match_reference"},
          4,
          [](Seams& seams) { seams.crop_target = [](int asked, int length) { return asked > 0 ? asked : length + asked; }; }};
}

}  // namespace cachet::backends
