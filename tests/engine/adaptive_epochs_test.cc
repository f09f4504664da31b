#include "engine/adaptive_epochs.h"

namespace muster {
namespace {

LocalOptions options(const char* rounding = "fractional") {
  LocalOptions o;
  o.adapt_epochs = 0.5;
  o.loss_tolerance = 0;
  o.epoch_rounding = rounding;
  return o;
}

// Client 0 has 1,000 samples and a first loss of 1.5.
TEST(AdaptiveEpochs, FollowTheWorkedNumbers) {
  AdaptiveEpochs epochs(options(), {1000, 100, 600, 1000});
  for (const auto& [client, loss] : {std::pair(0u, 1.5), {1u, 2.0}, {2u, 1.6}, {3u, 1.7}}) {
    epochs.add_loss({client}, loss);
  }
  epochs.end_round();
  EXPECT_DOUBLE_EQ(epochs.epochs({0}), 1);
  EXPECT_NEAR(epochs.epochs({1}), 6, 1e-12);
  EXPECT_NEAR(epochs.epochs({2}), 1.833333, 1e-6);
  EXPECT_NEAR(epochs.epochs({3}), 1.5, 1e-12);
  // Summed 3.2 against 3.0, last 1.2 against 1.5: (0.5 * 10)^0.8 more.
  for (const auto& [client, loss] : {std::pair(0u, 1.5), {1u, 1.2}, {2u, 1.0}, {3u, 1.4}}) {
    epochs.add_loss({client}, loss);
  }
  epochs.end_round();
  EXPECT_NEAR(epochs.epochs({1}), 9.623898, 1e-6);
  EXPECT_NEAR(epochs.epochs({2}), 1.833333, 1e-6);  // 2.6 is not above 3.0
  EXPECT_NEAR(epochs.epochs({3}), 1.5 + 0.523647, 1e-6);
}

TEST(AdaptiveEpochs, AreRoundedButKeptExact) {
  AdaptiveEpochs rounded(options("round"), {1000, 600});
  AdaptiveEpochs raised(options("ceil"), {1000, 600});
  for (AdaptiveEpochs* epochs : {&rounded, &raised}) {
    epochs->add_loss({0}, 1);
    epochs->add_loss({1}, 2);
    epochs->end_round();
  }
  EXPECT_EQ(rounded.epochs({1}), 2);  // 1.833
  EXPECT_EQ(raised.epochs({1}), 2);
  rounded.freeze();
  EXPECT_EQ(rounded.epochs({1}), 1);
}

TEST(AdaptiveEpochs, NeedALossBeyondTheTolerance) {
  LocalOptions tolerant = options();
  tolerant.loss_tolerance = 0.02;
  AdaptiveEpochs epochs(tolerant, {1000, 100, 100});
  epochs.add_loss({0}, 1);
  epochs.add_loss({1}, 1.019);
  epochs.add_loss({2}, 1.021);
  epochs.end_round();
  EXPECT_EQ(epochs.epochs({1}), 1);
  EXPECT_GT(epochs.epochs({2}), 1);
}

TEST(AdaptiveEpochs, WithoutGrowthStayConstantButTellTheVariance) {
  LocalOptions none;
  AdaptiveEpochs epochs(none, {10, 20, 0});
  epochs.add_loss({0}, 1);
  epochs.add_loss({1}, 3);
  epochs.end_round();
  EXPECT_EQ(epochs.epochs({0}), 1);
  ASSERT_EQ(epochs.variances().size(), 1u);
  EXPECT_DOUBLE_EQ(epochs.variances()[0], 1);
  LocalOptions zero = options();
  zero.adapt_epochs = 0;
  AdaptiveEpochs still(zero, {10, 20});
  still.add_loss({0}, 5);
  still.add_loss({1}, 1);
  still.end_round();
  EXPECT_EQ(still.epochs({0}), 1);
}

TEST(AdaptiveEpochs, AnAbsentClientKeepsWhatItHas) {
  AdaptiveEpochs epochs(options(), {1000, 100});
  epochs.add_loss({0}, 1);
  epochs.end_round();
  EXPECT_EQ(epochs.epochs({1}), 1);  // never took part
  Checkpoint checkpoint{.round = 1};
  epochs.save(checkpoint);
  AdaptiveEpochs restored(options(), {1000, 100});
  ASSERT_TRUE(restored.restore(checkpoint));
  EXPECT_EQ(restored.epochs({1}), 1);
  AdaptiveEpochs other(options(), {1});
  EXPECT_FALSE(other.restore(checkpoint));
}

}  // namespace
}  // namespace muster
