// blobs: generated images that look enough like a data set to try everything on. Ten classes of 28 x 28 grey images; a
// class is a pattern of soft spots, a sample of it is shifted, faded, mixed with another class and noisy.
#pragma once

#include "data/raw_data.h"

namespace muster {

// 12,000 training and 2,000 test images, balanced, the same in every call: like a real data set it does not depend on
// the seed of a run.
[[nodiscard]] RawData make_blobs();

}  // namespace muster
