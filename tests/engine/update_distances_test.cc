#include "engine/update_distances.h"

#include <cmath>

#include "small_run.h"

namespace muster {
namespace {

TEST(Correlation, IsPearsons) {
  const std::vector<double> a{1, 2, 3, 4};
  EXPECT_DOUBLE_EQ(correlation(a, std::vector<double>{3, 5, 7, 9}), 1);
  EXPECT_DOUBLE_EQ(correlation(a, std::vector<double>{4, 3, 2, 1}), -1);
  EXPECT_NEAR(correlation(a, std::vector<double>{1, 3, 2, 4}), 0.8, 1e-12);
  EXPECT_TRUE(std::isnan(correlation(a, std::vector<double>{2, 2, 2, 2})));
}

TEST(UpdateDistances, AreOfAllPairsThatWereAsked) {
  const Recipe recipe = small({"profile.kind=update-direction", "profile.steps=5", "profile.clients=8",
                               "grouping.method=decomposed-cosine", "grouping.groups=3", "aggregation.global=none",
                               "newcomers.assign=nearest-direction"});
  const auto one = update_distances(recipe, 1);
  ASSERT_TRUE(one.ok()) << one.error().message;
  EXPECT_EQ(one->by_directions.size(), 8u * 7 / 2);
  EXPECT_GT(correlation(one->by_directions, one->by_others), 0.5) << "the one is an approximation of the other";
  EXPECT_EQ(one->by_others, update_distances(recipe, 2)->by_others) << "at any number of threads";
  EXPECT_FALSE(update_distances(small(), 1).ok());
}

}  // namespace
}  // namespace muster
