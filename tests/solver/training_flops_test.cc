#include "solver/training_flops.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(TrainingFlops, AFrozenCopyOfTheModelIsOneMoreForwardPass) {
  const auto network = *make_network({.name = "softmax"}, {1, 1, 20}, 5);
  EXPECT_EQ(training_flops(*network), 600);
  EXPECT_EQ(training_flops(*network, true), 800);
}

TEST(TrainingFlops, AFusionRepeatsTheExtractor) {
  const ModelOptions options{.name = "mlp", .hidden = {4}};
  const auto shares = *make_network(options, {1, 1, 20}, 5, Fusion::kMulti);
  EXPECT_EQ(training_flops(*shares), 6 * (20 * 4 + 4 * 5) + 2 * 20 * 4);
  const auto conv = *make_network(options, {1, 1, 20}, 5, Fusion::kConv);
  EXPECT_EQ(training_flops(*conv), 6 * (20 * 4 + 8 * 4 + 4 * 5) + 2 * 20 * 4);
}

}  // namespace
}  // namespace muster
