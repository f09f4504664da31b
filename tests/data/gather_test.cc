#include <cstring>
#include <memory>

#include "counted_new.h"
#include "data/prefetch.h"
#include "data/samples.h"
#include "use_isa.h"

namespace muster {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;

Samples byte_samples(Shape shape, std::size_t count) {
  Samples samples;
  samples.storage = Samples::Storage::kBytes;
  samples.shape = shape;
  samples.classes = 100;
  for (std::size_t i = 0; i < count * shape.size(); ++i) samples.bytes.push_back(static_cast<std::uint8_t>(i * 7));
  for (std::size_t i = 0; i < count; ++i) samples.labels.push_back(static_cast<std::int32_t>(i));
  return samples;
}

struct Batch {
  std::vector<float> values;
  std::vector<std::int32_t> labels;
};

Batch gathered(const SampleView& view, const std::vector<std::uint32_t>& positions,
               const Augmentation& augmentation = {}, Stream* stream = nullptr) {
  Batch batch;
  batch.values.resize(positions.size() * view.samples->shape.size());
  batch.labels.resize(positions.size());
  gather(view, positions, augmentation, stream, batch.values.data(), batch.labels.data());
  return batch;
}

TEST(Gather, FollowsPositionsThroughRows) {
  const Samples samples = byte_samples({1, 1, 3}, 5);
  const std::vector<std::uint32_t> rows{4, 2, 0};
  const Batch batch = gathered({&samples, rows}, {2, 0});
  EXPECT_THAT(batch.labels, ElementsAre(0, 4));
  EXPECT_FLOAT_EQ(batch.values[1], 7 / 255.0f);
  EXPECT_FLOAT_EQ(batch.values[3], 12 * 7 / 255.0f);
}

TEST(Gather, ScalesByOneByChannelAndByFeature) {
  for (const std::uint32_t channels : {2u, 3u}) {
    Samples samples = byte_samples({2, 2, channels}, 1);
    const std::vector<std::uint32_t> rows{0};
    for (const std::size_t entries : {std::size_t{1}, std::size_t{channels}, samples.shape.size()}) {
      samples.scale.clear();
      samples.offset.clear();
      for (std::size_t i = 0; i < entries; ++i) {
        samples.scale.push_back(0.5f + static_cast<float>(i));
        samples.offset.push_back(-static_cast<float>(i));
      }
      const Batch batch = gathered({&samples, rows}, {0});
      for (std::size_t i = 0; i < samples.shape.size(); ++i) {
        const std::size_t entry = i % entries;
        EXPECT_FLOAT_EQ(batch.values[i], samples.bytes[i] * samples.scale[entry] + samples.offset[entry]);
      }
    }
  }
}

// value = stored * scale + offset, product and sum rounded one by one.
float converted(float stored, float scale, float offset) {
  const volatile float product = stored * scale;
  return product + offset;
}

// Every width up to several vectors, so that every remainder of every vectorised loop is met, and channels that repeat
// within a vector, across vectors, and beyond what a stretch holds.
TEST(Gather, HasTheBitsOfAPlainLoopOnEveryInstructionSet) {
  std::vector<Shape> shapes{{28, 28, 1}, {9, 7, 3}, {32, 32, 3}, {5, 3, 16}, {2, 3, 191}, {2, 2, 193}, {1, 2, 1000}};
  for (std::uint32_t n = 1; n <= 140; ++n) shapes.push_back({1, 1, n});
  for (std::uint32_t n = 1; n <= 40; ++n) shapes.push_back({1, n, 3});
  Stream stream({.seed = 3, .purpose = Purpose::kTest});
  const std::vector<std::uint32_t> rows{6, 3, 0, 5, 1, 2};
  const std::vector<std::uint32_t> positions{5, 0, 0, 3, 1, 4, 2};
  for (const Shape& shape : shapes) {
    const std::size_t n = shape.size();
    Samples samples = byte_samples(shape, 7);
    for (std::uint8_t& byte : samples.bytes) byte = static_cast<std::uint8_t>(stream.below(256));
    for (std::size_t i = 0; i < 7 * n; ++i) samples.floats.push_back(static_cast<float>(stream.normal()));
    for (const auto storage : {Samples::Storage::kBytes, Samples::Storage::kFloats}) {
      samples.storage = storage;
      for (const std::size_t entries : {std::size_t{0}, std::size_t{1}, std::size_t{shape.channels}, n}) {
        samples.scale.clear();
        samples.offset.clear();
        for (std::size_t i = 0; i < entries; ++i) {
          samples.scale.push_back(static_cast<float>(stream.normal()));
          samples.offset.push_back(static_cast<float>(stream.normal()));
        }
        std::vector<float> expected;
        for (const std::uint32_t position : positions) {
          for (std::size_t i = 0; i < n; ++i) {
            const std::size_t at = rows[position] * n + i;
            const bool bytes = storage == Samples::Storage::kBytes;
            const float stored = bytes ? static_cast<float>(samples.bytes[at]) : samples.floats[at];
            const float scale = entries > 0 ? samples.scale[i % entries] : bytes ? 1.0f / 255.0f : 1.0f;
            expected.push_back(converted(stored, scale, entries > 0 ? samples.offset[i % entries] : 0.0f));
          }
        }
        for (const Isa isa : available_isas()) {
          const UseIsa use(isa);
          const SampleView view{&samples, rows};
          prefetch(view, positions);
          const Batch batch = gathered(view, positions);
          ASSERT_EQ(std::memcmp(batch.values.data(), expected.data(), expected.size() * sizeof(float)), 0)
              << name(isa) << ", " << shape.height << " x " << shape.width << " x " << shape.channels << ", " << entries
              << " scales";
        }
      }
    }
  }
}

TEST(Gather, FloatsAreGivenAsStored) {
  Samples samples;
  samples.shape = {1, 1, 2};
  samples.classes = 1;
  samples.floats = {1.5f, -2.5f, 3.0f, 4.0f};
  samples.labels = {0, 0};
  const std::vector<std::uint32_t> rows{1, 0};
  EXPECT_THAT(gathered({&samples, rows}, {0, 1}).values, ElementsAre(3.0f, 4.0f, 1.5f, -2.5f));
}

// Against numpy.rot90 of [[0, 1], [2, 3]].
TEST(Gather, TurnsCounterClockwise) {
  Samples samples;
  samples.shape = {2, 2, 1};
  samples.classes = 1;
  samples.floats = {0, 1, 2, 3};
  samples.labels = {0};
  const std::vector<std::uint32_t> rows{0};
  EXPECT_THAT(gathered({&samples, rows, 1}, {0}).values, ElementsAre(1, 3, 0, 2));
  EXPECT_THAT(gathered({&samples, rows, 2}, {0}).values, ElementsAre(3, 2, 1, 0));
  EXPECT_THAT(gathered({&samples, rows, 3}, {0}).values, ElementsAre(2, 0, 3, 1));
  EXPECT_THAT(gathered({&samples, rows, 4}, {0}).values, ElementsAre(0, 1, 2, 3));
}

TEST(Gather, HalfTurnOfAnOblongImageKeepsPixelsWhole) {
  Samples samples;
  samples.shape = {1, 3, 2};
  samples.classes = 1;
  samples.floats = {0, 1, 2, 3, 4, 5};
  samples.labels = {0};
  samples.scale = {1, 10};
  samples.offset = {0, 0};
  const std::vector<std::uint32_t> rows{0};
  EXPECT_THAT(gathered({&samples, rows, 2}, {0}).values, ElementsAre(4, 50, 2, 30, 0, 10));
}

// Redraws what gather must have drawn and looks every pixel up by hand: rot90, then padded crop, then mirror.
TEST(Gather, TurnsThenCropsThenMirrors) {
  const std::vector<std::uint32_t> rows{0, 1, 2};
  const std::vector<std::uint32_t> positions{2, 0, 1, 1, 0, 2, 0, 0};
  constexpr int kSide = 5;
  for (const int channels : {1, 2, 3}) {
    const auto n = static_cast<std::size_t>(kSide * kSide * channels);
    for (const std::size_t entries : {std::size_t{1}, static_cast<std::size_t>(channels), n}) {
      for (const std::uint32_t turns : {0u, 1u, 2u, 3u}) {
        for (const std::uint32_t padding : {2u, 7u}) {
          Samples samples = byte_samples({kSide, kSide, static_cast<std::uint32_t>(channels)}, 3);
          for (std::size_t i = 0; i < entries; ++i) {
            samples.scale.push_back(0.5f + static_cast<float>(i));
            samples.offset.push_back(1.0f - static_cast<float>(i));
          }
          const StreamKey key{.seed = 5, .purpose = Purpose::kAugment};
          Stream stream(key);
          const Batch batch =
              gathered({&samples, rows, turns}, positions, {.crop_padding = padding, .flip = true}, &stream);
          Stream again(key);
          int mirrored = 0;
          for (std::size_t i = 0; i < positions.size(); ++i) {
            const int down = static_cast<int>(again.below(2 * padding + 1)) - static_cast<int>(padding);
            const int right = static_cast<int>(again.below(2 * padding + 1)) - static_cast<int>(padding);
            const bool mirror = again.below(2) == 1;
            mirrored += mirror ? 1 : 0;
            for (int r = 0; r < kSide; ++r) {
              for (int c = 0; c < kSide; ++c) {
                int row = r + down;
                int column = (mirror ? kSide - 1 - c : c) + right;
                const bool inside = row >= 0 && row < kSide && column >= 0 && column < kSide;
                for (std::uint32_t t = 0; t < turns && inside; ++t) {
                  const int turned = row;
                  row = column;
                  column = kSide - 1 - turned;
                }
                const int pixel = inside ? row * kSide + column : r * kSide + c;
                for (int k = 0; k < channels; ++k) {
                  const auto feature = static_cast<std::size_t>(pixel * channels + k);
                  const std::size_t entry = feature % entries;
                  const float stored = inside ? samples.bytes[positions[i] * n + feature] : 0.0f;
                  ASSERT_FLOAT_EQ(batch.values[i * n + static_cast<std::size_t>((r * kSide + c) * channels + k)],
                                  stored * samples.scale[entry] + samples.offset[entry])
                      << channels << " channels, " << entries << " scales, " << turns << " turns, sample " << i;
                }
              }
            }
          }
          EXPECT_GT(mirrored, 0);
          EXPECT_LT(mirrored, 8);
        }
      }
    }
  }
}

TEST(Gather, TokensBecomeTheirVectors) {
  auto vectors = std::make_shared<WordVectors>();
  vectors->dimension = 2;
  vectors->rows = {0, 0, 1, 2, 3, 4};
  Samples samples;
  samples.storage = Samples::Storage::kTokens;
  samples.shape = {1, 3, 2};
  samples.classes = 2;
  samples.labels = {1, 0};
  samples.tokens = {2, 0, 1, 1, 1, 0};
  samples.vectors = vectors;
  const std::vector<std::uint32_t> rows{0, 1};
  const Batch batch = gathered({&samples, rows}, {1, 0});
  EXPECT_THAT(batch.values, ElementsAre(1, 2, 1, 2, 0, 0, 3, 4, 0, 0, 1, 2));
  EXPECT_THAT(batch.labels, ElementsAre(0, 1));
}

TEST(Gather, DoesNotAllocate) {
  Samples samples = byte_samples({28, 28, 1}, 4);
  const std::vector<std::uint32_t> rows{0, 1, 2, 3};
  const std::vector<std::uint32_t> positions{3, 1};
  Samples colours = byte_samples({28, 28, 3}, 4);
  colours.scale = colours.offset = {0.1f, 0.2f, 0.3f};
  std::vector<float> values(positions.size() * 3 * 784);
  std::vector<std::int32_t> labels(positions.size());
  Stream stream({.seed = 1});
  const auto isas = available_isas();  // allocates when it is first asked
  const std::size_t before = allocations();
  for (const Isa isa : isas) {
    const UseIsa use(isa);
    prefetch({&samples, rows}, positions);
    gather({&samples, rows}, positions, {}, nullptr, values.data(), labels.data());
    gather({&colours, rows}, positions, {}, nullptr, values.data(), labels.data());
  }
  gather({&samples, rows, 1}, positions, {}, nullptr, values.data(), labels.data());
  gather({&samples, rows}, positions, {.crop_padding = 4, .flip = true}, &stream, values.data(), labels.data());
  EXPECT_EQ(allocations(), before);
  const auto counted = std::make_unique<int>(1);
  EXPECT_GT(allocations(), before) << "the count does not count";
}

TEST(Gather, NoPositionsWriteNothing) {
  const Samples samples = byte_samples({2, 2, 1}, 1);
  const std::vector<std::uint32_t> rows{0};
  gather({&samples, rows}, {}, {}, nullptr, nullptr, nullptr);
  prefetch({&samples, rows}, {});
}

}  // namespace
}  // namespace muster
