// Checks the network before anything is timed: its gradient against differences of its own loss, on a real batch of
// the workload's size, and the losses of its first steps, which a reference can repeat.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "app/bench_workload.h"

namespace muster {

// One batch of client 0, as the network reads it.
struct BenchBatch {
  std::uint32_t size = 0;
  std::vector<float> rows;
  std::vector<std::int32_t> labels;
};
[[nodiscard]] BenchBatch first_batch(const Workload& workload, const FederatedData& data);

// Compares `gradient` at `model` with central differences of the loss, tensor by tensor: along the tensor's gradient
// and along a random direction. The error names the tensor and both values.
[[nodiscard]] Status check_gradient(const std::shared_ptr<const Network>& network, std::span<const float> model,
                                    const BenchBatch& batch, std::span<const float> gradient);

// The mean gradient that the network computes itself.
[[nodiscard]] std::vector<float> batch_gradient(const std::shared_ptr<const Network>& network,
                                                std::span<const float> model, const BenchBatch& batch);

// The mean loss before each of `steps` steps of plain SGD on the batch.
[[nodiscard]] std::vector<double> step_losses(const std::shared_ptr<const Network>& network,
                                              std::span<const float> model, const BenchBatch& batch,
                                              double learning_rate, std::uint32_t steps);

// Two runs of the same steps agree to 1e-3 and, if there are several, the loss falls.
[[nodiscard]] Status check_losses(std::span<const double> ours, std::span<const double> reference);

}  // namespace muster
