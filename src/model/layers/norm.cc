#include "model/layers/norm.h"

#include <algorithm>
#include <cmath>

namespace muster {
namespace {

// PyTorch's defaults.
constexpr double kEpsilon = 1e-5;
constexpr double kMomentum = 0.1;

}  // namespace

std::size_t NormWork::floats(std::size_t padded_channels, std::size_t images) {
  return padded_channels * (2 * images + 4 * sizeof(double) / sizeof(float) + 3);
}

void NormWork::carve(float* memory, std::size_t images) {
  sums = reinterpret_cast<double*>(memory);
  maps = memory + 4 * padded_channels * (sizeof(double) / sizeof(float));
  mean = maps + 3 * padded_channels;
  inverse = mean + images * padded_channels;
}

void NormWork::clear_sums() const {
  std::fill(sums, sums + 2 * padded_channels, 0.0);
}

void NormWork::clear_parameter_sums() const {
  std::fill(sums + 2 * padded_channels, sums + 4 * padded_channels, 0.0);
}

void NormWork::batch_statistics(const float* pivot, double count, bool move_running) const {
  const double* squares = sums + padded_channels;
  for (std::size_t c = 0; c < channels; ++c) {
    const double offset = sums[c] / count;
    const double centre = static_cast<double>(pivot[c]) + offset;
    const double variance = std::max(0.0, squares[c] / count - offset * offset);
    mean[c] = static_cast<float>(centre);
    inverse[c] = static_cast<float>(1 / std::sqrt(variance + kEpsilon));
    if (!move_running) continue;
    // The running variance is unbiased, the one that normalises is not.
    const double unbiased = count > 1 ? variance * count / (count - 1) : variance;
    running_mean[c] = static_cast<float>((1 - kMomentum) * static_cast<double>(running_mean[c]) + kMomentum * centre);
    running_variance[c] =
        static_cast<float>((1 - kMomentum) * static_cast<double>(running_variance[c]) + kMomentum * unbiased);
  }
}

void NormWork::group_statistics(const float* pivot, std::size_t image) const {
  const double* squares = sums + padded_channels;
  const std::size_t width = channels / groups;
  const double count = pixels * static_cast<double>(width);
  for (std::size_t g = 0; g < groups; ++g) {
    double total = 0;
    for (std::size_t c = g * width; c < (g + 1) * width; ++c) total += sums[c] + pixels * static_cast<double>(pivot[c]);
    const double centre = total / count;
    double deviation = 0;
    for (std::size_t c = g * width; c < (g + 1) * width; ++c) {
      const double offset = static_cast<double>(pivot[c]) - centre;
      deviation += squares[c] + 2 * offset * sums[c] + pixels * offset * offset;
    }
    const double spread = 1 / std::sqrt(std::max(0.0, deviation / count) + kEpsilon);
    for (std::size_t c = g * width; c < (g + 1) * width; ++c) {
      mean[image * padded_channels + c] = static_cast<float>(centre);
      inverse[image * padded_channels + c] = static_cast<float>(spread);
    }
  }
}

void NormWork::forward_map(std::size_t image) const {
  const float* centre = mean + image * padded_channels;
  const float* spread = inverse + image * padded_channels;
  for (std::size_t c = 0; c < channels; ++c) {
    maps[c] = scale[c] * spread[c];
    maps[padded_channels + c] = shift[c] - centre[c] * maps[c];
  }
}

void NormWork::evaluation_map() const {
  for (std::size_t c = 0; c < channels; ++c) {
    const double spread = 1 / std::sqrt(static_cast<double>(running_variance[c]) + kEpsilon);
    maps[c] = static_cast<float>(static_cast<double>(scale[c]) * spread);
    maps[padded_channels + c] = shift[c] - running_mean[c] * maps[c];
  }
}

// With g the gradient after normalisation, x^ = (x - m) r, and means over the values that share statistics:
//   dx = r (scale g - mean(scale g) - x^ mean(scale g x^))
void NormWork::batch_backward_map(double count) const {
  const double* products = sums + padded_channels;
  double* shifts = sums + 2 * padded_channels;
  double* scales = sums + 3 * padded_channels;
  for (std::size_t c = 0; c < channels; ++c) {
    const double r = static_cast<double>(inverse[c]);
    const double a = static_cast<double>(scale[c]) * r;
    const double b = -a * r * r * products[c] / count;
    maps[c] = static_cast<float>(a);
    maps[padded_channels + c] = static_cast<float>(b);
    maps[2 * padded_channels + c] = static_cast<float>(-a * sums[c] / count - b * static_cast<double>(mean[c]));
    shifts[c] = sums[c];
    scales[c] = r * products[c];
  }
}

void NormWork::group_backward_map(std::size_t image) const {
  const double* products = sums + padded_channels;
  double* shifts = sums + 2 * padded_channels;
  double* scales = sums + 3 * padded_channels;
  const std::size_t width = channels / groups;
  const double count = pixels * static_cast<double>(width);
  for (std::size_t g = 0; g < groups; ++g) {
    const double r = static_cast<double>(inverse[image * padded_channels + g * width]);
    const double centre = static_cast<double>(mean[image * padded_channels + g * width]);
    double slope = 0;
    double product = 0;
    for (std::size_t c = g * width; c < (g + 1) * width; ++c) {
      slope += static_cast<double>(scale[c]) * sums[c];
      product += static_cast<double>(scale[c]) * products[c];
      shifts[c] += sums[c];
      scales[c] += r * products[c];
    }
    const double b = -r * r * r * product / count;
    const double constant = -r * slope / count - b * centre;
    for (std::size_t c = g * width; c < (g + 1) * width; ++c) {
      maps[c] = static_cast<float>(static_cast<double>(scale[c]) * r);
      maps[padded_channels + c] = static_cast<float>(b);
      maps[2 * padded_channels + c] = static_cast<float>(constant);
    }
  }
}

}  // namespace muster
