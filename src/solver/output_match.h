// OutputMatch: the term that holds a client's outputs near those of the model it received,
//   weight * max(MMD^2, floor)
// with MMD the maximum mean discrepancy of the logits of a batch under a sum of 19 Gaussians (FedMMD). Below the floor
// it has no gradient. One per worker: it owns the memory for it, which grows with the largest batch only.
#pragma once

#include <cstddef>
#include <span>

#include "model/executor.h"
#include "model/floats.h"

namespace muster {

class OutputMatch {
 public:
  static constexpr double kFloor = 1e-4;

  // For Executor::freeze(). Lives as long as this object, which must not move.
  [[nodiscard]] OutputHook hook(double weight);

  // Adds the term's gradient to that of the loss, which is summed over the batch: so the mean's gradient gains the
  // term's. Returns MMD^2.
  double add(const OutputPair& outputs, double weight);

 private:
  double weight_ = 0;
  Floats scratch_;
  Floats gradient_;
};

// 1 / (2 s) of the Gaussians exp(-d^2 / (2 s)).
[[nodiscard]] std::span<const float> output_match_rates();

}  // namespace muster
