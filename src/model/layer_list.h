// LayerList: a network as a recipe writes it, one line of words per layer. What the words mean is in layer_spec.h.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace muster {

// A layer, e.g. "conv 32 5 pad same"; a "residual" has the layers of its branch inside.
struct LayerItem {
  std::string words;
  std::vector<LayerItem> inside{};
  bool operator==(const LayerItem&) const = default;
};
using LayerList = std::vector<LayerItem>;

// What `model.layers` may hold: how many recurrent layers the network `lstm` has, or the list of the network `layers`.
struct LayerChoice {
  LayerChoice(std::uint32_t count = 2) : depth(count) {}        // NOLINT(google-explicit-constructor)
  LayerChoice(LayerList written) : list(std::move(written)) {}  // NOLINT(google-explicit-constructor)
  std::uint32_t depth = 2;
  LayerList list{};  // empty: `depth` counts
};

}  // namespace muster
