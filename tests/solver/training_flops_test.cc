#include "solver/training_flops.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(TrainingFlops, AFrozenCopyOfTheModelIsOneMoreForwardPass) {
  const auto network = *make_network({.name = "softmax"}, {1, 1, 20}, 5);
  EXPECT_EQ(training_flops(*network, *make_plain()), 600);
  EXPECT_EQ(training_flops(*network, *make_prox(1)), 600);
  EXPECT_EQ(training_flops(*network, *make_mmd(0.1)), 800);
  EXPECT_EQ(training_flops(*network, *make_mmd(0)), 600);
}

}  // namespace
}  // namespace muster
