// Where each rule sends a newcomer, by hand.
#include "plan/newcomer_rule.h"

#include <cmath>
#include <set>

#include "base/random.h"

namespace muster {
namespace {

using testing::ElementsAre;

// Groups {0}, {1, 2, 3}, {4, 5}.
struct Known {
  Known() {
    const std::vector<ClientId> clients{{0}, {1}, {2}, {3}, {4}, {5}};
    const std::span<const ClientId> all(clients);
    grouping.add(all.first(1));
    grouping.add(all.subspan(1, 3));
    grouping.add(all.subspan(4));
  }
  std::vector<std::uint32_t> groups(const NewcomerRule& rule, std::vector<std::uint32_t> ids,
                                    std::vector<float> told = {}, std::size_t width = 2) {
    std::vector<ClientId> clients;
    for (const std::uint32_t id : ids) clients.push_back({id});
    const auto placed =
        rule.place({.grouping = grouping, .means = {means, 2}}, clients, {told, told.empty() ? 0 : width});
    EXPECT_TRUE(placed.ok());
    std::vector<std::uint32_t> groups;
    far.clear();
    for (const Placement& placement : *placed) {
      groups.push_back(placement.group);
      far.push_back(placement.dissimilarity);
    }
    return groups;
  }

  Grouping grouping;
  std::vector<float> means{2, 0, 0, 2, -3, -3};
  std::vector<double> far;
};

TEST(NewcomerRule, EveryEntryIsMadeUnderItsName) {
  for (const NewcomerEntry& entry : newcomer_rules()) {
    const auto rule = make_newcomer_rule(entry.name, 1);
    ASSERT_TRUE(rule.ok()) << entry.name;
    EXPECT_EQ(*rule != nullptr, entry.places);
    if (entry.places) {
      EXPECT_EQ((*rule)->entry().name, entry.name);
      EXPECT_EQ((*rule)->entry().asks, entry.asks);
    }
  }
  const auto unknown = make_newcomer_rule("nearest-hed", 1);
  ASSERT_FALSE(unknown.ok());
  EXPECT_THAT(unknown.error().message, testing::StartsWith("newcomers.assign: unknown rule 'nearest-hed'"));
}

TEST(NewcomerRule, WhatEachAsks) {
  EXPECT_EQ(nearest_direction_entry().asks, NewcomerAsks::kUpdates);
  EXPECT_EQ(nearest_head_entry().asks, NewcomerAsks::kWeights);
  EXPECT_EQ(argmin_loss_entry().asks, NewcomerAsks::kLosses);
  EXPECT_EQ(nearest_model_entry().asks, NewcomerAsks::kSent);
  EXPECT_EQ(random_group_entry().asks, NewcomerAsks::kNothing);
}

TEST(NewcomerRule, DirectionGoesByTheAngleAlone) {
  Known known;
  // (10, 1) is nearly along (2, 0); (0.1, 0.2) nearer to (0, 2); (-1, -1) along the third; a zero has no direction and
  // goes to the largest group.
  EXPECT_THAT(known.groups(*make_nearest_direction(), {6, 7, 8, 9}, {10, 1, 0.1f, 0.2f, -1, -1, 0, 0}),
              ElementsAre(0, 1, 2, 1));
  EXPECT_NEAR(known.far[2], 0, 1e-6);
  EXPECT_NEAR(known.far[1], (1 - 2 / std::sqrt(5.0)) / 2, 1e-6);
  EXPECT_NEAR(known.far[3], 0.5, 1e-6);
}

TEST(NewcomerRule, HeadGoesByTheDistance) {
  Known known;
  // (10, 1) has the direction of the first, and (-0.5, -0.4) nearly that of the third, but lies nearest to the second.
  EXPECT_THAT(known.groups(*make_nearest_head(), {6, 7, 8}, {10, 1, -0.5f, -0.4f, -2, -2}), ElementsAre(0, 1, 2));
  EXPECT_NEAR(known.far[2], std::sqrt(2.0), 1e-6);
}

TEST(NewcomerRule, ModelGoesByTheDistanceAndPassesOverBrokenOnes) {
  Known known;
  EXPECT_THAT(known.groups(*make_nearest_model(), {6, 7, 8}, {10, 1, -0.5f, -0.4f, -2, -2}), ElementsAre(0, 1, 2));
  EXPECT_NEAR(known.far[2], std::sqrt(2.0), 1e-6);
  known.means = {NAN, 0, 0, 2, INFINITY, -3};
  EXPECT_THAT(known.groups(*make_nearest_model(), {6}, {1, 0}), ElementsAre(1));
  known.means = {NAN, 0, NAN, 2, INFINITY, -3};
  EXPECT_THAT(known.groups(*make_nearest_model(), {6}, {1, 0}), ElementsAre(0));
  EXPECT_TRUE(std::isinf(known.far[0]));
}

TEST(NewcomerRule, LossGoesToTheSmallest) {
  Known known;
  EXPECT_THAT(known.groups(*make_argmin_loss(), {6, 7, 8}, {3, 2, 1, 0.5f, NAN, 0.7f, NAN, INFINITY, 9}, 3),
              ElementsAre(2, 0, 2));
  EXPECT_EQ(known.far[0], 1);
}

TEST(NewcomerRule, RandomIsAlwaysTheSameForAClientOfARun) {
  Known known;
  std::vector<std::uint32_t> ids;
  for (std::uint32_t k = 6; k < 306; ++k) ids.push_back(k);
  const std::vector<std::uint32_t> groups = known.groups(*make_random_group(1), ids);
  EXPECT_EQ(known.groups(*make_random_group(1), {ids[17]}), std::vector{groups[17]});
  EXPECT_NE(known.groups(*make_random_group(2), ids), groups);
  for (std::uint32_t g = 0; g < 3; ++g) EXPECT_NEAR(std::ranges::count(groups, g), 100, 35);
}

TEST(NewcomerRule, RandomHasAStreamOfItsOwn) {
  Known known;
  const auto rule = std::move(make_newcomer_rule("random", 9)).value();
  const std::vector<std::uint32_t> clients{6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  std::vector<std::uint32_t> expected;
  for (const std::uint32_t k : clients) {
    expected.push_back(Stream({.seed = 9, .purpose = Purpose::kGrouping, .id = k, .part = 3}).below(3));
  }
  EXPECT_EQ(known.groups(*rule, clients), expected);
}

}  // namespace
}  // namespace muster
