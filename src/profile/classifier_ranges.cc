#include <algorithm>

#include "profile/formulas.h"

namespace muster {

Result<std::vector<ParameterRange>> classifier_ranges(const Network& network, const std::string& layers, bool bias) {
  const std::vector<DenseRanges> dense = dense_ranges(network);
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

}  // namespace muster
