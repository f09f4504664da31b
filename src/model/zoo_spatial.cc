#include "model/zoo_spatial.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/layers/conv.h"
#include "model/layers/pool.h"
#include "model/layers/residual.h"

namespace muster {
namespace {

constexpr std::uint32_t kMostChannels = 4096;

std::string describe(Shape shape) {
  return fmt::format("{}x{}x{}", shape.height, shape.width, shape.channels);
}

Status check_channels(const char* key, std::span<const std::uint32_t> channels) {
  for (const std::uint32_t count : channels) {
    if (count < 1 || count > kMostChannels) return usage_error("model.{}: {}, want 1 to {}", key, count, kMostChannels);
  }
  return {};
}

Shape output(const Features& features, Shape input) {
  return features.layers.empty() ? input : features.layers.back()->output();
}

// Convolutions with ReLU and 2 x 2 max-pooling, named conv1, conv2, ...
Result<Features> make_plain(const ModelOptions& options, Shape input, std::span<const std::uint32_t> channels,
                            std::uint32_t kernel, bool same) {
  const bool odd = std::any_of(channels.begin(), channels.end(), [](std::uint32_t c) { return c % kPad != 0; });
  Features features;
  int number = 0;
  for (const std::uint32_t count : channels) {
    const Extent extent{kernel, kernel};
    const ConvOptions conv{.channels = count,
                           .kernel = extent,
                           .padding = same ? same_padding(extent) : Padding{},
                           .pool = {2, 2},
                           .lanes = same  ? Lanes::kNever
                                    : odd ? Lanes::kOften
                                          : Lanes::kFilled};
    const Shape before = output(features, input);
    if (conv_output(before, conv).size() == 0) {
      return usage_error("model.name: \"{}\" on {} data: convolution {} ({} x {}) and pooling find only {} x {} pixels",
                         options.name, describe(input), number + 1, kernel, kernel, before.height, before.width);
    }
    features.layers.push_back(make_conv(fmt::format("conv{}", ++number), before, conv));
  }
  return features;
}

Result<Norm> parse_norm(const ModelOptions& options, std::span<const std::uint32_t> channels) {
  if (options.norm.empty() || options.norm == "batch") return Norm::kBatch;
  if (options.norm != "group") return usage_error("model.norm: \"{}\", want batch or group", options.norm);
  for (const std::uint32_t count : channels) {
    if (count % 2 != 0) return usage_error("model.norm: \"group\" wants even channel counts, got {}", count);
  }
  return Norm::kGroup;
}

}  // namespace

Result<Features> make_cnn_features(const ModelOptions& options, Shape input) {
  std::vector<std::uint32_t> channels = options.channels;
  if (channels.empty()) channels = {6, 16};
  if (const Status status = check_channels("channels", channels); !status) return status.error();
  if (options.kernel < 1 || options.kernel > 64) return usage_error("model.kernel: {}, want 1 to 64", options.kernel);
  Result<Features> features = make_plain(options, input, channels, options.kernel, false);
  if (features) features->hidden = options.hidden;
  return features;
}

Result<Features> make_lenet5_features(const ModelOptions& options, Shape input) {
  Result<Features> features = make_plain(options, input, std::vector<std::uint32_t>{64, 64}, 5, false);
  if (features) features->hidden = {384, 192};
  return features;
}

Result<Features> make_femnist_features(const ModelOptions& options, Shape input) {
  Result<Features> features = make_plain(options, input, std::vector<std::uint32_t>{32, 64}, 5, true);
  if (features) features->hidden = {2048};
  return features;
}

Result<Features> make_resnet_features(const ModelOptions& options, Shape input) {
  std::vector<std::uint32_t> widths = options.widths;
  if (widths.empty()) widths = {16, 32, 64};
  if (const Status status = check_channels("widths", widths); !status) return status.error();
  const std::uint32_t blocks = options.blocks.value_or(3);
  if (blocks < 1 || blocks > 100) return usage_error("model.blocks: {}, want 1 to 100", blocks);
  if (!options.shortcut.empty() && options.shortcut != "padded" && options.shortcut != "projected") {
    return usage_error("model.shortcut: \"{}\", want padded or projected", options.shortcut);
  }
  const bool projected = options.shortcut == "projected";
  if (!projected && !std::is_sorted(widths.begin(), widths.end())) {
    return usage_error("model.widths: shrinking widths want model.shortcut = \"projected\"");
  }
  MUSTER_ASSIGN(const Norm norm, parse_norm(options, widths));
  if (input.height < 3 || input.width < 3) {
    return usage_error("model.name: \"resnet\" wants images of 3 x 3 and more, the data is {}", describe(input));
  }

  // The padded variant is the network of Group-FEL, whose convolutions have biases.
  Features features;
  features.layers.push_back(make_conv("conv1", input,
                                      {.channels = widths.front(),
                                       .kernel = {3, 3},
                                       .padding = same_padding({3, 3}),
                                       .bias = !projected,
                                       .norm = norm}));
  for (std::size_t stage = 0; stage < widths.size(); ++stage) {
    for (std::uint32_t block = 0; block < blocks; ++block) {
      features.layers.push_back(make_residual(fmt::format("stage{}.block{}", stage + 1, block + 1),
                                              output(features, input),
                                              {.channels = widths[stage],
                                               .stride = stage > 0 && block == 0 ? 2u : 1u,
                                               .norm = norm,
                                               .bias = !projected,
                                               .shortcut = projected ? Shortcut::kProjected : Shortcut::kPadded}));
    }
  }
  const Shape last = output(features, input);
  // A mean over the whole image, except Group-FEL's network for 28 x 28 images, which slides a window of 5 over 7 x 7.
  const bool slides = !projected && last.height == 7 && last.width == 7;
  const Extent window = slides ? Extent{5, 5} : Extent{last.height, last.width};
  features.layers.push_back(make_pool("pool", last, Pool::kMean, window, {1, 1}));
  return features;
}

Result<Features> make_audio_features(const ModelOptions& options, Shape input) {
  constexpr std::uint32_t kChannels[] = {32, 32, 64, 64};
  constexpr std::uint32_t kShortest = 6848;  // leaves one value after the last pooling
  MUSTER_ASSIGN(const Norm norm, parse_norm(options, kChannels));
  Features features;
  for (std::size_t i = 0; i < std::size(kChannels); ++i) {
    const ConvOptions conv{.channels = kChannels[i],
                           .kernel = {1, i == 0 ? 80u : 3u},
                           .stride = i == 0 ? 16u : 1u,
                           .norm = norm,
                           .pool = {1, 4}};
    const Shape before = output(features, input);
    if (input.height != 1 || conv_output(before, conv).size() == 0) {
      return usage_error("model.name: \"audio-cnn\" wants waveforms (1 x length) of {} and more values, the data is {}",
                         kShortest, describe(input));
    }
    features.layers.push_back(make_conv(fmt::format("conv{}", i + 1), before, conv));
  }
  const Shape last = output(features, input);
  features.layers.push_back(make_pool("pool", last, Pool::kMean, {last.height, last.width}, {1, 1}));
  return features;
}

}  // namespace muster
