// 3 x 3 convolution with stride 1 and padding 1 by Winograd's algorithm. F(4 x 4, 3 x 3) makes 4 x 4 output pixels with
// 36 products per channel pair instead of 144 where the image has enough such tiles; else F(2 x 2, 3 x 3) makes 2 x 2
// with 16 instead of 36. Channels in the lanes, all counts multiples of 16; height and width even; one image at a time,
// with a halo of one zero pixel all around the input.
#pragma once

#include <cstddef>

#include "model/kernels/conv_kernels.h"
#include "model/kernels/dispatch.h"

namespace muster {

struct WinogradShape {
  int height = 2;
  int width = 2;
  int in_channels = 16;
  int out_channels = 16;
};

struct WinogradKernels {
  // Products of a tile, by height and width: 16 or 36.
  int (*points)(const WinogradShape&);
  // Floats of scratch that forward() and backward_weights() need.
  std::size_t (*scratch_floats)(const WinogradShape&);
  // weights [3][3][in][out] -> spectrum [points][in][out]
  void (*spectrum)(const WinogradShape&, const float* weights, float* spectrum);
  // out = bias (may be null) + in * weights. With the spectrum of flipped, turned weights: the data gradient.
  void (*forward)(const WinogradShape&, Images in, const float* spectrum, const float* bias, Images out,
                  float* scratch);
  // spectrum += the gradient with respect to it; dbias += sum of dy unless null.
  void (*backward_weights)(const WinogradShape&, Images in, Images dy, float* spectrum, float* dbias, float* scratch);
  // dweights += the gradient of the weights, from that of their spectrum
  void (*add_weights)(const WinogradShape&, const float* spectrum, float* dweights);
};

}  // namespace muster

MUSTER_DECLARE_KERNELS(WinogradKernels, winograd_kernels)
