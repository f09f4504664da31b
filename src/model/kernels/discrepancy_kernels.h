// The squared maximum mean discrepancy of two sets of vectors under a sum of Gaussians, and its gradient.
#pragma once

#include <cstddef>

#include "model/kernels/dispatch.h"

namespace muster {

// k(a, b) = sum over i of exp(-rates[i] |a - b|^2)
struct GaussianSum {
  const float* rates = nullptr;
  std::size_t count = 0;
};

struct DiscrepancyKernels {
  // Floats of scratch for sets of `batch` vectors of `width` values.
  std::size_t (*scratch_floats)(std::size_t batch, std::size_t width);
  // mean k(x, x) + mean k(y, y) - 2 mean k(x, y) over all pairs, also of a vector with itself (the biased estimator).
  // x and y are rows of `stride` floats. `gradient`, rows of `width` floats: with respect to y. With x = y exactly 0.
  double (*squared)(const GaussianSum& kernel, std::size_t batch, std::size_t width, std::size_t stride, const float* x,
                    const float* y, float* scratch, float* gradient);
};

}  // namespace muster

MUSTER_DECLARE_KERNELS(DiscrepancyKernels, discrepancy_kernels)
