// Compares the gradient of an executor with differences of its loss, tensor by tensor, on random inputs.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "model/executor.h"
#include "model/network.h"
#include "use_isa.h"

namespace muster {

inline Stream test_stream(std::uint32_t id) {
  return Stream({.seed = 7, .purpose = Purpose::kTest, .id = id});
}

inline double logistic(double x) {
  return 1 / (1 + std::exp(-x));
}

// The parameters of an executor.
inline std::vector<float> stored(const Executor& executor) {
  std::vector<float> flat(executor.network().size());
  executor.store(flat);
  return flat;
}

// Token ids that an embedding in front knows; 0: inputs are not ids.
inline std::uint32_t ids_of(const Network& network) {
  const auto faces = network.description();
  return faces.empty() ? 0 : faces.front().spec.vocabulary;
}

// Random normal inputs, or token ids, and uniform labels, for the next pass.
inline void fill_batch(Executor& executor, std::uint32_t batch, std::uint32_t seed) {
  Stream stream = test_stream(seed);
  float* input = executor.input(batch);
  const std::size_t count = batch * executor.network().input().size();
  const std::uint32_t ids = ids_of(executor.network());
  for (std::size_t i = 0; i < count; ++i) {
    input[i] = static_cast<float>(ids > 0 ? static_cast<double>(stream.below(ids)) : stream.normal());
  }
  std::int32_t* labels = executor.labels(batch);
  for (std::uint32_t i = 0; i < batch; ++i)
    labels[i] = static_cast<std::int32_t>(stream.below(executor.network().classes()));
}

inline std::vector<float> random_parameters(const Network& network, std::uint32_t seed) {
  std::vector<float> flat(network.size());
  Stream stream = test_stream(seed);
  network.initialise(flat, stream);
  // Off zero and off the initial symmetry: also biases, scales and shifts must matter.
  for (std::size_t i = 0; i < network.parameters(); ++i) flat[i] += static_cast<float>(0.05 * stream.normal());
  return flat;
}

// Two directions per tensor: along the gradient (strong signal, sees wrong magnitudes) and along random signs (sees
// values in wrong places). The loss is in training mode: statistics of the batch; a fusion's frozen extractor is
// another one. `tolerance` is relative to the norms.
inline void check_gradient(const std::shared_ptr<const Network>& network, std::uint32_t batch, double step = 2e-3,
                           double tolerance = 2e-2) {
  SCOPED_TRACE(::testing::Message() << "isa " << std::string(name(current_isa())) << ", batch " << batch);
  Executor executor(network, batch + 3);
  if (network->fuses()) {
    executor.load(random_parameters(*network, 4));
    executor.freeze();
  }
  const std::vector<float> flat = random_parameters(*network, 1);
  executor.load(flat);
  fill_batch(executor, batch, 2);
  std::vector<float> gradient(network->parameters());
  executor.gradient(batch, gradient);
  std::vector<float> unused(network->parameters());
  Stream stream = test_stream(3);

  for (const ParameterTensor& tensor : network->tensors()) {
    if (!tensor.trained) continue;
    double norm = 0;
    for (std::size_t i = 0; i < tensor.range.size; ++i) norm += std::pow(double{gradient[tensor.range.offset + i]}, 2);
    norm = std::sqrt(norm);
    for (const bool along : {true, false}) {
      std::vector<double> direction(tensor.range.size);
      double expected = 0;
      for (std::size_t i = 0; i < tensor.range.size; ++i) {
        const double g = gradient[tensor.range.offset + i];
        const double sign = stream.below(2) == 0 ? -1 : 1;
        direction[i] = along && norm > 0 ? g / norm : sign / std::sqrt(double(tensor.range.size));
        expected += g * direction[i];
      }
      double loss[2];
      for (const int side : {0, 1}) {
        std::vector<float> moved = flat;
        for (std::size_t i = 0; i < tensor.range.size; ++i) {
          const double by = (side == 0 ? -step : step) * direction[i];
          moved[tensor.range.offset + i] = static_cast<float>(moved[tensor.range.offset + i] + by);
        }
        executor.load(moved);
        loss[side] = executor.gradient(batch, unused).loss_sum / batch;
      }
      const double measured = (loss[1] - loss[0]) / (2 * step);
      EXPECT_NEAR(measured, expected, tolerance * norm + 3e-4) << tensor.name << (along ? " along" : " across");
    }
  }
}

// In every instruction set this processor has.
inline void check_gradient_everywhere(const std::shared_ptr<const Network>& network,
                                      std::initializer_list<std::uint32_t> batches, double step = 2e-3,
                                      double tolerance = 2e-2) {
  for (const Isa isa : available_isas()) {
    const UseIsa use(isa);
    for (const std::uint32_t batch : batches) check_gradient(network, batch, step, tolerance);
  }
}

}  // namespace muster
