// Executor: runs a network on one thread. It owns one arena: parameters in the layout the kernels like (padded,
// permuted), activations, gradients. For each batch size the network is compiled once into a list of kernel calls over
// that arena; after that a step neither allocates nor makes a virtual call.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "model/executor_times.h"
#include "model/network.h"

namespace muster {

enum class Optimizer { kSgd, kMomentum, kAdam };

// One step of the local solver. With g the mean gradient of the batch:
//   total = g + pull * w - drift          (drift: what set_drift gave, else 0)
//   sgd:      w -= learning_rate * total, computed as  w = (1 - learning_rate * pull) * w + learning_rate * drift
//             followed by the gradient product accumulated onto w; with pull = 0 and no drift exactly plain SGD
//   momentum: m = momentum * m + total;  w -= learning_rate * m
//   adam:     the usual bias-corrected rule on total
// `pull` carries weight decay and proximal terms, `drift` the constant part of the objective.
struct StepRule {
  Optimizer optimizer = Optimizer::kSgd;
  float learning_rate = 0.01f;
  float pull = 0;
  float momentum = 0.9f;
  float beta1 = 0.9f;
  float beta2 = 0.999f;
  float epsilon = 1e-8f;
};

struct BatchResult {
  double loss_sum = 0;  // sum over the batch, before the step
  std::uint32_t correct = 0;
};

// The outputs of a batch before the softmax, by the frozen and by the trained parameters: rows of `stride` floats, the
// first `outputs` of them in use.
struct OutputPair {
  std::uint32_t batch = 0;
  std::size_t outputs = 0;
  std::size_t stride = 0;
  const float* frozen = nullptr;
  const float* trained = nullptr;
  float* gradient = nullptr;  // of the loss summed over the batch, by the trained outputs
};

// What adds to that gradient, in every step between the loss and the backward pass. `run` null: nothing.
struct OutputHook {
  void (*run)(void* self, const OutputPair& outputs) = nullptr;
  void* self = nullptr;
};

// Not thread-safe: one per worker. Preconditions on sizes are checked (a violation is a bug).
class Executor {
 public:
  // Batches may have any size in [1, max_batch].
  Executor(std::shared_ptr<const Network> network, std::uint32_t max_batch);
  ~Executor();
  Executor(Executor&&) noexcept;
  Executor& operator=(Executor&&) noexcept;

  [[nodiscard]] const Network& network() const;
  [[nodiscard]] std::uint32_t max_batch() const;

  // Copies the flat vector in / out.
  void load(std::span<const float> flat);
  void store(std::span<float> flat) const;
  // True if any parameter is NaN or infinite.
  [[nodiscard]] bool has_nonfinite() const;

  // The constant vector of StepRule (flat order), until cleared.
  void set_drift(std::span<const float> flat);
  void clear_drift();

  // Parts of the flat vector, running statistics included, that no step moves from now until the next load(): after
  // any number of steps they are what they were, bit for bit. Replaces what was held before. Not with fixed rows.
  void hold(std::span<const ParameterRange> ranges);

  // Optimiser state: zero it (also Adam's step count), or carry it over between tasks of a client.
  // Flat layout of the state: momentum -> size() floats; adam -> 2 * size() + 1 floats (m, v, steps). sgd -> nothing.
  void reset_optimizer();
  [[nodiscard]] std::size_t optimizer_state_size(Optimizer optimizer) const;
  void load_optimizer(Optimizer optimizer, std::span<const float> state);
  void store_optimizer(Optimizer optimizer, std::span<float> state) const;

  // Keeps the parameters as they are now, beside those that are trained. From then on every step and gradient() first
  // runs the frozen ones forward on the same batch, as in training (batch statistics, the same draws of dropout), and
  // hands both outputs to the hook. Fixed rows do not pay then, and with a hook no batch is trained in parts. A network
  // that fuses trains beside a frozen copy only, which ends at the fusion: then there is no hook.
  void freeze(const OutputHook& hook = {});
  void thaw();

  // Names the random numbers of dropout in the steps to come: equal keys before equal steps give equal results. Only
  // train() draws; evaluate() and gradient() leave dropout out.
  void seed_dropout(const StreamKey& key);

  // Where the caller writes the next batch: `batch` rows of input().size() floats, and the labels.
  [[nodiscard]] float* input(std::uint32_t batch);
  [[nodiscard]] std::int32_t* labels(std::uint32_t batch);

  // Forward, loss, backward, step on the batch just written.
  BatchResult train(std::uint32_t batch, const StepRule& rule);

  // Training on the same rows many times over, by plain SGD and for networks whose first layer is dense: the same steps
  // as train() but for rounding, with less work (see fixed_rows.h). First prepare_fixed_rows() and write the rows,
  // fixed_row_stride() floats apart, nothing in between; after load() and set_drift() begin; any number of steps, each
  // on some of the rows with their labels in labels(); end. Until then nothing else may be called.
  // Whether it pays: always false for other networks. `samples`: of all steps together.
  [[nodiscard]] bool fixed_rows_pay(std::uint32_t rows, std::uint64_t samples) const;
  [[nodiscard]] float* prepare_fixed_rows(std::uint32_t rows);
  [[nodiscard]] std::size_t fixed_row_stride() const;
  void begin_fixed_rows();
  BatchResult train_fixed_rows(std::span<const std::uint32_t> rows, const StepRule& rule);
  void end_fixed_rows();

  // Forward and loss only. Batch normalisation uses running statistics.
  BatchResult evaluate(std::uint32_t batch);
  // The mean gradient of the batch at the current parameters, without stepping (flat order, parameters() floats).
  BatchResult gradient(std::uint32_t batch, std::span<float> flat_gradient);
  // Outputs before the softmax of the last evaluate(): `batch` rows of network().outputs() floats.
  void logits(std::uint32_t batch, std::span<float> out) const;

  [[nodiscard]] std::size_t arena_bytes() const;

  // Adds the time of everything but evaluate() to `times` (borrowed) from now on; null: no more, which is the
  // default.
  void set_times(ExecutorTimes* times);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster
