// Copies of rare classes: how many, whose, and how far from their originals.
#include "data/minority_copies.h"

#include "data/federated_data.h"

namespace muster {
namespace {

// Two clients: 0 has 6 samples of class 0 and 2 of class 1, 1 has 6 of class 0, 1 of class 1 and 1 of class 2. The mean
// is 16 / 4, because nobody has class 3.
struct Scene {
  Scene() {
    samples.storage = Samples::Storage::kBytes;
    samples.shape = {8, 8, 1};
    samples.classes = 4;
    samples.labels = {0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 1, 2};
    for (std::size_t i = 0; i < 16; ++i) {
      for (std::size_t pixel = 0; pixel < 64; ++pixel) {
        const bool inside = pixel / 8 >= 2 && pixel / 8 < 6 && pixel % 8 >= 2 && pixel % 8 < 6;
        samples.bytes.push_back(inside ? static_cast<std::uint8_t>(100 + i) : 0);
      }
    }
    for (std::uint32_t row = 0; row < 16; ++row) {
      division.rows.push_back(row);
      if (row == 7 || row == 15) division.close_client();
    }
  }
  std::vector<std::uint32_t> counts(std::uint32_t client) const {
    std::vector<std::uint32_t> counts(4);
    for (const std::uint32_t row : division.of(client)) ++counts[static_cast<std::size_t>(samples.labels[row])];
    return counts;
  }
  Samples samples;
  Division division;
};

using testing::ElementsAre;

TEST(MinorityCopies, RareClassesReachTheMeanAtFullStrength) {
  Scene scene;
  ASSERT_TRUE(add_minority_copies(1, 5, scene.samples, scene.division));
  // Class 1 has 3 of 4: a third more, 0.67 and 0.33 of a sample; class 2 has 1: three more.
  EXPECT_THAT(scene.counts(0), ElementsAre(6, 3, 0, 0));
  EXPECT_THAT(scene.counts(1), ElementsAre(6, 1, 4, 0));
  EXPECT_EQ(scene.samples.size(), 20u);
  EXPECT_EQ(scene.samples.bytes.size(), 20u * 64);
}

TEST(MinorityCopies, StrengthIsAnExponent) {
  Scene scene;
  ASSERT_TRUE(add_minority_copies(0.5, 5, scene.samples, scene.division));
  EXPECT_THAT(scene.counts(1), ElementsAre(6, 1, 2, 0));  // sqrt(4) - 1 = 1 more
  Scene none;
  ASSERT_TRUE(add_minority_copies(0, 5, none.samples, none.division));
  EXPECT_EQ(none.samples.size(), 16u);
}

TEST(MinorityCopies, AreTheirOriginalsMovedALittle) {
  Scene scene;
  ASSERT_TRUE(add_minority_copies(1, 5, scene.samples, scene.division));
  const auto brightness = [&](std::size_t row) {
    double sum = 0;
    for (std::size_t i = 0; i < 64; ++i) sum += scene.samples.bytes[row * 64 + i];
    return sum;
  };
  for (std::size_t copy = 17; copy < 20; ++copy) {
    const auto begin = scene.samples.bytes.begin();
    EXPECT_FALSE(std::equal(begin + 15 * 64, begin + 16 * 64, begin + static_cast<std::ptrdiff_t>(copy * 64)));
    EXPECT_NEAR(brightness(copy) / brightness(15), 1, 0.35);
    EXPECT_GT(scene.samples.bytes[copy * 64 + 3 * 8 + 3], 60);
  }
}

TEST(MinorityCopies, DependOnSeedAndClientAlone) {
  Scene one, same, other;
  ASSERT_TRUE(add_minority_copies(1, 5, one.samples, one.division));
  ASSERT_TRUE(add_minority_copies(1, 5, same.samples, same.division));
  ASSERT_TRUE(add_minority_copies(1, 6, other.samples, other.division));
  EXPECT_EQ(one.samples.bytes, same.samples.bytes);
  EXPECT_NE(one.samples.bytes, other.samples.bytes);
}

TEST(MinorityCopies, NeedImages) {
  Scene scene;
  scene.samples.shape = {1, 1, 64};
  const Status status = add_minority_copies(0.5, 5, scene.samples, scene.division);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "data.augment-minority: 0.5, but samples of 1 x 1 x 64 are not images");
}

TEST(MinorityCopies, AreTrainedOnAndToldButNeverTested) {
  DataOptions options{.source = "blobs", .partition = "dirichlet", .clients = 10, .alpha = 0.1};
  options.imbalance = false;
  const auto plain = make_federated_data(options, 3);
  options.augment_minority = 1;
  const auto grown = make_federated_data(options, 3);
  ASSERT_TRUE(plain.ok() && grown.ok());
  std::uint64_t before = 0, after = 0;
  for (std::uint32_t k = 0; k < 10; ++k) {
    before += (*plain)->train_count({k});
    after += (*grown)->train_count({k});
    std::uint64_t told = 0;
    for (const std::uint32_t count : (*grown)->label_counts({k})) told += count;
    EXPECT_EQ(told, (*grown)->train_count({k}));
    EXPECT_EQ((*plain)->test_count({k}), (*grown)->test_count({k}));
  }
  EXPECT_GE(after, before);
  EXPECT_EQ((*plain)->global_test().size(), (*grown)->global_test().size());
}

}  // namespace
}  // namespace muster
