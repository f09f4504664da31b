// The convolutional networks of the zoo, up to their classifiers.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "model/layer.h"
#include "model/network.h"

namespace muster {

// Layers that make features, and the widths of the hidden dense layers to follow them.
struct Features {
  std::vector<std::unique_ptr<Layer>> layers;
  std::vector<std::uint32_t> hidden;
};

// Convolutions without padding, each with ReLU and 2 x 2 max-pooling.
[[nodiscard]] Result<Features> make_cnn_features(const ModelOptions& options, Shape input);
// The LeNet-5 of FedSeq: 64 and 64 channels, dense 384 and 192.
[[nodiscard]] Result<Features> make_lenet5_features(const ModelOptions& options, Shape input);
// LEAF's network for FEMNIST: 32 and 64 channels with padding, dense 2048.
[[nodiscard]] Result<Features> make_femnist_features(const ModelOptions& options, Shape input);
// A stem of 3 x 3, stages of residual blocks that halve the image, a mean over pixels.
[[nodiscard]] Result<Features> make_resnet_features(const ModelOptions& options, Shape input);
// M5 on waveforms: four one-dimensional convolutions with normalisation and pooling by 4, a mean over time.
[[nodiscard]] Result<Features> make_audio_features(const ModelOptions& options, Shape input);

}  // namespace muster
