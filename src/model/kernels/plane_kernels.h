// Pooling, normalisation and other work per value on images, 16 neighbouring floats at a time: 16 channels of a pixel
// in the channels format, 16 samples of a pixel in the lanes format. The same code serves both, through strides.
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/kernels/dispatch.h"

namespace muster {

// Pixels of 16-float groups: the groups of an image are its 16-channel slices (channels) or its channels (lanes).
struct Plane {
  float* data = nullptr;
  std::size_t row = 0;
  std::size_t pixel = 0;
  std::size_t group = 16;
};

struct PlaneShape {
  int groups = 1;
  int height = 1;
  int width = 1;
};

// Windows of `kernel_height` x `kernel_width`, at most 255 pixels for max-pooling; in the size of the input.
struct PoolShape {
  PlaneShape in;
  int out_height = 1;
  int out_width = 1;
  int kernel_height = 2;
  int kernel_width = 2;
  int stride_height = 2;
  int stride_width = 2;
};

struct PlaneKernels {
  // Everything works on one image (channels) or one block of 16 samples (lanes).

  // out = the largest value of each window, or zero if `relu` and none is positive. choice[window * 16] says which
  // pixel of the window it was (255: none, by relu); the first of equals.
  void (*max_pool)(const PoolShape&, Plane in, bool relu, Plane out, std::uint8_t* choice);
  // din = dout where chosen, zero elsewhere. Writes all of din.
  void (*max_pool_backward)(const PoolShape&, Plane dout, const std::uint8_t* choice, Plane din);
  // out = scale * sum of each window, and its gradient. Writes all of din.
  void (*sum_pool)(const PoolShape&, Plane in, float scale, Plane out);
  void (*sum_pool_backward)(const PoolShape&, Plane dout, float scale, Plane din);

  void (*copy)(const PlaneShape&, Plane from, Plane to);
  void (*add)(const PlaneShape&, Plane from, Plane to);
  void (*clear)(const PlaneShape&, Plane to);
  // to = max(from, 0), may be in place
  void (*relu)(const PlaneShape&, Plane from, Plane to);
  // gradient = 0 where data <= 0
  void (*relu_backward)(const PlaneShape&, Plane data, Plane gradient);

  // Below, per-channel arrays hold 16 floats per group: channels format only.

  // sums[c] += sum of (x - pivot[c]), squares[c] += sum of its squares
  void (*moments)(const PlaneShape&, Plane x, const float* pivot, double* sums, double* squares);
  // out = scale * x + shift (+ add, unless add.data is null), then max(., 0) if `relu`
  void (*affine)(const PlaneShape&, Plane x, const float* scale, const float* shift, Plane add, bool relu, Plane out);
  // If y.data: gradient = 0 where y <= 0. Then sums[c] += sum of the gradient, products[c] += sum of
  // gradient * (x - mean[c]).
  void (*gradient_sums)(const PlaneShape&, Plane x, Plane y, const float* mean, Plane gradient, double* sums,
                        double* products);
  // dx = a * gradient + b * x + c
  void (*affine_backward)(const PlaneShape&, Plane gradient, Plane x, const float* a, const float* b, const float* c,
                          Plane dx);

  // to += scale * from; any count
  void (*add_scaled)(std::size_t count, float scale, const float* from, float* to);
};

}  // namespace muster

MUSTER_DECLARE_KERNELS(PlaneKernels, plane_kernels)
