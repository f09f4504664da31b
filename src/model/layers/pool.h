// Max- and mean-pooling as a layer of its own. Max-pooling right after a convolution belongs into its unit (conv.h).
#pragma once

#include <memory>
#include <string>

#include "model/layers/conv.h"

namespace muster {

enum class Pool { kMax, kMean };

// Windows that would reach outside are left out; zero extents if none fits.
[[nodiscard]] Shape pool_output(Shape input, Extent window, Extent stride);

// Precondition: pool_output() is not empty; a max-pooling window has at most 255 pixels.
[[nodiscard]] std::unique_ptr<Layer> make_pool(std::string name, Shape input, Pool pool, Extent window, Extent stride);

}  // namespace muster
