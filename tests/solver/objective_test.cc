#include "solver/objective.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(Objective, ProximalTermPullsTowardsTheReceivedModel) {
  const std::vector<float> received{1, -2};
  ObjectiveTerm term;
  make_prox(0.5)->begin({.received = received}, term);
  EXPECT_EQ(term.pull, 0.5f);
  ASSERT_TRUE(term.has_drift);
  EXPECT_EQ(term.drift, (std::vector<float>{0.5f, -1.0f}));
}

TEST(Objective, PlainAddsNothing) {
  ObjectiveTerm term;
  make_plain()->begin({}, term);
  EXPECT_EQ(term.pull, 0.0f);
  EXPECT_FALSE(term.has_drift);
}

}  // namespace
}  // namespace muster
