// Where late clients go.
#include "grouping/newcomers.h"

#include "grouping/vectors.h"

namespace muster {
namespace {

TEST(Newcomers, GoToTheNearestOfTheWorkedDirections) {
  const Rows<float> updates = rows_of({{1, 0, 0}, {0.9f, 0.1f, 0}, {0, 1, 0}, {0, 0.9f, 0.2f}});
  Grouping grouping;
  grouping.add(std::vector<ClientId>{{0}, {1}});
  grouping.add(std::vector<ClientId>{{2}, {3}});
  const Rows<float> means = group_means(updates, grouping);
  EXPECT_THAT(means.values, testing::Pointwise(testing::FloatEq(), {0.95f, 0.05f, 0.0f, 0.0f, 0.95f, 0.1f}));
  const std::vector<std::uint32_t> sizes{2, 2};
  const std::vector<float> newcomer{0.5f, 0.1f, 0};
  const auto both = GroupDirections::make(means, sizes);
  ASSERT_TRUE(both) << both.error().message;
  const auto placed = both->place(newcomer);
  ASSERT_TRUE(placed);
  EXPECT_EQ(placed->group, 0u);
  EXPECT_NEAR(placed->dissimilarity, 0.005234, 1e-6);
  const auto second =
      GroupDirections::make(RowsView<float>{std::span(means.values).last(3), 3}, std::span(sizes).first(1));
  ASSERT_TRUE(second);
  EXPECT_NEAR(second->place(newcomer)->dissimilarity, 0.402481, 1e-6);
}

TEST(Newcomers, WithoutADirectionGoToTheLargestGroup) {
  const std::vector<std::uint32_t> sizes{3, 8, 8};
  const auto directions = GroupDirections::make(rows_of({{1, 0}, {0, 1}, {0, 0}}), sizes);
  ASSERT_TRUE(directions);
  const auto zero = directions->place(std::vector<float>{0, 0});
  EXPECT_EQ(zero->group, 1u);
  EXPECT_EQ(zero->dissimilarity, 0.5);
  const auto away = directions->place(std::vector<float>{-1, -1});  // a group without direction is at 1/2
  EXPECT_EQ(away->group, 2u);
  EXPECT_EQ(away->dissimilarity, 0.5);
  const auto between = directions->place(std::vector<float>{2, 2});
  EXPECT_EQ(between->group, 0u);
  EXPECT_NEAR(between->dissimilarity, (1 - std::sqrt(0.5)) / 2, 1e-7);
}

TEST(Newcomers, GoToTheNearestHeadOrTheSmallestLoss) {
  const auto head = nearest_head(rows_of({{0, 0}, {6, 8}, {3, 3}}), std::vector<float>{3, 4});
  EXPECT_EQ(head->group, 2u);
  EXPECT_EQ(head->dissimilarity, 1.0);
  EXPECT_EQ(nearest_head(rows_of({{0, 0}, {6, 8}}), std::vector<float>{3, 4})->group, 0u);
  const auto loss = smallest_loss(std::vector<float>{2, 0.25f, 0.25f});
  EXPECT_EQ(loss->group, 1u);
  EXPECT_EQ(loss->dissimilarity, 0.25);
}

TEST(Newcomers, ThatDoNotFitAreRefused) {
  const std::vector<std::uint32_t> sizes{1, 1};
  const auto directions = GroupDirections::make(rows_of({{1, 0}, {0, 1}}), sizes);
  ASSERT_TRUE(directions);
  const auto message = [](const auto& result) { return result ? std::string() : result.error().message; };
  EXPECT_EQ(message(directions->place(std::vector<float>{1})), "update: 1 numbers, want 2 as in the groups");
  EXPECT_EQ(message(directions->place(std::vector<float>{1, std::nanf("")})), "update: nan at 1, want finite numbers");
  EXPECT_EQ(message(GroupDirections::make(rows_of({{1, 0}}), sizes)),
            "directions: 1 for 2 groups, want one for each group");
  EXPECT_FALSE(GroupDirections::make({}, {}));
  EXPECT_FALSE(nearest_head({}, std::vector<float>{1}));
  EXPECT_FALSE(nearest_head(rows_of({{1, 0}}), std::vector<float>{1}));
  EXPECT_FALSE(smallest_loss({}));
}

TEST(Newcomers, TakeALossThatIsNotFiniteAsInfinite) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float nan = std::nanf("");
  const auto rest = smallest_loss(std::vector<float>{nan, 3, -kInfinity, 2, kInfinity});
  ASSERT_TRUE(rest);
  EXPECT_EQ(rest->group, 3u);
  EXPECT_EQ(rest->dissimilarity, 2);
  const auto none = smallest_loss(std::vector<float>{nan, kInfinity, nan});
  ASSERT_TRUE(none);
  EXPECT_EQ(none->group, 0u);
  EXPECT_EQ(none->dissimilarity, std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace muster
