// Fits the layers of a list to the data: shapes from layer to layer, names, parameters. All that can be wrong with a
// list is found here, so that lowering.h cannot fail.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/layer_face.h"

namespace muster {

// The last layer, dense with `outputs` units, is added. Errors begin with the layer's place.
[[nodiscard]] Result<std::vector<LayerFace>> resolve_layers(std::span<const LayerSpec> specs, Shape data,
                                                            std::uint32_t outputs);

}  // namespace muster
