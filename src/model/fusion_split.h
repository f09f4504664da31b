// Where a network is cut into extractor and classifier, to fuse the features of two extractors there.
#pragma once

#include <vector>

#include "base/result.h"
#include "model/layer_spec.h"

namespace muster {

// Puts a fusion before the first of the dense layers with which the network ends: those behind its last layer of
// another kind that has parameters. A network of dense layers only is cut before the last one. `specs` is a list
// without that last layer, which resolve_layers() adds. Refuses a network with no parameters before it.
[[nodiscard]] Status insert_fusion(std::vector<LayerSpec>& specs, Fusion fusion, const std::string& model);

// "conv", "multi" or "single".
[[nodiscard]] const char* name_of(Fusion fusion);

}  // namespace muster
