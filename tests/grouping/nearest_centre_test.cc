// Groups around centres that are given or found, and by the model that fits best.
#include "grouping/vectors.h"

namespace muster {
namespace {

TEST(NearestCentre, JoinsTheGivenCentresLowestFirst) {
  const Rows<float> rows = rows_of({{0, 0}, {2, 0}, {1, 0}, {9, 9}});
  const Rows<float> centres = rows_of({{2, 0}, {0, 0}, {-50, 0}, {8, 9}});
  const std::vector<std::uint32_t> samples(4, 1);
  const auto formed =
      form_groups({.method = "nearest-centre"}, {.samples = samples, .vectors = rows, .centres = centres}, {});
  ASSERT_TRUE(formed) << formed.error().message;
  EXPECT_EQ(group_lists(formed->grouping), (Lists{{0}, {1, 2}, {3}}));  // client 2 is between the first two
  EXPECT_EQ(formed->notes, std::vector<std::string>{"no client is nearest to 1 of the 4 centres"});
}

TEST(NearestCentre, FindsCentresOfShortAndOfLongVectors) {
  for (const std::size_t width : {5u, 40u, 900u}) {
    EXPECT_EQ(groups_by({.method = "nearest-centre", .groups = 4}, bundles(60, width, 4, 0.1, 3)), bundle_lists(60, 4));
  }
  EXPECT_EQ(groups_by({.method = "nearest-centre", .groups = 6}, random_rows(6, 10, 1)).size(), 6u);
  EXPECT_EQ(groups_by({.method = "nearest-centre", .groups = 1}, random_rows(6, 10, 1)).size(), 1u);
}

TEST(NearestCentre, NeverSeparatesEqualVectorsToReachANumber) {
  std::vector<std::string> notes;
  for (const std::size_t width : {5u, 200u, 3000u}) {
    const Rows<float> two = random_rows(2, width, 3);
    const Rows<float> seven = random_rows(7, width, 4);
    Rows<float> pairs(40, width), sevens(42, width);
    for (std::uint32_t k = 0; k < 40; ++k) std::ranges::copy(two.row(k % 2), pairs.row(k).begin());
    for (std::uint32_t k = 0; k < 42; ++k) std::ranges::copy(seven.row(k % 7), sevens.row(k).begin());
    EXPECT_EQ(groups_by({.method = "nearest-centre", .groups = 3}, pairs, &notes), bundle_lists(40, 2));
    EXPECT_EQ(notes, std::vector<std::string>{
                         "grouping.groups: 3, but the clients have only 2 distinct vectors; 2 groups formed"});
    for (const std::uint32_t groups : {3u, 6u, 7u}) {
      const Lists formed = groups_by({.method = "nearest-centre", .groups = groups}, sevens, &notes);
      EXPECT_EQ(formed.size(), groups);
      EXPECT_TRUE(notes.empty());
      for (const auto& group : formed) EXPECT_EQ(group.size() % 6, 0u);  // all six of a kind
    }
  }
}

TEST(NearestCentre, RefusesCentresThatDoNotFit) {
  const Rows<float> rows = random_rows(5, 3, 1);
  EXPECT_EQ(complaint({.method = "nearest-centre"}, rows, random_rows(2, 4, 1)),
            "vectors: 3 numbers, want 4 as in the groups");
  EXPECT_EQ(complaint({.method = "nearest-centre", .groups = 3}, rows, random_rows(2, 3, 1)),
            "grouping.groups: 3, want 2, the number of centres given");
  Rows<float> broken = random_rows(2, 3, 1);
  broken.row(1)[0] = std::nanf("");
  EXPECT_EQ(complaint({.method = "nearest-centre"}, rows, broken), "centres: nan at 3, want finite numbers");
  EXPECT_NE(complaint({.method = "nearest-centre"}, rows), "");
}

TEST(ArgminLoss, JoinsTheModelThatFitsBest) {
  const Rows<float> losses = rows_of({{2, 1, 3, 9}, {0.5f, 0.5f, 1, 9}, {4, 3, 2, 9}, {1, 0.9f, 5, 9}});
  std::vector<std::string> notes;
  EXPECT_EQ(groups_by({.method = "argmin-loss"}, losses, &notes), (Lists{{0, 3}, {1}, {2}}));
  EXPECT_EQ(notes, std::vector<std::string>{"no client has its smallest loss with 1 of the 4 models"});
  EXPECT_EQ(groups_by({.method = "argmin-loss", .groups = 4}, losses), (Lists{{0, 3}, {1}, {2}}));
  EXPECT_EQ(complaint({.method = "argmin-loss", .groups = 3}, losses),
            "grouping.groups: 3, want 4, the number of models whose losses are given");
}

TEST(ArgminLoss, TakesALossThatIsNotFiniteAsInfinite) {
  const float nan = std::nanf("");
  const float infinity = std::numeric_limits<float>::infinity();
  std::vector<std::string> notes;
  EXPECT_EQ(groups_by({.method = "argmin-loss"}, rows_of({{nan, 5}, {1, -infinity}, {nan, infinity}}), &notes),
            (Lists{{0}, {1, 2}}));
  EXPECT_EQ(notes, std::vector<std::string>{"1 of 3 clients have no finite loss and join the first model"});
}

}  // namespace
}  // namespace muster
