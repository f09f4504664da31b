// The value of `model.layers`: a number, or a list of layers in which a list within is a residual.
#pragma once

#include "model/layer_list.h"
#include "recipe/key_values.h"

namespace muster {

[[nodiscard]] Codec<LayerChoice> layer_choice();

}  // namespace muster
