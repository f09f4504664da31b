// Figures of classes: worked by hand, and against counting every sample and every pair.
#include "engine/prediction_figures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "base/random.h"
#include "recipe/choices.h"

namespace muster {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Roster roster_of(std::uint32_t classes, std::vector<std::string> names = {}) {
  Roster roster({1, 1, 2}, classes, 1);
  roster.set_class_names(std::move(names));
  return roster;
}

// Three classes, ten samples:          taken for  a  b  c
//                                      a          3  1  0
//                                      b          1  2  1
//                                      c          0  0  2
PredictionTally worked() {
  PredictionTally tally(3);
  tally.add({.counts = {{0, 0, 3}, {0, 1, 1}, {1, 0, 1}, {1, 1, 1}}, .negative_scores = {}, .positive_scores = {}});
  tally.add({.counts = {{1, 1, 1}, {1, 2, 1}, {2, 2, 2}}, .negative_scores = {}, .positive_scores = {}});
  return tally;
}

TEST(PredictionFigures, OfThreeClassesByHand) {
  const PredictionTally tally = worked();
  EXPECT_THAT(tally.confusion(), ElementsAre(ElementsAre(3, 1, 0), ElementsAre(1, 2, 1), ElementsAre(0, 0, 2)));
  const std::vector<ClassFigures> classes = tally.classes(roster_of(3, {"a", "b", "c"}));
  ASSERT_EQ(classes.size(), 3u);
  EXPECT_EQ(classes[1].name, "b");
  EXPECT_DOUBLE_EQ(classes[0].precision.value(), 3 / 4.0);
  EXPECT_DOUBLE_EQ(classes[0].recall.value(), 3 / 4.0);
  EXPECT_DOUBLE_EQ(classes[0].f1.value(), 3 / 4.0);
  EXPECT_DOUBLE_EQ(classes[1].precision.value(), 2 / 3.0);
  EXPECT_DOUBLE_EQ(classes[1].recall.value(), 2 / 4.0);
  EXPECT_DOUBLE_EQ(classes[1].f1.value(), 4 / 7.0);
  EXPECT_DOUBLE_EQ(classes[2].precision.value(), 2 / 3.0);
  EXPECT_DOUBLE_EQ(classes[2].recall.value(), 1);
  EXPECT_DOUBLE_EQ(classes[2].f1.value(), 4 / 5.0);
  EXPECT_EQ(classes[1].samples, 4u);
  EXPECT_DOUBLE_EQ(tally.macro_f1().value(), (3 / 4.0 + 4 / 7.0 + 4 / 5.0) / 3);
  EXPECT_FALSE(tally.auc());
}

TEST(PredictionFigures, AClassThatNobodyHasOrPredictsDoesNotCount) {
  PredictionTally tally(4);
  // Class 1 is predicted but nowhere true; class 2 is true but never predicted; class 3 is neither.
  tally.add({.counts = {{0, 0, 2}, {0, 1, 1}, {2, 0, 1}}, .negative_scores = {}, .positive_scores = {}});
  const std::vector<ClassFigures> classes = tally.classes(roster_of(4));
  EXPECT_EQ(classes[3].name, "3");
  EXPECT_DOUBLE_EQ(classes[1].precision.value(), 0);
  EXPECT_FALSE(classes[1].recall);
  EXPECT_DOUBLE_EQ(classes[1].f1.value(), 0);
  EXPECT_FALSE(classes[2].precision);
  EXPECT_DOUBLE_EQ(classes[2].recall.value(), 0);
  EXPECT_FALSE(classes[3].f1);
  EXPECT_DOUBLE_EQ(tally.macro_f1().value(), (2 * 2 / 6.0 + 0 + 0) / 3);
  EXPECT_FALSE(PredictionTally(3).macro_f1());
}

TEST(PredictionFigures, WhatWasNotPredictedIsAMissButInNoCell) {
  PredictionTally tally(2);
  tally.add({.counts = {{0, 0, 1}, {0, 2, 3}}, .negative_scores = {}, .positive_scores = {}});
  EXPECT_THAT(tally.confusion(), ElementsAre(ElementsAre(1, 0), ElementsAre(0, 0)));
  EXPECT_DOUBLE_EQ(tally.classes(roster_of(2))[0].recall.value(), 0.25);
  EXPECT_DOUBLE_EQ(tally.classes(roster_of(2))[0].precision.value(), 1);
}

TEST(PredictionFigures, TooManyClassesAreNotListed) {
  EXPECT_EQ(PredictionTally(kMostConfusedClasses).confusion().size(), 100u);
  PredictionTally many(kMostConfusedClasses + 1);
  many.add({.counts = {{100, 100, 1}}, .negative_scores = {}, .positive_scores = {}});
  EXPECT_THAT(many.confusion(), IsEmpty());
  EXPECT_EQ(many.classes(roster_of(101)).size(), 101u);
  EXPECT_EQ(many.macro_f1(), 1);
  EXPECT_THAT(PredictionTally(kMostListedClasses + 1).classes(roster_of(1001)), IsEmpty());
}

TEST(PredictionFigures, TheAreaCountsTiesHalf) {
  // Six pairs: 3 > 1 and 3 > 2, but 3 < 4; 2 > 1, 2 = 2, 2 < 4. Won 3.5 of 6.
  EXPECT_DOUBLE_EQ(area_under_curve({1, 2, 4}, {3, 2}).value(), 3.5 / 6);
  EXPECT_EQ(area_under_curve({5, 5}, {5}), 0.5);
  EXPECT_EQ(area_under_curve({1, 2}, {3, 4}), 1);
  EXPECT_EQ(area_under_curve({3, 4}, {1, 2}), 0);
  constexpr float kInfinite = std::numeric_limits<float>::infinity();
  EXPECT_EQ(area_under_curve({-kInfinite, 0}, {kInfinite}), 1);
  EXPECT_FALSE(area_under_curve({}, {1}));
  EXPECT_FALSE(area_under_curve({1}, {}));
  EXPECT_FALSE(area_under_curve({1, NAN}, {1}));
  EXPECT_FALSE(area_under_curve({1}, {NAN}));
}

TEST(PredictionFigures, TheAreaIsTheShareOfPairsWon) {
  Stream stream({.seed = 1, .purpose = Purpose::kTest});
  for (int trial = 0; trial < 20; ++trial) {
    std::vector<float> negatives(1 + stream.below(60));
    std::vector<float> positives(1 + stream.below(60));
    // Few values, so that many are equal.
    for (float& score : negatives) score = static_cast<float>(stream.below(12)) / 4;
    for (float& score : positives) score = static_cast<float>(stream.below(12)) / 4 + 0.5f;
    double won = 0;
    for (const float p : positives) {
      for (const float n : negatives) won += p > n ? 1 : p == n ? 0.5 : 0;
    }
    const double pairs = static_cast<double>(negatives.size() * positives.size());
    EXPECT_DOUBLE_EQ(area_under_curve(negatives, positives).value(), won / pairs);
  }
}

// One sample at a time, in any order and by any client, as counting does it.
TEST(PredictionFigures, AgreeWithCountingSamples) {
  Stream stream({.seed = 2, .purpose = Purpose::kTest});
  for (std::uint32_t classes = 2; classes < 8; ++classes) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> samples(200);
    PredictionTally tally(classes);
    for (auto& [label, predicted] : samples) {
      label = stream.below(classes);
      predicted = stream.below(3) == 0 ? stream.below(classes) : label;
      tally.add({.counts = {{label, predicted, 1}}, .negative_scores = {}, .positive_scores = {}});
    }
    const std::vector<ClassFigures> figures = tally.classes(roster_of(classes));
    double sum = 0;
    for (std::uint32_t c = 0; c < classes; ++c) {
      double hits = 0, of_class = 0, taken_for = 0;
      for (const auto& [label, predicted] : samples) {
        hits += label == c && predicted == c ? 1 : 0;
        of_class += label == c ? 1 : 0;
        taken_for += predicted == c ? 1 : 0;
      }
      const double precision = hits / taken_for;
      const double recall = hits / of_class;
      EXPECT_DOUBLE_EQ(figures[c].precision.value(), precision);
      EXPECT_DOUBLE_EQ(figures[c].recall.value(), recall);
      EXPECT_NEAR(figures[c].f1.value(), 2 * precision * recall / (precision + recall), 1e-12);
      sum += 2 * precision * recall / (precision + recall);
    }
    EXPECT_NEAR(tally.macro_f1().value(), sum / classes, 1e-12);
  }
}

}  // namespace
}  // namespace muster
