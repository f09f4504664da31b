// gather(): stored samples -> a batch of floats. The inner loop of training's input side: straight copies get loops
// that the compiler vectorises for each instruction set, with the same bits on all of them (products and sums are
// rounded one by one, see CMakeLists.txt); turned or augmented images walk their pixels by strides.
#include <algorithm>
#include <cstring>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/check.h"
#include "base/isa.h"
#include "data/prefetch.h"
#include "data/samples.h"

#define MUSTER_INLINE static inline __attribute__((always_inline))

namespace muster {
namespace {

template <typename T>
MUSTER_INLINE void convert_by_one_plain(const T* in, std::size_t n, float scale, float offset, float* __restrict out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<float>(in[i]) * scale + offset;
}

template <typename T>
MUSTER_INLINE void convert_by_each_plain(const T* in, std::size_t n, const float* scale, const float* offset,
                                         float* __restrict out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<float>(in[i]) * scale[i] + offset[i];
}

// How a stretch of stored numbers becomes values: by one scale and offset, or by one for each number.
template <typename T>
struct Converters {
  void (*by_one)(const T* in, std::size_t n, float scale, float offset, float* out);
  void (*by_each)(const T* in, std::size_t n, const float* scale, const float* offset, float* out);
};

#define MUSTER_VERSION(isa, attributes)                                                                      \
  namespace isa {                                                                                            \
  template <typename T>                                                                                      \
  attributes void by_one(const T* in, std::size_t n, float scale, float offset, float* out) {                \
    convert_by_one_plain(in, n, scale, offset, out);                                                         \
  }                                                                                                          \
  template <typename T>                                                                                      \
  attributes void by_each(const T* in, std::size_t n, const float* scale, const float* offset, float* out) { \
    convert_by_each_plain(in, n, scale, offset, out);                                                        \
  }                                                                                                          \
  template <typename T>                                                                                      \
  constexpr Converters<T> kConverters{by_one<T>, by_each<T>};                                                \
  }
MUSTER_VERSION(baseline, )
#if defined(__x86_64__)
MUSTER_VERSION(avx2, MUSTER_FOR_AVX2)
MUSTER_VERSION(avx512, MUSTER_FOR_AVX512)
#endif

#if defined(__x86_64__)
// The compiler widens bytes in more steps than it takes.
namespace avx512 {
constexpr std::size_t kLanes = 16;

MUSTER_INLINE MUSTER_FOR_AVX512 __m512 widened(const std::uint8_t* in) {
  constexpr __mmask16 kAll = 0xffff;  // g++ 12 takes the functions without a mask for uses of unset values
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in));
  return _mm512_maskz_cvtepi32_ps(kAll, _mm512_maskz_cvtepu8_epi32(kAll, bytes));
}

template <>
MUSTER_FOR_AVX512 void by_one(const std::uint8_t* in, std::size_t n, float scale, float offset, float* out) {
  const std::size_t whole = n / kLanes * kLanes;
  const __m512 scales = _mm512_set1_ps(scale);
  const __m512 offsets = _mm512_set1_ps(offset);
  for (std::size_t i = 0; i < whole; i += kLanes) {
    _mm512_storeu_ps(out + i, _mm512_add_ps(_mm512_mul_ps(widened(in + i), scales), offsets));
  }
  convert_by_one_plain(in + whole, n - whole, scale, offset, out + whole);
}

template <>
MUSTER_FOR_AVX512 void by_each(const std::uint8_t* in, std::size_t n, const float* scale, const float* offset,
                               float* out) {
  const std::size_t whole = n / kLanes * kLanes;
  for (std::size_t i = 0; i < whole; i += kLanes) {
    const __m512 product = _mm512_mul_ps(widened(in + i), _mm512_loadu_ps(scale + i));
    _mm512_storeu_ps(out + i, _mm512_add_ps(product, _mm512_loadu_ps(offset + i)));
  }
  convert_by_each_plain(in + whole, n - whole, scale + whole, offset + whole, out + whole);
}
}  // namespace avx512
#endif

template <typename T>
const Converters<T>& converters() {
#if defined(__x86_64__)
  if (current_isa() == Isa::kAvx512) return avx512::kConverters<T>;
  if (current_isa() == Isa::kAvx2) return avx2::kConverters<T>;
#endif
  return baseline::kConverters<T>;
}

// Samples lie anywhere in memory, where nothing in the processor foresees them: each is asked for kAhead samples early,
// and before a batch is due, the first kFirst of it. More at once would keep everything else from the memory.
constexpr std::size_t kAhead = 4;
constexpr std::size_t kFirst = 10;
constexpr std::size_t kCacheLine = 64;
constexpr std::size_t kMostPrefetched = 4096;  // of a sample's bytes: the rest is foreseen by then

template <typename T>
void prefetch_sample(const T* sample, std::size_t n) {
  const auto* bytes = reinterpret_cast<const char*>(sample);
  const std::size_t size = std::min(n * sizeof(T), kMostPrefetched);
  for (std::size_t at = 0; at < size; at += kCacheLine) __builtin_prefetch(bytes + at, 0, 2);
  __builtin_prefetch(bytes + size - 1, 0, 2);
  asm volatile("");  // a function that only prefetches does nothing to g++, which then drops its calls
}

// The samples of some positions, one after the other.
template <typename T>
class Rows {
 public:
  Rows(const T* stored, std::size_t n, const SampleView& view, std::span<const std::uint32_t> positions)
      : stored_(stored), n_(n), rows_(view.rows), positions_(positions) {}

  void prefetch_first() const {
    for (std::size_t i = 0; i < std::min(kFirst, positions_.size()); ++i) prefetch_sample(at(i), n_);
  }
  // Also asks for a later one.
  const T* next() {
    if (next_ + kAhead < positions_.size()) prefetch_sample(at(next_ + kAhead), n_);
    return at(next_++);
  }

 private:
  const T* at(std::size_t i) const { return stored_ + std::size_t{rows_[positions_[i]]} * n_; }

  const T* stored_;
  std::size_t n_;
  std::span<const std::uint32_t> rows_;
  std::span<const std::uint32_t> positions_;
  std::size_t next_ = 0;
};

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

// The scales of all numbers of a stretch. Those of channels are repeated until they are worth a loop.
class ScaleLine {
 public:
  ScaleLine(const Scaling& scaling, const Shape& shape) : scale_(scaling.scale), offset_(scaling.offset) {
    length_ = scaling.kind == Scaling::Kind::kFeature ? shape.size() : shape.channels;
    if (scaling.kind != Scaling::Kind::kChannel || length_ > kRepeated / 2) return;
    const std::size_t channels = length_;
    length_ = kRepeated / channels * channels;
    for (std::size_t i = 0; i < length_; ++i) {
      repeated_scale_[i] = scaling.scale[i % channels];
      repeated_offset_[i] = scaling.offset[i % channels];
    }
    scale_ = repeated_scale_;
    offset_ = repeated_offset_;
  }
  ScaleLine(const ScaleLine&) = delete;
  ScaleLine& operator=(const ScaleLine&) = delete;

  template <typename T>
  void convert(const Converters<T>& converters, const T* in, std::size_t n, float* out) const {
    for (std::size_t at = 0; at < n; at += length_) {
      converters.by_each(in + at, std::min(length_, n - at), scale_, offset_, out + at);
    }
  }

 private:
  static constexpr std::size_t kRepeated = 384;
  std::size_t length_;
  const float* scale_;
  const float* offset_;
  float repeated_scale_[kRepeated];
  float repeated_offset_[kRepeated];
};

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
void gather_straight(Rows<T> rows, std::size_t count, const Shape& shape, const Scaling& scaling, float* out) {
  const std::size_t n = shape.size();
  const Converters<T>& convert = converters<T>();
  if (scaling.kind == Scaling::Kind::kOne) {
    for (std::size_t i = 0; i < count; ++i, out += n) {
      convert.by_one(rows.next(), n, scaling.one_scale, scaling.one_offset, out);
    }
    return;
  }
  const ScaleLine line(scaling, shape);
  for (std::size_t i = 0; i < count; ++i, out += n) line.convert(convert, rows.next(), n, out);
}

template <typename T>
void gather_numbers(const T* stored, const SampleView& view, std::span<const std::uint32_t> positions,
                    const Augmentation& augmentation, Stream* stream, float* out) {
  const Samples& samples = *view.samples;
  const Scaling scaling = scaling_of(samples);
  const std::size_t n = samples.shape.size();
  Rows<T> rows(stored, n, view, positions);
  if (view.quarter_turns % 4 == 0 && !augmentation.any()) {
    return gather_straight(rows, positions.size(), samples.shape, scaling, out);
  }
  MUSTER_CHECK(view.quarter_turns % 2 == 0 || samples.shape.height == samples.shape.width,
               "a {} x {} image cannot be turned by {} quarters", samples.shape.height, samples.shape.width,
               view.quarter_turns);
  MUSTER_CHECK(!augmentation.any() || stream != nullptr, "augmentation without a random stream");
  const Walk walk = walk_of(samples.shape, view.quarter_turns);
  for (std::size_t i = 0; i < positions.size(); ++i, out += n) {
    const Draw drawn = draw(augmentation, stream);
    const T* in = rows.next();
    if (samples.shape.channels == 1) {
      convert_walking<1>(in, samples.shape, scaling, walk, drawn, out);
    } else if (samples.shape.channels == 3) {
      convert_walking<3>(in, samples.shape, scaling, walk, drawn, out);
    } else {
      convert_walking<0>(in, samples.shape, scaling, walk, drawn, out);
    }
  }
}

void gather_tokens(const SampleValues& values, const SampleView& view, std::span<const std::uint32_t> positions,
                   float* out) {
  const std::size_t words = view.samples->shape.width;
  if (values.word_vectors.empty()) {
    for (const std::uint32_t position : positions) {
      const std::uint32_t* ids = values.tokens.data() + std::size_t{view.rows[position]} * words;
      out = std::copy(ids, ids + words, out);
    }
    return;
  }
  const std::size_t dimension = values.dimension;
  for (const std::uint32_t position : positions) {
    const std::uint32_t* ids = values.tokens.data() + std::size_t{view.rows[position]} * words;
    for (std::size_t w = 0; w < words; ++w, out += dimension) {
      std::memcpy(out, values.word_vectors.data() + ids[w] * dimension, dimension * sizeof(float));
    }
  }
}

}  // namespace

void gather(const SampleView& view, std::span<const std::uint32_t> positions, const Augmentation& augmentation,
            Stream* stream, float* out, std::int32_t* labels) {
  const SampleValues values = view.samples->values();
  for (std::size_t i = 0; i < positions.size(); ++i) labels[i] = values.labels[view.rows[positions[i]]];
  switch (view.samples->storage) {
    case Samples::Storage::kBytes:
      return gather_numbers(values.bytes.data(), view, positions, augmentation, stream, out);
    case Samples::Storage::kFloats:
      return gather_numbers(values.floats.data(), view, positions, augmentation, stream, out);
    case Samples::Storage::kTokens:
      return gather_tokens(values, view, positions, out);
  }
}

void prefetch(const SampleView& view, std::span<const std::uint32_t> positions) {
  const Samples& samples = *view.samples;
  switch (samples.storage) {
    case Samples::Storage::kBytes:
      return Rows(samples.bytes.data(), samples.shape.size(), view, positions).prefetch_first();
    case Samples::Storage::kFloats:
      return Rows(samples.floats.data(), samples.shape.size(), view, positions).prefetch_first();
    case Samples::Storage::kTokens:
      return Rows(samples.tokens.data(), samples.shape.width, view, positions).prefetch_first();
  }
}

}  // namespace muster
