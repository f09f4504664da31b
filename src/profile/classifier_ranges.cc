#include <algorithm>

#include "profile/formulas.h"

namespace muster {

Result<std::vector<ParameterRange>> classifier_ranges(const Network& network, const std::string& layers, bool bias) {
  struct DenseLayer {
    ParameterRange weight;
    ParameterRange with_bias;
  };
  // A dense layer is a matrix and the vector after it.
  std::vector<DenseLayer> dense;
  for (const ParameterTensor& tensor : network.tensors()) {
    if (!tensor.trained || tensor.range.offset < network.classifier().offset) continue;
    if (tensor.shape.size() >= 2) {
      dense.push_back({tensor.range, tensor.range});
    } else if (!dense.empty()) {
      dense.back().with_bias.size += tensor.range.size;
    }
  }
  const std::size_t wanted = layers == "all" ? std::max<std::size_t>(1, dense.size()) : layers == "last-two" ? 2 : 1;
  if (wanted > dense.size()) {
    return usage_error("profile.layers: \"{}\", but the network has {} dense {} at its end", layers, dense.size(),
                       dense.size() == 1 ? "layer" : "layers");
  }
  std::vector<ParameterRange> ranges;
  for (std::size_t i = dense.size() - wanted; i < dense.size(); ++i) {
    ranges.push_back(bias ? dense[i].with_bias : dense[i].weight);
  }
  return ranges;
}

std::vector<float> gather_ranges(std::span<const float> flat, std::span<const ParameterRange> ranges) {
  std::vector<float> values;
  for (const ParameterRange& range : ranges) {
    const std::span<const float> part = flat.subspan(range.offset, range.size);
    values.insert(values.end(), part.begin(), part.end());
  }
  return values;
}

}  // namespace muster
