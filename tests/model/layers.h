// Networks of a few layers for tests.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "model/layer.h"
#include "model/layers/dense.h"
#include "model/network.h"

namespace muster {

// The layers, then a dense layer to `classes` outputs.
template <typename... Layers>
std::shared_ptr<const Network> classify(Shape input, std::uint32_t classes, Layers... layers) {
  std::vector<std::unique_ptr<Layer>> list;
  (list.push_back(std::move(layers)), ...);
  list.push_back(make_dense("dense", list.back()->output(), classes, false));
  return std::make_shared<Network>(input, classes, std::move(list), "torch");
}

}  // namespace muster
