#include "solver/learning_rate.h"

namespace muster {
namespace {

TEST(LearningRate, StaysAsItIsUnlessTheRecipeSaysOtherwise) {
  const LocalOptions options{.learning_rate = 0.1};
  EXPECT_EQ(learning_rate_in(options, 1), 0.1);
  EXPECT_EQ(learning_rate_in(options, 1000), 0.1);
  const LocalOptions constant{.learning_rate = 0.1, .schedule = "constant"};
  EXPECT_EQ(learning_rate_in(constant, 1000), 0.1);
}

TEST(LearningRate, DecaysAfterEveryRound) {
  const LocalOptions options{.learning_rate = 0.1, .learning_rate_decay = 0.5};
  EXPECT_EQ(learning_rate_in(options, 1), 0.1);
  EXPECT_DOUBLE_EQ(learning_rate_in(options, 3), 0.025);
}

TEST(LearningRate, FallsInSteps) {
  const LocalOptions options{.learning_rate = 0.1, .schedule = "steps", .schedule_rounds = 50, .schedule_factor = 0.2};
  EXPECT_EQ(learning_rate_in(options, 50), 0.1);
  EXPECT_DOUBLE_EQ(learning_rate_in(options, 51), 0.02);
  EXPECT_DOUBLE_EQ(learning_rate_in(options, 100), 0.02);
  EXPECT_DOUBLE_EQ(learning_rate_in(options, 101), 0.004);
}

TEST(LearningRate, FallsAlongACosineAndStaysAboveZero) {
  const LocalOptions options{.learning_rate = 0.2, .schedule = "cosine", .schedule_rounds = 4};
  EXPECT_EQ(learning_rate_in(options, 1), 0.2);
  EXPECT_NEAR(learning_rate_in(options, 2), 0.1 * (1 + std::sqrt(0.5)), 1e-12);
  EXPECT_NEAR(learning_rate_in(options, 3), 0.1, 1e-12);
  EXPECT_NEAR(learning_rate_in(options, 4), 0.1 * (1 - std::sqrt(0.5)), 1e-12);
  EXPECT_EQ(learning_rate_in(options, 5), learning_rate_in(options, 4));
  EXPECT_GT(learning_rate_in(options, 1000), 0);
}

}  // namespace
}  // namespace muster
