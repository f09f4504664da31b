#include "app/bench_check.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "model/executor.h"

namespace muster {
namespace {

// A step along a direction moves a tensor by this share of its length, and the loss by about this much at most: far
// above rounding, and small enough that few kinks of ReLU and pooling are crossed.
constexpr double kStep = 1e-3;
// What is left of rounding and kinks is below half of these; a wrong gradient is off by far more.
constexpr double kTolerance = 0.02;
constexpr double kRandomTolerance = 0.1;  // of the usual size of a random direction's slope: it may be near zero itself
constexpr double kLossTolerance = 1e-3;

void fill(Executor& executor, const BenchBatch& batch) {
  std::copy(batch.rows.begin(), batch.rows.end(), executor.input(batch.size));
  std::copy(batch.labels.begin(), batch.labels.end(), executor.labels(batch.size));
}

double norm(std::span<const float> values) {
  double sum = 0;
  for (const float x : values) sum += double{x} * double{x};
  return std::sqrt(sum);
}

class Differences {
 public:
  Differences(const std::shared_ptr<const Network>& network, std::span<const float> model, const BenchBatch& batch)
      : batch_(batch), model_(model), moved_(model.begin(), model.end()), executor_(network, batch.size) {}

  // The slope of the loss along a direction of length 1 in [offset, offset + direction.size()), by a step of `length`.
  double slope(std::size_t offset, std::span<const float> direction, double length) {
    return (loss(offset, direction, length) - loss(offset, direction, -length)) / (2 * length);
  }

 private:
  double loss(std::size_t offset, std::span<const float> direction, double length) {
    for (std::size_t i = 0; i < direction.size(); ++i) {
      moved_[offset + i] = static_cast<float>(double{model_[offset + i]} + length * double{direction[i]});
    }
    executor_.load(moved_);
    fill(executor_, batch_);
    const double sum = executor_.evaluate(batch_.size).loss_sum;
    std::copy_n(model_.begin() + static_cast<std::ptrdiff_t>(offset), direction.size(),
                moved_.begin() + static_cast<std::ptrdiff_t>(offset));
    return sum / batch_.size;
  }

  const BenchBatch& batch_;
  std::span<const float> model_;
  std::vector<float> moved_;
  Executor executor_;
};

}  // namespace

BenchBatch first_batch(const Workload& workload, const FederatedData& data) {
  SampleBuffer buffer;
  const SampleView view = data.train(ClientId{0}, buffer);
  BenchBatch batch{.size = workload.batch};
  batch.rows.resize(batch.size * workload.shape.size());
  batch.labels.resize(batch.size);
  std::vector<std::uint32_t> positions(batch.size);
  std::iota(positions.begin(), positions.end(), 0u);
  gather(view, positions, {}, nullptr, batch.rows.data(), batch.labels.data());
  return batch;
}

std::vector<float> batch_gradient(const std::shared_ptr<const Network>& network, std::span<const float> model,
                                  const BenchBatch& batch) {
  Executor executor(network, batch.size);
  executor.load(model);
  fill(executor, batch);
  std::vector<float> gradient(network->parameters());
  (void)executor.gradient(batch.size, gradient);
  return gradient;
}

Status check_gradient(const std::shared_ptr<const Network>& network, std::span<const float> model,
                      const BenchBatch& batch, std::span<const float> gradient) {
  Differences differences(network, model, batch);
  Stream stream({.seed = 3, .purpose = Purpose::kBench});
  std::vector<float> direction;
  const double whole = norm(gradient);
  if (!(whole > 0) || !std::isfinite(whole)) return failure("the gradient has length {}", whole);

  for (const ParameterTensor& tensor : network->tensors()) {
    if (!tensor.trained) continue;
    const std::size_t offset = tensor.range.offset;
    const std::span<const float> part = gradient.subspan(offset, tensor.range.size);
    const double length = norm(part);
    const double weights = norm(model.subspan(offset, part.size()));
    const double root = std::sqrt(static_cast<double>(part.size()));
    const double step = kStep * (weights > 0 ? weights : root);

    // Along the gradient itself the slope is its length.
    if (length > 1e-6 * whole) {
      direction.assign(part.begin(), part.end());
      for (float& x : direction) x = static_cast<float>(double{x} / length);
      const double slope = differences.slope(offset, direction, std::min(step, kStep / length));
      if (!(std::abs(slope - length) <= kTolerance * length)) {
        return failure("along the gradient of {} the loss rises by {:.6g}, the gradient says {:.6g}", tensor.name,
                       slope, length);
      }
    }

    direction.resize(part.size());
    for (float& x : direction) x = static_cast<float>(stream.normal());
    const double drawn = norm(direction);
    double expected = 0;
    for (std::size_t i = 0; i < part.size(); ++i) {
      direction[i] = static_cast<float>(double{direction[i]} / drawn);
      expected += double{direction[i]} * double{part[i]};
    }
    const double slope = differences.slope(offset, direction, step);
    if (!(std::abs(slope - expected) <= kRandomTolerance * length / root)) {
      return failure("along a random direction in {} the loss rises by {:.6g}, the gradient says {:.6g}", tensor.name,
                     slope, expected);
    }
  }
  return {};
}

std::vector<double> step_losses(const std::shared_ptr<const Network>& network, std::span<const float> model,
                                const BenchBatch& batch, double learning_rate, std::uint32_t steps) {
  Executor executor(network, batch.size);
  executor.load(model);
  std::vector<double> losses;
  for (std::uint32_t step = 0; step < steps; ++step) {
    fill(executor, batch);
    const StepRule rule{.learning_rate = static_cast<float>(learning_rate)};
    losses.push_back(executor.train(batch.size, rule).loss_sum / batch.size);
  }
  return losses;
}

Status check_losses(std::span<const double> ours, std::span<const double> reference) {
  if (ours.size() > 1 && !(ours.back() < ours.front())) {
    return failure("{} steps on one batch took the loss from {:.6g} to {:.6g}", ours.size(), ours.front(), ours.back());
  }
  for (std::size_t i = 0; i < reference.size(); ++i) {
    if (!(std::abs(ours[i] - reference[i]) <= kLossTolerance * std::abs(reference[i]))) {
      return failure("after {} steps from the same weights the loss is {:.6g}, the reference's {:.6g}", i, ours[i],
                     reference[i]);
    }
  }
  return {};
}

}  // namespace muster
