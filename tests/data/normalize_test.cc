#include "data/readers/normalize.h"

namespace muster {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::IsEmpty;

RawData floats(Shape shape, std::vector<float> train, std::vector<float> test) {
  RawData data;
  data.train.shape = data.test.shape = shape;
  data.train.labels.resize(train.size() / shape.size());
  data.test.labels.resize(test.size() / shape.size());
  data.train.floats = std::move(train);
  data.test.floats = std::move(test);
  return data;
}

std::vector<float> gathered(const Samples& samples) {
  std::vector<float> values(samples.size() * samples.shape.size());
  std::vector<std::int32_t> labels(samples.size());
  std::vector<std::uint32_t> rows(samples.size());
  for (std::uint32_t i = 0; i < rows.size(); ++i) rows[i] = i;
  gather({&samples, rows}, rows, {}, nullptr, values.data(), labels.data());
  return values;
}

TEST(Normalize, StandardisesEachFeatureOnTheTrainingPart) {
  RawData data = floats({1, 1, 2}, {1, 10, 3, 30}, {5, 20});
  normalize(data, NormalizePer::kFeature, 0);
  EXPECT_THAT(gathered(data.train), ElementsAre(-1, -1, 1, 1));
  EXPECT_THAT(gathered(data.test), ElementsAre(3, 0));
  normalize(data, NormalizePer::kFeature, 1);
  EXPECT_THAT(gathered(data.train),
              ElementsAre(-0.5f, FloatNear(-10 / 11.0f, 1e-6f), 0.5f, FloatNear(10 / 11.0f, 1e-6f)));
}

TEST(Normalize, ChannelsShareOneScale) {
  RawData data = floats({1, 2, 2}, {1, 5, 3, 5, 1, 7, 3, 7}, {});
  normalize(data, NormalizePer::kChannel, 0);
  EXPECT_EQ(data.train.scale.size(), 2u);
  EXPECT_THAT(gathered(data.train), ElementsAre(-1, -1, 1, -1, -1, 1, 1, 1));
}

TEST(Normalize, AFeatureThatNeverVariesIsZeroEverywhere) {
  RawData data = floats({1, 1, 1}, {0.1f, 0.1f, 0.1f}, {100});
  normalize(data, NormalizePer::kFeature);
  EXPECT_THAT(gathered(data.train), ElementsAre(0, 0, 0));
  EXPECT_THAT(gathered(data.test), ElementsAre(0));
}

TEST(Normalize, WorksOnBytesInTheirOwnUnits) {
  RawData data;
  data.train.storage = Samples::Storage::kBytes;
  data.train.shape = {1, 1, 1};
  data.train.bytes = {0, 200};
  data.train.labels = {0, 0};
  normalize(data, NormalizePer::kFeature);
  EXPECT_THAT(gathered(data.train), ElementsAre(FloatNear(-100 / 100.001f, 1e-6f), FloatNear(100 / 100.001f, 1e-6f)));
}

TEST(Normalize, LeavesTokensAndEmptyDataAlone) {
  RawData data;
  normalize(data, NormalizePer::kFeature);
  EXPECT_THAT(data.train.scale, IsEmpty());
  data.train.storage = Samples::Storage::kTokens;
  data.train.labels = {0};
  normalize(data, NormalizePer::kChannel);
  EXPECT_THAT(data.train.scale, IsEmpty());
}

TEST(Normalize, DefaultSuitsTheShape) {
  EXPECT_EQ(normalize_default({1, 1, 60}), NormalizePer::kFeature);
  EXPECT_EQ(normalize_default({32, 32, 3}), NormalizePer::kChannel);
  EXPECT_EQ(normalize_default({1, 8000, 1}), NormalizePer::kChannel);
}

}  // namespace
}  // namespace muster
