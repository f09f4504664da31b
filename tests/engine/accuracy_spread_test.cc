// Percentiles by nearest rank, worked by hand.
#include "engine/accuracy_spread.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(AccuracySpread, IsAlwaysSomeClientsAccuracy) {
  // Of 5: places ceil(0.5) = 1, ceil(2.5) = 3, ceil(4.5) = 5.
  const auto five = spread_of({0.9, 0.1, 0.5, 0.3, 0.7}).value();
  EXPECT_EQ(five.worst, 0.1);
  EXPECT_EQ(five.p10, 0.1);
  EXPECT_EQ(five.p50, 0.5);
  EXPECT_EQ(five.p90, 0.9);
  // Of 4 the lower of the two in the middle: place 2.
  EXPECT_EQ(spread_of({0.4, 0.2, 0.3, 0.1})->p50, 0.2);
  // Of 20: places 2, 10, 18.
  std::vector<double> twenty;
  for (int i = 20; i > 0; --i) twenty.push_back(i / 20.0);
  const auto spread = spread_of(twenty).value();
  EXPECT_EQ(spread.worst, 1 / 20.0);
  EXPECT_EQ(spread.p10, 2 / 20.0);
  EXPECT_EQ(spread.p50, 10 / 20.0);
  EXPECT_EQ(spread.p90, 18 / 20.0);
  // Of 11: places ceil(1.1) = 2, ceil(5.5) = 6, ceil(9.9) = 10.
  std::vector<double> eleven;
  for (int i = 1; i <= 11; ++i) eleven.push_back(i);
  EXPECT_EQ(spread_of(eleven)->p10, 2);
  EXPECT_EQ(spread_of(eleven)->p50, 6);
  EXPECT_EQ(spread_of(eleven)->p90, 10);
  EXPECT_EQ(nearest_rank(eleven, 100), 11);
}

TEST(AccuracySpread, OfOneAndOfNobody) {
  const auto one = spread_of({0.25}).value();
  EXPECT_EQ(one.worst, 0.25);
  EXPECT_EQ(one.p10, 0.25);
  EXPECT_EQ(one.p90, 0.25);
  EXPECT_FALSE(spread_of({}));
}

}  // namespace
}  // namespace muster
