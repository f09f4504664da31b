// Convolution with 16 samples in the vector lanes, for channel counts that would waste lanes otherwise. A block of 16
// samples lies as [channels][height][width][16]; every function works on one block. Stride 1, no padding.
#pragma once

#include <cstddef>

#include "model/kernels/dispatch.h"

namespace muster {

struct LanesShape {
  int in_height = 1;
  int in_width = 1;
  int in_channels = 1;
  int out_height = 1;
  int out_width = 1;
  int out_channels = 1;
  int kernel_height = 1;
  int kernel_width = 1;
};

struct LanesKernels {
  // Whether kernels of this width take pixels two by two, with 7 products for 10 or 4 for 6.
  bool (*in_pairs)(int kernel_width);
  // Floats that pack() and pack_turned() write, and that the sums of backward_weights() take.
  std::size_t (*packed_floats)(const LanesShape&);
  // From [kernel height][kernel width][in channels][padded out channels] into the orders of forward() and
  // backward_data().
  void (*pack)(const LanesShape&, const float* weights, float* packed);
  void (*pack_turned)(const LanesShape&, const float* weights, float* packed);
  // Rows [first, last) of all out channels; out points at row `first` of channel 0, channels `out_channel` floats
  // apart.
  void (*forward)(const LanesShape&, const float* in, const float* packed, const float* bias, int first, int last,
                  float* out, std::size_t out_channel);
  // din = the gradient with respect to the input.
  void (*backward_data)(const LanesShape&, const float* dout, const float* packed_turned, float* din);
  // sums += x^T dy of the block, in an order of its own; dbias[out channels] += sum of dy.
  void (*backward_weights)(const LanesShape&, const float* in, const float* dout, float* sums, float* dbias);
  // dweights += scale * sums, in the order of weights.
  void (*add_sums)(const LanesShape&, float scale, const float* sums, float* dweights);

  // lanes[place(i)][sample] = rows[sample][i] for the features i of `count` <= 16 samples, other lanes zero; features
  // come in height-width-channel order and lie in the lanes as [channels][pixels]. And back: lanes beyond count are
  // not read.
  void (*from_rows)(int pixels, int channels, int count, const float* rows, std::size_t row_stride, float* lanes);
  void (*to_rows)(int pixels, int channels, int count, const float* lanes, float* rows, std::size_t row_stride);
};

}  // namespace muster

MUSTER_DECLARE_KERNELS(LanesKernels, lanes_kernels)
