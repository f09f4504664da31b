// Fusion: the layer between extractor and classifier that joins the features of the trained extractor with those of a
// frozen copy of it (FedFusion). In training the frozen ones are what the plan of the frozen parameters left (see
// Compiler::frozen()); in evaluation there is one extractor, whose features take both places.
#pragma once

#include <memory>
#include <string>

#include "model/layer.h"
#include "model/layer_spec.h"

namespace muster {

// Reads and delivers rows. Its parameters start such that it passes the trained features on, bit for bit:
//   conv:   weight [1][1][2 channels][channels], a 1 x 1 convolution of (trained, frozen) features; identity over zeros
//   multi:  share [channels], (1 - share) * trained + share * frozen; zeros
//   single: share [1], likewise
[[nodiscard]] std::unique_ptr<Layer> make_fusion(std::string name, Shape shape, Fusion fusion);

}  // namespace muster
