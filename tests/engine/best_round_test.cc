// Which round is the best, when patience ends, and what a checkpoint must say of it.
#include "engine/best_round.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace muster {
namespace {

RoundRecord validated(std::uint32_t round, double validation, double accuracy = 0.5) {
  RoundRecord record{.round = round};
  record.accuracy = accuracy;
  record.loss = 1;
  record.validation_accuracy = validation;
  record.validation_loss = 1;
  return record;
}

Recipe patient(std::uint32_t patience, double min_delta = 0) {
  Recipe recipe;
  recipe.stop = {.patience = patience, .min_delta = min_delta};
  return recipe;
}

// After which of the rounds patience is over; 0 = after none.
std::uint32_t stops_after(const Recipe& recipe, const std::vector<double>& accuracies) {
  BestRound best(recipe);
  for (std::uint32_t i = 0; i < accuracies.size(); ++i) {
    (void)best.add(validated(i + 1, accuracies[i]));
    if (best.out_of_patience()) return i + 1;
  }
  return 0;
}

TEST(BestRound, IsTheFirstOfEqualOnesByValidationNotByTests) {
  Recipe recipe;
  recipe.evaluation.keep = "best";
  BestRound best(recipe);
  EXPECT_EQ(best.round(), 0u);
  EXPECT_TRUE(best.add(validated(1, 0.2, 0.9)));
  EXPECT_TRUE(best.add(validated(2, 0.6, 0.3)));
  EXPECT_FALSE(best.add(validated(3, 0.6, 0.99)));
  EXPECT_FALSE(best.add(validated(4, 0.5, 1)));
  EXPECT_EQ(best.round(), 2u);
  EXPECT_EQ(best.validation_accuracy(), 0.6);
  EXPECT_EQ(best.accuracy(), 0.3);
  EXPECT_FALSE(best.out_of_patience());
  // Nothing is kept unless the recipe says so.
  BestRound last{Recipe{}};
  EXPECT_FALSE(last.add(validated(1, 0.2)));
  EXPECT_EQ(last.round(), 1u);
}

TEST(BestRound, PatienceCountsEvaluationsWithoutABetterOne) {
  EXPECT_EQ(stops_after(patient(2), {0.5, 0.4, 0.6, 0.6, 0.5, 0.9}), 5u);
  EXPECT_EQ(stops_after(patient(1), {0.5, 0.5}), 2u);
  EXPECT_EQ(stops_after(patient(3), {0.5, 0.4, 0.3, 0.6, 0.2, 0.1}), 0u);
}

TEST(BestRound, ABetterOneIsHigherByMoreThanMinDelta) {
  // 0.25 and 0.5 are exact: 0.5 is not more than 0.25 above 0.25.
  EXPECT_EQ(stops_after(patient(2, 0.25), {0.25, 0.375, 0.5}), 3u);
  EXPECT_EQ(stops_after(patient(2, 0.25), {0.25, 0.375, 0.625, 0.75}), 0u);
  // Small steps add up: what is compared with stays until it is beaten.
  EXPECT_EQ(stops_after(patient(3, 0.1), {0.1, 0.15, 0.19, 0.25, 0.3, 0.34, 0.36}), 0u);
  // The best is the best, however little better it is.
  BestRound best(patient(2, 0.25));
  (void)best.add(validated(1, 0.25));
  (void)best.add(validated(2, 0.375));
  EXPECT_EQ(best.round(), 2u);
}

TEST(BestRound, PassesOverWhatCannotBeCompared) {
  Recipe recipe = patient(1);
  recipe.budget = 10;
  BestRound best(recipe);
  (void)best.add(validated(1, 0.5));
  RoundRecord partial = validated(2, 0.9);
  partial.validation_covered = 0.5;
  RoundRecord unpaid = validated(3, 0.9);
  unpaid.cost_total_s = 10.5;
  RoundRecord broken = validated(4, 0.9);
  broken.validation_loss = NAN;
  RoundRecord none{.round = 5};
  for (const RoundRecord& record : {partial, unpaid, broken, none}) {
    EXPECT_FALSE(best.add(record));
    EXPECT_EQ(best.round(), 1u);
    EXPECT_FALSE(best.out_of_patience());
  }
  RoundRecord whole = validated(6, 0.9);
  whole.validation_covered = 1;
  (void)best.add(whole);
  EXPECT_EQ(best.round(), 6u);
}

Recipe keeping() {
  Recipe recipe = patient(2);
  recipe.evaluation.keep = "best";
  return recipe;
}

TEST(BestRound, ComesBackFromACheckpoint) {
  BestRound best(keeping());
  ASSERT_TRUE(best.add(validated(1, 0.5, 0.25)));
  Checkpoint models{.round = 1};
  models.put_string("model", "weights");
  best.keep(models);
  (void)best.add(validated(2, 0.4));
  Checkpoint checkpoint{.round = 2};
  checkpoint.put_string("model", "later weights");
  best.save(checkpoint);
  BestRound back(keeping());
  ASSERT_TRUE(back.restore(checkpoint).ok());
  EXPECT_EQ(back.round(), 1u);
  EXPECT_EQ(back.validation_accuracy(), 0.5);
  EXPECT_EQ(back.accuracy(), 0.25);
  EXPECT_EQ(back.loss(), 1);
  ASSERT_TRUE(back.kept());
  EXPECT_EQ(back.kept()->round, 1u);
  EXPECT_EQ(back.kept()->sections.size(), 1u);
  EXPECT_EQ(*back.kept()->get_string("model"), "weights");
  EXPECT_FALSE(back.out_of_patience());
  (void)back.add(validated(3, 0.5));
  EXPECT_TRUE(back.out_of_patience());  // the second without a better one
  // Before anything was validated.
  Checkpoint early{.round = 2};
  BestRound(keeping()).save(early);
  ASSERT_TRUE(back.restore(early).ok());
  EXPECT_EQ(back.round(), 0u);
  EXPECT_FALSE(back.kept());
}

TEST(BestRound, RefusesACheckpointThatCannotBe) {
  BestRound best(keeping());
  (void)best.add(validated(1, 0.5));
  Checkpoint good{.round = 2};
  best.save(good);
  BestRound back(keeping());
  ASSERT_TRUE(back.restore(good).ok());
  const std::function<void(Checkpoint&)> spoils[] = {
      [](Checkpoint& c) { c.put_uint64("best.round", 3); },
      [](Checkpoint& c) { c.put_uint64("best.round", 0); },
      [](Checkpoint& c) { c.put_uint64("best.without-better", 3); },
      [](Checkpoint& c) { c.put_doubles("best.validation", std::vector<double>{1.5}); },
      [](Checkpoint& c) { c.put_doubles("best.validation", std::vector<double>{NAN}); },
      [](Checkpoint& c) { c.put_doubles("best.validation", {}); },
      [](Checkpoint& c) {
        c.put_doubles("best.to-beat", std::vector<double>{0.5, 0.5});
      },
      [](Checkpoint& c) { c.put_doubles("best.accuracy", std::vector<double>{-1}); },
      [](Checkpoint& c) { c.sections.erase("best.loss"); }};
  for (std::size_t i = 0; i < std::size(spoils); ++i) {
    Checkpoint spoilt = good;
    spoils[i](spoilt);
    EXPECT_FALSE(back.restore(spoilt).ok()) << i;
  }
}

}  // namespace
}  // namespace muster
