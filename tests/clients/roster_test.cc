#include "clients/roster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(Roster, RemembersWhatClientsToldWhenTheyJoined) {
  Roster roster({28, 28, 1}, 10, 3);
  EXPECT_EQ(roster.add({.train_samples = 5}), ClientId{0});
  EXPECT_EQ(roster.add({.name = "site b", .train_samples = 7, .test_samples = 2, .edge = 2, .since_round = 4}),
            ClientId{1});
  EXPECT_EQ(roster.add({}), ClientId{2});
  EXPECT_EQ(roster.clients(), 3u);
  EXPECT_EQ(roster.classes(), 10u);
  EXPECT_EQ(roster.edges(), 3u);
  EXPECT_EQ(roster.name({0}), "");
  EXPECT_EQ(roster.name({1}), "site b");
  EXPECT_EQ(roster.name({2}), "");
  EXPECT_EQ(roster.edge({0}), 0u);
  EXPECT_EQ(roster.edge({1}), 2u);
  EXPECT_EQ(roster.edge({2}), 0u);
  EXPECT_EQ(roster.since_round({0}), 1u);
  EXPECT_EQ(roster.since_round({1}), 4u);
  EXPECT_EQ(roster.since_round({2}), 1u);
  EXPECT_EQ(roster.train_samples({1}), 7u);
  EXPECT_EQ(roster.test_samples({1}), 2u);
}

TEST(Roster, KnowsValidationSamplesAndNamesOfClasses) {
  Roster roster({1, 1, 2}, 3, 1);
  EXPECT_EQ(roster.class_name(1), "1");
  roster.set_class_names({"cat", "dog"});
  EXPECT_EQ(roster.class_name(1), "dog");
  EXPECT_EQ(roster.class_name(2), "2");
  roster.add({.train_samples = 5});
  EXPECT_FALSE(roster.validates());
  EXPECT_EQ(roster.validation_samples({0}), 0u);
  roster.add({.train_samples = 5, .validation_samples = 2});
  EXPECT_TRUE(roster.validates());
  EXPECT_EQ(roster.validation_samples({0}), 0u);
  EXPECT_EQ(roster.validation_samples({1}), 2u);
}

TEST(Roster, PresentAreThoseWithSamplesWhoHaveArrived) {
  Roster roster({1, 1, 2}, 2, 1);
  roster.add({.train_samples = 1});
  roster.add({.train_samples = 1, .since_round = 3});
  roster.add({.train_samples = 0});
  roster.add({.train_samples = 4});
  EXPECT_THAT(roster.present(2), testing::ElementsAre(ClientId{0}, ClientId{3}));
  EXPECT_THAT(roster.present(3), testing::ElementsAre(ClientId{0}, ClientId{1}, ClientId{3}));
  EXPECT_TRUE(roster.edge_of().empty());
  Roster late({1, 1, 2}, 2, 1);
  late.add({.train_samples = 0});
  late.add({.train_samples = 1, .since_round = 3});
  EXPECT_FALSE(late.anybody(2));
  EXPECT_TRUE(late.anybody(3));
}

}  // namespace
}  // namespace muster
