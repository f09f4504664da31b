#include "model/zoo_spatial.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/layers/conv.h"

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

// Convolutions with ReLU and 2 x 2 max-pooling.
Result<LayerList> write_plain(const ModelOptions& options, Shape input, std::span<const std::uint32_t> channels,
                              std::uint32_t kernel, bool same) {
  const Extent extent{kernel, kernel};
  LayerList list;
  Shape before = input;
  int number = 0;
  for (const std::uint32_t count : channels) {
    ++number;
    const Shape after = conv_output(
        before,
        {.channels = count, .kernel = extent, .padding = same ? same_padding(extent) : Padding{}, .pool = {2, 2}});
    if (after.size() == 0) {
      return usage_error("model.name: \"{}\" on {} data: convolution {} ({} x {}) and pooling find only {} x {} pixels",
                         options.name, describe(input), number, kernel, kernel, before.height, before.width);
    }
    // In full: also on data of height 1 the kernel is a square.
    list.push_back({fmt::format("conv {} {}x{}{}", count, kernel, kernel, same ? " pad same" : "")});
    list.push_back({"relu"});
    list.push_back({"max-pool 2x2"});
    before = after;
  }
  return list;
}

// The words of the normalisation.
Result<std::string> write_norm(const ModelOptions& options, std::span<const std::uint32_t> channels) {
  if (options.norm == "batch") return std::string("batch-norm");
  if (options.norm != "group") return usage_error("model.norm: \"{}\", want batch or group", options.norm);
  for (const std::uint32_t count : channels) {
    if (count % 2 != 0) return usage_error("model.norm: \"group\" wants even channel counts, got {}", count);
  }
  return std::string("group-norm 2");
}

}  // namespace

void add_hidden(LayerList& list, std::span<const std::uint32_t> hidden) {
  for (const std::uint32_t units : hidden) {
    list.push_back({fmt::format("dense {}", units)});
    list.push_back({"relu"});
  }
}

Result<LayerList> write_cnn(const ModelOptions& options, Shape input) {
  const std::vector<std::uint32_t>& channels = options.channels;
  MUSTER_TRY(check_channels("channels", channels));
  if (options.kernel < 1 || options.kernel > 64) return usage_error("model.kernel: {}, want 1 to 64", options.kernel);
  MUSTER_ASSIGN(LayerList list, write_plain(options, input, channels, options.kernel, false));
  add_hidden(list, options.hidden);
  return list;
}

Result<LayerList> write_lenet5(const ModelOptions& options, Shape input) {
  MUSTER_ASSIGN(LayerList list, write_plain(options, input, std::vector<std::uint32_t>{64, 64}, 5, false));
  add_hidden(list, std::vector<std::uint32_t>{384, 192});
  return list;
}

Result<LayerList> write_femnist(const ModelOptions& options, Shape input) {
  MUSTER_ASSIGN(LayerList list, write_plain(options, input, std::vector<std::uint32_t>{32, 64}, 5, true));
  add_hidden(list, std::vector<std::uint32_t>{2048});
  return list;
}

Result<LayerList> write_resnet(const ModelOptions& options, Shape input) {
  const std::vector<std::uint32_t>& widths = options.widths;
  MUSTER_TRY(check_channels("widths", widths));
  const std::uint32_t blocks = *options.blocks;
  if (blocks < 1 || blocks > 100) return usage_error("model.blocks: {}, want 1 to 100", blocks);
  if (options.shortcut != "padded" && options.shortcut != "projected") {
    return usage_error("model.shortcut: \"{}\", want padded or projected", options.shortcut);
  }
  const bool projected = options.shortcut == "projected";
  if (!projected && !std::is_sorted(widths.begin(), widths.end())) {
    return usage_error("model.widths: shrinking widths want model.shortcut = \"projected\"");
  }
  MUSTER_ASSIGN(const std::string norm, write_norm(options, widths));
  if (input.height < 3 || input.width < 3) {
    return usage_error("model.name: \"resnet\" wants images of 3 x 3 and more, the data is {}", describe(input));
  }

  // The padded variant is the network of Group-FEL, whose convolutions have biases.
  const char* bias = projected ? " no-bias" : "";
  LayerList list{{fmt::format("conv {} 3 pad same{}", widths.front(), bias)}, {norm}, {"relu"}};
  Extent image{input.height, input.width};
  for (std::size_t stage = 0; stage < widths.size(); ++stage) {
    for (std::uint32_t block = 0; block < blocks; ++block) {
      const std::uint32_t stride = stage > 0 && block == 0 ? 2 : 1;
      image = {(image.height - 1) / stride + 1, (image.width - 1) / stride + 1};
      const char* shortcut = projected ? "projected" : "padded";
      list.push_back({fmt::format("residual {} as stage{}.block{}", shortcut, stage + 1, block + 1),
                      {{fmt::format("conv {} 3 stride {} pad same{}", widths[stage], stride, bias)},
                       {norm},
                       {"relu"},
                       {fmt::format("conv {} 3 pad same{}", widths[stage], bias)},
                       {norm}}});
      list.push_back({"relu"});
    }
  }
  // A mean over the whole image, except Group-FEL's network for 28 x 28 images, which slides a window of 5 over 7 x 7.
  const bool slides = !projected && image == Extent{7, 7};
  list.push_back({slides ? "mean-pool 5 stride 1" : "global-mean"});
  return list;
}

Result<LayerList> write_audio(const ModelOptions& options, Shape input) {
  constexpr std::uint32_t kChannels[] = {32, 32, 64, 64};
  constexpr std::uint32_t kShortest = 6848;  // leaves one value after the last pooling
  MUSTER_ASSIGN(const std::string norm, write_norm(options, kChannels));
  if (input.height != 1 || input.width < kShortest) {
    return usage_error("model.name: \"audio-cnn\" wants waveforms (1 x length) of {} and more values, the data is {}",
                       kShortest, describe(input));
  }
  LayerList list;
  for (std::size_t i = 0; i < std::size(kChannels); ++i) {
    list.push_back({fmt::format("conv {} {}", kChannels[i], i == 0 ? "80 stride 16" : "3")});
    list.push_back({norm});
    list.push_back({"relu"});
    list.push_back({"max-pool 4"});
  }
  list.push_back({"global-mean"});
  return list;
}

}  // namespace muster
