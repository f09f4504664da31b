// From the layers of a list to those that run: neighbours that one kernel does better together become one layer (a
// convolution with its normalisation, ReLU and pooling; a dense layer with its ReLU; a residual block), and relays
// stand where formats differ.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "model/layer.h"
#include "model/layer_face.h"

namespace muster {

// Precondition: the faces come from resolve_layers().
[[nodiscard]] std::vector<std::unique_ptr<Layer>> lower_layers(std::span<const LayerFace> faces);

}  // namespace muster
