// Batch and group normalisation of images in the channels format, as part of a convolution unit: from sums over pixels
// to the affine maps that the kernels apply, forward and backward. Per-channel arrays are padded; padding maps to zero.
#pragma once

#include <cstddef>

#include "model/kernels/plane_kernels.h"

namespace muster {

// Where one unit's normalisation keeps its numbers. Batch: one set of statistics, over all images; group: one set per
// image and group of channels, written out per channel.
struct NormWork {
  bool batch = true;
  std::size_t channels = 0;
  std::size_t padded_channels = 0;
  std::size_t groups = 1;
  double pixels = 1;  // of one image
  const float* scale = nullptr;
  const float* shift = nullptr;
  float* running_mean = nullptr;  // batch only
  float* running_variance = nullptr;
  float* mean = nullptr;     // [batch: 1, group: images][padded channels]
  float* inverse = nullptr;  // 1 / standard deviation, likewise
  double* sums = nullptr;    // 4 * padded channels
  float* maps = nullptr;     // 3 * padded channels

  // Floats of all of the memory above, from `mean` on; carve() lays them out.
  [[nodiscard]] static std::size_t floats(std::size_t padded_channels, std::size_t images);
  void carve(float* memory, std::size_t images);

  // Forward: clear_sums, kernels' moments around `pivot` into sums and sums + padded_channels, then statistics_* and
  // map_*; the map is maps * x + (maps + padded_channels).
  void clear_sums() const;
  // Over `count` values per channel.
  void batch_statistics(const float* pivot, double count, bool move_running) const;
  void group_statistics(const float* pivot, std::size_t image) const;
  void forward_map(std::size_t image) const;
  // From the running statistics.
  void evaluation_map() const;

  // Backward: clear_sums, kernels' gradient_sums into the same places, then the map dx = a * dy + b * x + c with a, b,
  // c in maps. The group map also adds the image's part of the parameter gradients to sums + 2 * padded_channels
  // (shift) and sums + 3 * padded_channels (scale); for batch they are written there.
  void clear_parameter_sums() const;
  void batch_backward_map(double count) const;
  void group_backward_map(std::size_t image) const;
};

}  // namespace muster
