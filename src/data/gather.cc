// gather(): stored samples -> a batch of floats. The inner loop of training's input side: straight copies get loops
// that the compiler turns into vector code; turned or augmented images walk their pixels by strides.
#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "data/samples.h"

namespace muster {
namespace {

template <typename T>
void convert_scalar(const T* in, std::size_t n, float scale, float offset, float* __restrict out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<float>(in[i]) * scale + offset;
}

template <typename T>
void convert_each(const T* in, std::size_t n, const float* scale, const float* offset, float* __restrict out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<float>(in[i]) * scale[i] + offset[i];
}

// The channel count is a constant here so that the inner loop unrolls.
template <std::size_t kChannels, typename T>
void convert_channels(const T* in, std::size_t pixels, const float* scale, const float* offset, float* __restrict out) {
  for (std::size_t p = 0; p < pixels; ++p) {
    for (std::size_t c = 0; c < kChannels; ++c) {
      out[p * kChannels + c] = static_cast<float>(in[p * kChannels + c]) * scale[c] + offset[c];
    }
  }
}

// How stored numbers become values; one entry, one per channel or one per feature.
struct Scaling {
  enum class Kind { kOne, kChannel, kFeature } kind = Kind::kOne;
  float one_scale = 1;
  float one_offset = 0;
  const float* scale = nullptr;
  const float* offset = nullptr;
};

Scaling scaling_of(const Samples& samples) {
  Scaling scaling;
  const std::size_t entries = samples.scale.size();
  MUSTER_CHECK(samples.offset.size() == entries, "{} scales, {} offsets", entries, samples.offset.size());
  if (entries == 0) {
    scaling.one_scale = samples.storage == Samples::Storage::kBytes ? 1.0f / 255.0f : 1.0f;
  } else if (entries == 1) {
    scaling.one_scale = samples.scale[0];
    scaling.one_offset = samples.offset[0];
  } else {
    MUSTER_CHECK(entries == samples.shape.channels || entries == samples.shape.size(),
                 "{} scales for samples of {} channels and {} features", entries, samples.shape.channels,
                 samples.shape.size());
    scaling.kind = entries == samples.shape.size() ? Scaling::Kind::kFeature : Scaling::Kind::kChannel;
    scaling.scale = samples.scale.data();
    scaling.offset = samples.offset.data();
  }
  return scaling;
}

template <typename T>
void convert(const T* in, const Shape& shape, const Scaling& scaling, float* out) {
  const std::size_t n = shape.size();
  switch (scaling.kind) {
    case Scaling::Kind::kOne:
      return convert_scalar(in, n, scaling.one_scale, scaling.one_offset, out);
    case Scaling::Kind::kFeature:
      return convert_each(in, n, scaling.scale, scaling.offset, out);
    case Scaling::Kind::kChannel:
      if (shape.channels == 3) return convert_channels<3>(in, n / 3, scaling.scale, scaling.offset, out);
      for (std::size_t i = 0; i < n; i += shape.channels) {
        convert_each(in + i, shape.channels, scaling.scale, scaling.offset, out + i);
      }
  }
}

// Where pixel (row, column) of the turned image lies in the stored one: at first + row * down + column * right.
struct Walk {
  std::ptrdiff_t first = 0;
  std::ptrdiff_t down = 0;
  std::ptrdiff_t right = 0;
};

// Counter-clockwise, as numpy.rot90: turned(r, c) = stored(c, n - 1 - r) for one quarter.
Walk walk_of(const Shape& shape, std::uint32_t quarter_turns) {
  const auto height = static_cast<std::ptrdiff_t>(shape.height);
  const auto width = static_cast<std::ptrdiff_t>(shape.width);
  switch (quarter_turns % 4) {
    case 1:
      return {width - 1, -1, width};
    case 2:
      return {height * width - 1, -width, -1};
    case 3:
      return {(height - 1) * width, 1, -width};
    default:
      return {0, width, 1};
  }
}

// One drawn augmentation: output (r, c) shows the turned image at (r + shift_down, c' + shift_right), c' mirrored or
// not.
struct Draw {
  std::ptrdiff_t shift_down = 0;
  std::ptrdiff_t shift_right = 0;
  bool mirror = false;
};

Draw draw(const Augmentation& augmentation, Stream* stream) {
  Draw drawn;
  if (augmentation.crop_padding > 0) {
    const auto padding = static_cast<std::ptrdiff_t>(augmentation.crop_padding);
    drawn.shift_down = static_cast<std::ptrdiff_t>(stream->below(2 * augmentation.crop_padding + 1)) - padding;
    drawn.shift_right = static_cast<std::ptrdiff_t>(stream->below(2 * augmentation.crop_padding + 1)) - padding;
  }
  if (augmentation.flip) drawn.mirror = stream->below(2) == 1;
  return drawn;
}

// A pixel keeps the scaling of the place it was stored at. What lies outside the image is a stored zero.
// kChannels is the channel count, or 0 when it is only known at run time.
template <std::ptrdiff_t kChannels, Scaling::Kind kKind, typename T>
void convert_walking(const T* in, const Shape& shape, const Scaling& scaling, const Walk& walk, const Draw& drawn,
                     float* __restrict out) {
  const auto height = static_cast<std::ptrdiff_t>(shape.height);
  const auto width = static_cast<std::ptrdiff_t>(shape.width);
  const std::ptrdiff_t channels = kChannels > 0 ? kChannels : static_cast<std::ptrdiff_t>(shape.channels);
  const auto value = [&](float stored, std::ptrdiff_t pixel, std::ptrdiff_t k) {
    if constexpr (kKind == Scaling::Kind::kOne) return stored * scaling.one_scale + scaling.one_offset;
    const std::ptrdiff_t entry = kKind == Scaling::Kind::kChannel ? k : pixel * channels + k;
    return stored * scaling.scale[entry] + scaling.offset[entry];
  };
  const auto pad = [&](std::ptrdiff_t r, std::ptrdiff_t from, std::ptrdiff_t to) {
    for (std::ptrdiff_t pixel = r * width + from; pixel < r * width + to; ++pixel) {
      for (std::ptrdiff_t k = 0; k < channels; ++k) out[pixel * channels + k] = value(0.0f, pixel, k);
    }
  };
  // Output columns [first, last) show the image; column c shows its column c * step + start.
  const std::ptrdiff_t shift = drawn.mirror ? -drawn.shift_right : drawn.shift_right;
  const std::ptrdiff_t first = std::clamp<std::ptrdiff_t>(-shift, 0, width);
  const std::ptrdiff_t last = std::clamp<std::ptrdiff_t>(width - shift, first, width);
  const std::ptrdiff_t step = drawn.mirror ? -1 : 1;
  const std::ptrdiff_t start = (drawn.mirror ? width - 1 : 0) + drawn.shift_right;
  for (std::ptrdiff_t r = 0; r < height; ++r) {
    const std::ptrdiff_t row = r + drawn.shift_down;
    if (row < 0 || row >= height) {
      pad(r, 0, width);
      continue;
    }
    pad(r, 0, first);
    std::ptrdiff_t pixel = walk.first + row * walk.down + (first * step + start) * walk.right;
    for (std::ptrdiff_t c = first; c < last; ++c, pixel += step * walk.right) {
      for (std::ptrdiff_t k = 0; k < channels; ++k) {
        out[(r * width + c) * channels + k] = value(static_cast<float>(in[pixel * channels + k]), pixel, k);
      }
    }
    pad(r, last, width);
  }
}

template <std::ptrdiff_t kChannels, typename T>
void convert_walking(const T* in, const Shape& shape, const Scaling& scaling, const Walk& walk, const Draw& drawn,
                     float* out) {
  switch (scaling.kind) {
    case Scaling::Kind::kOne:
      return convert_walking<kChannels, Scaling::Kind::kOne>(in, shape, scaling, walk, drawn, out);
    case Scaling::Kind::kChannel:
      return convert_walking<kChannels, Scaling::Kind::kChannel>(in, shape, scaling, walk, drawn, out);
    case Scaling::Kind::kFeature:
      return convert_walking<kChannels, Scaling::Kind::kFeature>(in, shape, scaling, walk, drawn, out);
  }
}

template <typename T>
void gather_numbers(const T* stored, const SampleView& view, std::span<const std::uint32_t> positions,
                    const Augmentation& augmentation, Stream* stream, float* out) {
  const Samples& samples = *view.samples;
  const Scaling scaling = scaling_of(samples);
  const std::size_t n = samples.shape.size();
  const bool straight = view.quarter_turns % 4 == 0 && !augmentation.any();
  if (straight) {
    for (const std::uint32_t position : positions) {
      convert(stored + std::size_t{view.rows[position]} * n, samples.shape, scaling, out);
      out += n;
    }
    return;
  }
  MUSTER_CHECK(view.quarter_turns % 2 == 0 || samples.shape.height == samples.shape.width,
               "a {} x {} image cannot be turned by {} quarters", samples.shape.height, samples.shape.width,
               view.quarter_turns);
  MUSTER_CHECK(!augmentation.any() || stream != nullptr, "augmentation without a random stream");
  const Walk walk = walk_of(samples.shape, view.quarter_turns);
  for (const std::uint32_t position : positions) {
    const Draw drawn = draw(augmentation, stream);
    const T* in = stored + std::size_t{view.rows[position]} * n;
    if (samples.shape.channels == 1) {
      convert_walking<1>(in, samples.shape, scaling, walk, drawn, out);
    } else if (samples.shape.channels == 3) {
      convert_walking<3>(in, samples.shape, scaling, walk, drawn, out);
    } else {
      convert_walking<0>(in, samples.shape, scaling, walk, drawn, out);
    }
    out += n;
  }
}

void gather_tokens(const SampleView& view, std::span<const std::uint32_t> positions, float* out) {
  const Samples& samples = *view.samples;
  const std::size_t words = samples.shape.width;
  if (!samples.vectors) {
    for (const std::uint32_t position : positions) {
      const std::uint32_t* ids = samples.tokens.data() + std::size_t{view.rows[position]} * words;
      out = std::copy(ids, ids + words, out);
    }
    return;
  }
  const std::size_t dimension = samples.vectors->dimension;
  for (const std::uint32_t position : positions) {
    const std::uint32_t* ids = samples.tokens.data() + std::size_t{view.rows[position]} * words;
    for (std::size_t w = 0; w < words; ++w, out += dimension) {
      std::memcpy(out, samples.vectors->rows.data() + ids[w] * dimension, dimension * sizeof(float));
    }
  }
}

}  // namespace

void gather(const SampleView& view, std::span<const std::uint32_t> positions, const Augmentation& augmentation,
            Stream* stream, float* out, std::int32_t* labels) {
  const Samples& samples = *view.samples;
  for (std::size_t i = 0; i < positions.size(); ++i) labels[i] = samples.labels[view.rows[positions[i]]];
  switch (samples.storage) {
    case Samples::Storage::kBytes:
      return gather_numbers(samples.bytes.data(), view, positions, augmentation, stream, out);
    case Samples::Storage::kFloats:
      return gather_numbers(samples.floats.data(), view, positions, augmentation, stream, out);
    case Samples::Storage::kTokens:
      return gather_tokens(view, positions, out);
  }
}

}  // namespace muster
