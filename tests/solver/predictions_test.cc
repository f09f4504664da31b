// What samples are taken for: by the rule that counts them as correct, and counted by hand.
#include "solver/predictions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace muster {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinite = std::numeric_limits<float>::infinity();

std::uint32_t predicted(const std::vector<float>& outputs, std::uint32_t classes = 3) {
  return predicted_class(outputs, classes);
}

TEST(Predictions, TheFirstOfTheLargestOutputsIsTheClass) {
  EXPECT_EQ(predicted({1, 3, 2}), 1u);
  EXPECT_EQ(predicted({2, 1, 2}), 0u);
  EXPECT_EQ(predicted({-kInfinite, -kInfinite, -kInfinite}), 0u);
  EXPECT_EQ(predicted({kNan, -5, -5}), 1u);
  EXPECT_EQ(predicted({0, kInfinite, kNan}), 1u);
  EXPECT_EQ(predicted({kNan, kNan, kNan}), 3u);  // none
}

TEST(Predictions, OneOutputPredictsByItsSign) {
  EXPECT_EQ(predicted({0.1f}, 2), 1u);
  EXPECT_EQ(predicted({0.0f}, 2), 0u);
  EXPECT_EQ(predicted({-3.0f}, 2), 0u);
  EXPECT_EQ(predicted({kNan}, 2), 2u);
}

TEST(Predictions, AreCountedOverBatches) {
  PredictionCounter counter({.predictions = true}, 3);
  counter.add(std::vector<float>{1, 0, 0, 0, 1, 0}, 3, std::vector<std::int32_t>{0, 0});
  counter.add(std::vector<float>{0, 2, 1, 0, 0, 1, kNan, kNan, kNan}, 3, std::vector<std::int32_t>{0, 2, 2});
  const Predictions told = std::move(counter).finish();
  EXPECT_THAT(told.counts, ElementsAre(PredictionCount{0, 0, 1}, PredictionCount{0, 1, 2}, PredictionCount{2, 2, 1},
                                       PredictionCount{2, 3, 1}));
  EXPECT_THAT(told.negative_scores, IsEmpty());
  EXPECT_THAT(told.positive_scores, IsEmpty());
}

TEST(Predictions, ScoresAreTheSecondOutputLessTheFirst) {
  PredictionCounter two({.scores = true}, 2);
  two.add(std::vector<float>{1, 3, 4, 1, 0, 5}, 2, std::vector<std::int32_t>{0, 1, 1});
  const Predictions of_two = std::move(two).finish();
  EXPECT_THAT(of_two.counts, IsEmpty());
  EXPECT_THAT(of_two.negative_scores, ElementsAre(2));
  EXPECT_THAT(of_two.positive_scores, ElementsAre(-3, 5));
  PredictionCounter one({.predictions = true, .scores = true}, 2);
  one.add(std::vector<float>{-1, 2}, 1, std::vector<std::int32_t>{1, 0});
  const Predictions of_one = std::move(one).finish();
  EXPECT_THAT(of_one.counts, ElementsAre(PredictionCount{0, 1, 1}, PredictionCount{1, 0, 1}));
  EXPECT_THAT(of_one.negative_scores, ElementsAre(2));
  EXPECT_THAT(of_one.positive_scores, ElementsAre(-1));
}

TEST(Predictions, AreAppended) {
  Predictions all{.counts = {{0, 0, 1}}, .negative_scores = {1}, .positive_scores = {}};
  all.append({.counts = {{0, 0, 2}}, .negative_scores = {3}, .positive_scores = {4}});
  EXPECT_THAT(all.counts, ElementsAre(PredictionCount{0, 0, 1}, PredictionCount{0, 0, 2}));
  EXPECT_THAT(all.negative_scores, ElementsAre(1, 3));
  EXPECT_THAT(all.positive_scores, ElementsAre(4));
}

}  // namespace
}  // namespace muster
