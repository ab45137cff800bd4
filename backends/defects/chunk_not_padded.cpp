// What is smaller than a bucket is not padded to it, so each length is a shape of its own.
#include "backends/defect.h"

namespace cachet::backends {

Defect chunk_not_padded() {
  return {"chunk_not_padded",
          "the last part of a prompt is compiled for its own length: keras-team/keras-hub#779",
          "compiled",
          {"shapes_stay_static"},
          1,
          [](Seams& seams) { seams.compiler.chunks_are_padded = false; },
          true,
          "padded"};
}

}  // namespace cachet::backends
