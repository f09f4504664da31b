// Functions of single values, and the normalisation of a pixel over its channels, on images in the channels format.
#pragma once

#include <cstddef>

#include "model/kernels/plane_kernels.h"

namespace muster {

enum class Curve { kRelu, kTanh, kGelu };  // each maps zero to zero, so padding stays zero

// One pixel's normalisation over `channels` values; scale and shift are zero beyond them.
struct PixelNorm {
  std::size_t channels = 1;
  const float* scale = nullptr;
  const float* shift = nullptr;
};

struct ActivationKernels {
  // to = curve(from)
  void (*forward)(Curve curve, const PlaneShape&, Plane from, Plane to);
  // din = dout * curve'(x); x is what went in, y what came out.
  void (*backward)(Curve curve, const PlaneShape&, Plane x, Plane y, Plane dout, Plane din);
  // to = from * mask, the mask without gaps, pixel after pixel.
  void (*multiply)(const PlaneShape&, Plane from, const float* mask, Plane to);

  // to = scale * (from - mean) * inverse + shift; writes mean and inverse (1 / standard deviation), two floats a pixel.
  void (*normalise)(const PlaneShape&, const PixelNorm&, Plane from, float* moments, Plane to);
  // The gradient with respect to x, unless din.data is null; adds those of scale and shift to the sums.
  void (*normalise_backward)(const PlaneShape&, const PixelNorm&, Plane x, const float* moments, Plane dout, Plane din,
                             float* scale_sums, float* shift_sums);
};

}  // namespace muster

MUSTER_DECLARE_KERNELS(ActivationKernels, activation_kernels)
