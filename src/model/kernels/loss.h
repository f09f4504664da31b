// Cross-entropy of logits against labels and its gradient (summed, not averaged, over the batch).
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/kernels/dispatch.h"

namespace muster {

struct LossResult {
  double sum = 0;  // NaN if any logit is NaN or the largest is infinite
  std::uint32_t correct = 0;
};

// Rows of logits and gradient are `stride` floats apart (a multiple of 16); the gradient's padding is written as zero.
// A null gradient is not computed.
struct LossKernels {
  // Labels in [0, outputs). Correct: the label's logit is the first of the largest.
  LossResult (*softmax)(std::size_t batch, std::size_t outputs, std::size_t stride, const float* logits,
                        const std::int32_t* labels, float* gradient);
  // One output, labels 0 or 1. Correct: the sign of the logit (zero means 0).
  LossResult (*sigmoid)(std::size_t batch, std::size_t outputs, std::size_t stride, const float* logits,
                        const std::int32_t* labels, float* gradient);
};

}  // namespace muster

MUSTER_DECLARE_KERNELS(LossKernels, loss_kernels)
