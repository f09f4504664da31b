// Convolution with channels in the vector lanes: images whose pixels hold their channels contiguously, padded to a
// multiple of 16 where they are written. Kernel rows that fall outside the image are skipped; to the left and right the
// image carries a halo of zeros as wide as the padding.
#pragma once

#include <cstddef>

#include "model/kernels/dispatch.h"

namespace muster {

// The images of one tensor. `data` is pixel (0, 0) of image 0; strides are in floats.
struct Images {
  float* data = nullptr;
  std::size_t sample = 0;
  std::size_t row = 0;
  std::size_t pixel = 0;
};

// Padding is smaller than the kernel, so that every window meets the image.
struct ConvShape {
  int batch = 1;
  int in_height = 1;
  int in_width = 1;
  int in_channels = 1;
  int out_height = 1;
  int out_width = 1;
  int out_channels = 1;
  int kernel_height = 1;
  int kernel_width = 1;
  int stride = 1;
  int pad_top = 0;
  int pad_left = 0;
};

struct ConvKernels {
  // out = bias + in * weights; weights [kernel height][kernel width][in channels][padded out channels]; bias (padded)
  // may be null. Writes all padded out channels.
  void (*forward)(const ConvShape&, Images in, const float* weights, const float* bias, Images out);
  // in += the gradient with respect to the input, for dy = `out`. `turned` as turn() with flip = false makes it.
  // Needs no halo on `out`. With stride 1 the alternative is forward() over dy with flipped weights.
  void (*backward_data)(const ConvShape&, Images out, const float* turned, Images in);
  // dweights += x^T dy, in the layout of weights; dbias (padded) += sum of dy unless null.
  void (*backward_weights)(const ConvShape&, Images in, Images out, float* dweights, float* dbias);
  // turned[tap][out channels][padded in channels] = weights[tap][in channels][padded out channels] transposed, taps in
  // reverse order if `flip`. Padding is written as zero.
  void (*turn)(const ConvShape&, const float* weights, bool flip, float* turned);
};

}  // namespace muster

MUSTER_DECLARE_KERNELS(ConvKernels, conv_kernels)
