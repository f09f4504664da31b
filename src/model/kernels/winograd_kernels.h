// 3 x 3 convolution with stride 1 and padding 1 by Winograd's F(2 x 2, 3 x 3): tiles of 4 x 4 input pixels give 2 x 2
// output pixels with 16 products per channel pair instead of 36. Channels in the lanes, all counts multiples of 16;
// height and width even; one image at a time, with a halo of one zero pixel all around the input.
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
  // Floats of scratch that forward() and backward_weights() need.
  std::size_t (*scratch_floats)(const WinogradShape&);
  // weights [3][3][in][out] -> spectrum [16][in][out]
  void (*spectrum)(int in_channels, int out_channels, const float* weights, float* spectrum);
  // out = bias (may be null) + in * weights. With the spectrum of flipped, turned weights: the data gradient.
  void (*forward)(const WinogradShape&, Images in, const float* spectrum, const float* bias, Images out,
                  float* scratch);
  // spectrum += the gradient with respect to it; dbias += sum of dy unless null.
  void (*backward_weights)(const WinogradShape&, Images in, Images dy, float* spectrum, float* dbias, float* scratch);
  // dweights += the gradient of the weights, from that of their spectrum
  void (*add_weights)(int in_channels, int out_channels, const float* spectrum, float* dweights);
};

}  // namespace muster

MUSTER_DECLARE_KERNELS(WinogradKernels, winograd_kernels)
