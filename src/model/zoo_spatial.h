// The convolutional networks of the zoo as lists of layers, up to the last one.
#pragma once

#include "base/result.h"
#include "model/layer_list.h"
#include "model/network.h"

namespace muster {

// Convolutions without padding, each with ReLU and 2 x 2 max-pooling; the hidden dense layers of the options.
[[nodiscard]] Result<LayerList> write_cnn(const ModelOptions& options, Shape input);
// The LeNet-5 of FedSeq: 64 and 64 channels, dense 384 and 192.
[[nodiscard]] Result<LayerList> write_lenet5(const ModelOptions& options, Shape input);
// LEAF's network for FEMNIST: 32 and 64 channels with padding, dense 2048.
[[nodiscard]] Result<LayerList> write_femnist(const ModelOptions& options, Shape input);
// A stem of 3 x 3, stages of residual blocks that halve the image, a mean over pixels.
[[nodiscard]] Result<LayerList> write_resnet(const ModelOptions& options, Shape input);
// M5 on waveforms: four one-dimensional convolutions with normalisation and pooling by 4, a mean over time.
[[nodiscard]] Result<LayerList> write_audio(const ModelOptions& options, Shape input);

// Appends dense layers with ReLU.
void add_hidden(LayerList& list, std::span<const std::uint32_t> hidden);

}  // namespace muster
