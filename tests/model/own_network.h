// Networks from lists of layers, for tests.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/executor.h"
#include "model/network.h"

namespace muster {

inline std::shared_ptr<const Network> make(const ModelOptions& options, Shape input, std::uint32_t classes) {
  auto network = make_network(options, input, classes);
  EXPECT_TRUE(network.ok()) << (network.ok() ? "" : network.error().message);
  return network.ok() ? std::move(network).value() : nullptr;
}

inline ModelOptions own(LayerList list) {
  return {.name = "layers", .layers = std::move(list)};
}

inline std::shared_ptr<const Network> own_network(LayerList list, Shape input, std::uint32_t classes = 3) {
  return make(own(std::move(list)), input, classes);
}

// Why a list is refused; "" if it is not.
inline std::string refusal(LayerList list, Shape input) {
  const auto network = make_network(own(std::move(list)), input, 3);
  return network.ok() ? "" : network.error().message;
}

// The values of a tensor in a flat vector.
inline std::span<const float> tensor_of(const Network& network, std::span<const float> flat, const std::string& name) {
  for (const ParameterTensor& tensor : network.tensors()) {
    if (tensor.name == name) return flat.subspan(tensor.range.offset, tensor.range.size);
  }
  ADD_FAILURE() << "no tensor " << name;
  return {};
}

// Makes the classifier the identity: the outputs are then the values before it. Precondition: as many classes as those.
inline void pass_through(const Network& network, std::vector<float>& flat) {
  const ParameterRange last = network.last_layer();
  std::fill_n(flat.begin() + static_cast<std::ptrdiff_t>(last.offset), last.size, 0.0f);
  for (std::size_t i = 0; i < network.outputs(); ++i) flat[last.offset + i * network.outputs() + i] = 1;
}

// Outputs before the softmax for the inputs given, in evaluation.
inline std::vector<float> outputs_for(Executor& executor, const std::vector<float>& inputs) {
  const auto batch = static_cast<std::uint32_t>(inputs.size() / executor.network().input().size());
  std::copy(inputs.begin(), inputs.end(), executor.input(batch));
  std::fill_n(executor.labels(batch), batch, 0);
  executor.evaluate(batch);
  std::vector<float> outputs(batch * executor.network().outputs());
  executor.logits(batch, outputs);
  return outputs;
}

}  // namespace muster
