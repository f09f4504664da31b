// Ways to keep models, each by a worked example.
#include <set>

#include "group_updates.h"

namespace muster {
namespace {

using testing::ElementsAre;

TEST(SlotModels, WeighTheSamplesThatTrainedThem) {
  const auto models = make_slot_models({.window = 100}, {0});
  models->regrouped(groups_of_one(2), {});
  // Whichever slot a group gets, its model says which it was: slot 0 holds 0, slot 1 holds 1.
  const std::uint64_t samples[2][2] = {{800, 850}, {900, 810}};
  for (std::uint32_t round = 1; round <= 2; ++round) {
    models->begin(round, 2);
    for (std::uint32_t i = 0; i < 2; ++i) {
      const bool first = round == 1 ? i == 0 : models->start({i}, i)[0] == 0;
      GroupUpdate update = update_of(i, {first ? 0.0f : 1.0f}, samples[round - 1][first ? 0 : 1]);
      models->add(update, i);
    }
    models->finish();
  }
  EXPECT_NEAR(models->shared()[0], 0.494048, 1e-6);
}

TEST(SlotModels, AreAveragedBeforeEveryRoundThatIsAMultipleOfTheWindow) {
  const auto models = make_slot_models({.window = 3}, {0});
  models->regrouped(groups_of_one(2), {});
  std::vector<std::set<float>> starts;
  for (std::uint32_t round = 1; round <= 6; ++round) {
    models->begin(round, 2);
    starts.emplace_back();
    for (std::uint32_t i = 0; i < 2; ++i) starts.back().insert(models->start({i}, i)[0]);
    for (std::uint32_t i = 0; i < 2; ++i) {
      const float start = models->start({i}, i)[0];
      GroupUpdate update = update_of(i, {start + (i == 0 ? 10.0f : -11.0f)});
      models->add(update, i);
    }
    models->finish();
  }
  EXPECT_EQ(starts[0].size(), 1u);
  EXPECT_EQ(starts[1].size(), 2u);  // each slot goes on from its own model
  EXPECT_EQ(starts[2].size(), 1u);  // round 3: all begin at the mean
  EXPECT_EQ(starts[3].size(), 2u);
  EXPECT_EQ(starts[5].size(), 1u);
}

// Of 62 groups 12 are drawn; dealt by rank, slot 0 would only ever meet groups with low numbers.
TEST(SlotModels, MeetGroupsFarAndWide) {
  const auto models = make_slot_models({.window = 1000, .seed = 3}, {0});
  models->regrouped(groups_of_one(62), {});
  std::set<std::uint32_t> met;
  for (std::uint32_t round = 1; round <= 61; ++round) {
    Stream stream({.seed = 3, .purpose = Purpose::kSampling, .round = round});
    const std::vector<std::uint32_t> drawn = stream.sample(62, 12);
    models->begin(round, drawn.size());
    // The first slot is the one that holds the largest number.
    std::size_t holder = 0;
    for (std::size_t i = 0; i < drawn.size(); ++i) {
      if (models->start({drawn[i]}, i)[0] > models->start({drawn[holder]}, holder)[0]) holder = i;
    }
    met.insert(drawn[holder]);
    for (std::size_t i = 0; i < drawn.size(); ++i) {
      GroupUpdate update = update_of(drawn[i], {i == holder ? 1.0f : 0.0f});
      models->add(update, i);
    }
    models->finish();
  }
  EXPECT_GE(met.size(), 33u);  // 39 in the mean
}

TEST(SlotModels, KeepTheirSpansWhileUpdatesArrive) {
  const auto models = make_slot_models({.window = 10}, std::vector<float>(1000, 1));
  models->regrouped(groups_of_one(20), {});
  models->begin(1, 20);
  const std::span<const float> last = models->start({19}, 19);
  for (std::uint32_t i = 0; i < 19; ++i) {
    GroupUpdate update = update_of(i, std::vector<float>(1000, 2));
    models->add(update, i);
    EXPECT_EQ(models->start({19}, 19).data(), last.data());
  }
  EXPECT_EQ(last[999], 1);
}

TEST(SlotModels, CorrectTheirMeanAsADynamicServerDoes) {
  // alpha 0.5, two clients. Round 1: slots 3 and 5 from 1: h = -0.5 / 2 * (2 + 4) = -1.5, shared = 4 + 1.5 / 0.5 = 7.
  const auto models = make_slot_models({.window = 2, .alpha = 0.5, .clients = 2, .parameters = 1}, {1, 1});
  models->regrouped(groups_of_one(2), {});
  models->begin(1, 2);
  for (std::uint32_t i = 0; i < 2; ++i) {
    GroupUpdate update = update_of(i, {i == 0 ? 3.0f : 5.0f, i == 0 ? 3.0f : 5.0f});
    models->add(update, i);
  }
  models->finish();
  EXPECT_THAT(models->shared(), ElementsAre(7, 4));  // statistics are not corrected
  models->begin(2, 2);                               // a multiple of the window: all start from there
  EXPECT_THAT(models->start({0}, 0), ElementsAre(7, 4));
  EXPECT_THAT(models->start({1}, 1), ElementsAre(7, 4));
  // Round 2: only one group answers, with 8: h = -1.5 - 0.25 * (8 - 7) = -1.75, shared = 8 + 3.5.
  GroupUpdate update = update_of(0, {8, 8});
  models->add(update, 0);
  GroupUpdate nothing{.group = {1}};
  models->add(nothing, 1);
  models->finish();
  EXPECT_THAT(models->shared(), ElementsAre(11.5, 8));
}

TEST(GroupModels, TrainApartAndAreAveragedForTheRun) {
  const auto models = make_group_models(0, {4});
  models->regrouped(groups_of_one(2), {});
  EXPECT_THAT(models->of({1}), ElementsAre(4));
  models->begin(1, 1);
  EXPECT_THAT(models->start({1}, 0), ElementsAre(4));
  GroupUpdate update = update_of(1, {10});
  models->add(update, 0);
  models->finish();
  EXPECT_THAT(models->of({0}), ElementsAre(4));
  EXPECT_THAT(models->of({1}), ElementsAre(10));
  EXPECT_THAT(models->shared(), ElementsAre(7));
  // New groups start where they are told, or from the mean.
  Rows<float> starts(3, 1);
  starts.values = {1, 2, 6};
  models->regrouped(groups_of_one(3), starts);
  EXPECT_THAT(models->of({2}), ElementsAre(6));
  EXPECT_THAT(models->shared(), ElementsAre(3));
  models->regrouped(groups_of_one(2), {});
  EXPECT_THAT(models->of({0}), ElementsAre(3));
}

// Numbers 1 and 2 of three are shared; the groups sent (10, 1) from 1 sample and (20, 4) from 3 of it, the third
// nothing.
TEST(GroupModels, ShareThePartsThatAreOneForAll) {
  for (const bool by_samples : {true, false}) {
    const auto models = make_group_models(0, {1, 2, 3}, {.ranges = {{1, 2}}, .by_samples = by_samples});
    Rows<float> starts(3, 3);
    starts.values = {5, 0, 0, 6, 0, 0, 7, 9, 9};
    models->regrouped(groups_of_one(3), starts);
    EXPECT_THAT(models->of({2}), ElementsAre(7, 2, 3)) << "what is shared begins as one";
    models->begin(1, 3);
    GroupUpdate first = update_of(0, {50, 10, 1}, 1);
    GroupUpdate second = update_of(1, {60, 20, 4}, 3);
    GroupUpdate nothing{.group = {2}};
    models->add(first, 0);
    models->add(second, 1);
    models->add(nothing, 2);
    models->finish();
    const float x = by_samples ? 17.5f : 15;
    const float y = by_samples ? 3.25f : 2.5f;
    EXPECT_THAT(models->of({0}), ElementsAre(50, x, y));
    EXPECT_THAT(models->of({1}), ElementsAre(60, x, y));
    EXPECT_THAT(models->of({2}), ElementsAre(7, x, y));
    EXPECT_THAT(models->shared(), ElementsAre(39, x, y));
    models->begin(2, 1);
    models->add(nothing, 0);
    models->finish();
    EXPECT_THAT(models->of({0}), ElementsAre(50, x, y)) << "nobody answered";
  }
}

TEST(ClientModels, CountTheClientsThatHaveOne) {
  const auto models = make_client_models({1, 2});
  models->regrouped(groups_of_one(5), {});
  EXPECT_EQ(models->count(), 5u);
  EXPECT_TRUE(models->in_clients());
  Checkpoint checkpoint{.round = 1};
  models->save(checkpoint);
  const auto restored = make_client_models({0, 0});
  ASSERT_TRUE(restored->restore(checkpoint, 5));
  EXPECT_EQ(restored->count(), 5u);
  EXPECT_THAT(restored->shared(), ElementsAre(1, 2));
}

TEST(Models, ComeBackFromACheckpointOrSayWhatIsWrong) {
  const auto make = [](int which) {
    if (which == 0) return make_group_models(0, {1, 2});
    if (which == 1) return make_slot_models({.window = 3, .alpha = 0.1, .clients = 4, .parameters = 1}, {1, 2});
    return make_shared_model(*make_aggregator({}, {.parameters = 1, .size = 2, .clients = 4, .alpha = 0}), {1, 2});
  };
  for (int which = 0; which < 3; ++which) {
    const auto models = make(which);
    models->regrouped(groups_of_one(3), {});
    models->begin(1, 3);
    for (std::uint32_t g = 0; g < 3; ++g) {
      GroupUpdate update = update_of(g, {static_cast<float>(g), 7}, g + 1);
      models->add(update, g);
    }
    models->finish();
    Checkpoint checkpoint{.round = 1};
    models->save(checkpoint);
    const auto restored = make(which);
    ASSERT_TRUE(restored->restore(checkpoint, 3));
    EXPECT_EQ(std::vector<float>(restored->shared().begin(), restored->shared().end()),
              std::vector<float>(models->shared().begin(), models->shared().end()));
    EXPECT_EQ(restored->count(), models->count());
    restored->begin(2, 3);
    models->begin(2, 3);
    for (std::uint32_t g = 0; g < 3; ++g) {
      EXPECT_TRUE(std::ranges::equal(restored->start({g}, g), models->start({g}, g)));
    }
    Checkpoint shorter = checkpoint;
    shorter.put_floats("model", std::vector<float>{1});
    EXPECT_FALSE(make(which)->restore(shorter, 3));
    if (which == 0) {
      EXPECT_FALSE(make(which)->restore(checkpoint, 4));
    }
    if (which == 1) {
      Checkpoint weighty = checkpoint;
      weighty.put_doubles("slot-weights", std::vector<double>{1, 2, -3});
      EXPECT_FALSE(make(which)->restore(weighty, 3));
    }
  }
}

// Two groups of a client each.
Grouping one_each() {
  Grouping grouping;
  const ClientId clients[] = {{0}, {1}};
  grouping.add({clients, 1});
  grouping.add({clients + 1, 1});
  return grouping;
}

// A round in which the groups send models of ones and of threes.
void ones_and_threes(Models& models, std::uint32_t round) {
  models.begin(round, 2);
  for (std::uint32_t g = 0; g < 2; ++g) {
    GroupUpdate update{.group = {g}, .model = std::vector<float>(2, g == 0 ? 1.0f : 3.0f), .samples = 1};
    update.members.push_back({.client = {g}, .samples = 1});
    models.add(update, g);
  }
  models.finish();
}

TEST(SlotModels, AfterAResumeTheWindowIsStillTheNumberOfGroups) {
  const SlotOptions options{.seed = 1, .clients = 2, .parameters = 2};
  const auto models = make_slot_models(options, {0, 0});
  models->regrouped(one_each(), {});
  ones_and_threes(*models, 1);
  Checkpoint checkpoint{.round = 1};
  models->save(checkpoint);
  const auto restored = make_slot_models(options, {0, 0});
  ASSERT_TRUE(restored->restore(checkpoint, 2));
  // A window of two rounds ends here: all slots start from the mean.
  restored->begin(2, 2);
  for (std::uint32_t g = 0; g < 2; ++g) EXPECT_THAT(restored->start({g}, g), testing::Each(2.0f));
}

TEST(SlotModels, AfterAResumeTheCorrectionGoesOn) {
  const SlotOptions options{.window = 1, .seed = 1, .alpha = 0.5, .clients = 2, .parameters = 2};
  const auto models = make_slot_models(options, {0, 0});
  models->regrouped(one_each(), {});
  ones_and_threes(*models, 1);
  // h = -0.5 / 2 (1 + 3) = -1, and the mean of 2 is corrected by 1 / 0.5.
  EXPECT_THAT(models->shared(), testing::Each(4.0f));
  Checkpoint checkpoint{.round = 1};
  models->save(checkpoint);
  const auto restored = make_slot_models(options, {0, 0});
  ASSERT_TRUE(restored->restore(checkpoint, 2));
  ones_and_threes(*restored, 2);
  // h = -1 - 0.25 (1 - 4 + 3 - 4) = 0.
  EXPECT_THAT(restored->shared(), testing::Each(2.0f));
}

TEST(GroupModels, WhatSpeaksForAllIsTheMeanOfTheMixedModels) {
  const auto models = make_group_models(0.5, {0, 0});
  models->regrouped(one_each(), {});
  models->begin(1, 2);
  for (std::uint32_t g = 0; g < 2; ++g) {
    GroupUpdate update{.group = {g}, .model = g == 0 ? std::vector<float>{3, 4} : std::vector<float>{0, 2}};
    update.members.push_back({.client = {g}, .samples = 1});
    models->add(update, g);
  }
  models->finish();
  EXPECT_NE(models->shared()[0], 1.5f);  // the mean before
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_FLOAT_EQ(models->shared()[i], (models->of({0})[i] + models->of({1})[i]) / 2);
  }
}

}  // namespace
}  // namespace muster
