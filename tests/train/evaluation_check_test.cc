// What a client says of an evaluation must add up.
#include "train/evaluation_check.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

namespace muster {
namespace {

constexpr Details kBoth{.predictions = true, .scores = true};

// Six samples of two classes, four of them right.
Evaluation honest(const std::function<void(Predictions&)>& lie = {}) {
  Predictions told{.counts = {{0, 0, 3}, {0, 1, 1}, {1, 1, 1}, {1, 2, 1}},
                   .negative_scores = {0, 1, 2, 3},
                   .positive_scores = {4, 5}};
  if (lie) lie(told);
  return {.samples = 6, .correct = 4, .loss_sum = 1, .predictions = std::make_shared<const Predictions>(told)};
}

TEST(EvaluationCheck, AcceptsWhatAddsUp) {
  EXPECT_TRUE(adds_up(honest(), 6, kBoth, 2));
  EXPECT_TRUE(adds_up({.samples = 6, .correct = 4}, 6, {}, 2));
  EXPECT_TRUE(adds_up(honest([](Predictions& p) { p.counts.clear(); }), 6, {.scores = true}, 2));
  EXPECT_TRUE(adds_up(honest([](Predictions& p) { p.negative_scores.clear(), p.positive_scores.clear(); }), 6,
                      {.predictions = true}, 2));
}

TEST(EvaluationCheck, RefusesWhatDoesNot) {
  constexpr std::uint64_t kHuge = std::numeric_limits<std::uint64_t>::max();
  const std::function<void(Predictions&)> lies[] = {
      [](Predictions& p) { p.counts[0].samples = 4; },
      [](Predictions& p) { p.counts[0].samples = 2; },
      [](Predictions& p) { p.counts[0].samples = kHuge; },
      [](Predictions& p) {
        p.counts.push_back({1, 0, kHuge}), p.counts.push_back({1, 0, 1});
      },  // overflows to the sum
      [](Predictions& p) {
        p.counts.push_back({0, 0, 0});
      },
      [](Predictions& p) { p.counts[0].label = 2; },
      [](Predictions& p) { p.counts[3].predicted = 3; },
      [](Predictions& p) { std::swap(p.counts[0].predicted, p.counts[1].predicted); },  // not as many correct
      [](Predictions& p) { p.counts.clear(); },
      [](Predictions& p) { p.negative_scores.pop_back(); },
      [](Predictions& p) { p.negative_scores.pop_back(), p.positive_scores.push_back(1); },
      [](Predictions& p) { p.positive_scores.push_back(1); }};
  for (std::size_t i = 0; i < std::size(lies); ++i) EXPECT_FALSE(adds_up(honest(lies[i]), 6, kBoth, 2)) << i;
  EXPECT_FALSE(adds_up(honest(), 7, kBoth, 2));
  EXPECT_FALSE(adds_up({.samples = 6, .correct = 7}, 6, {}, 2));
}

TEST(EvaluationCheck, RefusesWhatWasNotAskedForAndWhatIsMissing) {
  EXPECT_FALSE(adds_up(honest(), 6, {}, 2));
  EXPECT_FALSE(adds_up(honest(), 6, {.predictions = true}, 2));
  EXPECT_FALSE(adds_up(honest(), 6, {.scores = true}, 2));
  EXPECT_FALSE(adds_up({.samples = 6, .correct = 4}, 6, kBoth, 2));
}

}  // namespace
}  // namespace muster
