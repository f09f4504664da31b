// Losses in every instruction set: against double precision, at the extremes, and with values that are not finite.
#include "model/kernels/loss.h"

#include <cmath>
#include <limits>

#include "model/gradient_check.h"

namespace muster {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

TEST(Loss, SoftmaxAgreesWithDouble) {
  for (const Isa isa : available_isas()) {
    const UseIsa use(isa);
    for (const std::size_t outputs : {2u, 10u, 16u, 17u, 62u}) {
      const std::size_t stride = (outputs + 15) / 16 * 16;
      constexpr std::size_t kBatch = 9;
      std::vector<float> logits(kBatch * stride), gradient(kBatch * stride, 5.0f);
      std::vector<std::int32_t> labels(kBatch);
      Stream stream = test_stream(static_cast<std::uint32_t>(outputs));
      for (float& z : logits) z = static_cast<float>(6 * stream.normal());  // also the padding: it must not count
      for (std::int32_t& label : labels)
        label = static_cast<std::int32_t>(stream.below(static_cast<std::uint32_t>(outputs)));
      const LossResult result =
          loss_kernels().softmax(kBatch, outputs, stride, logits.data(), labels.data(), gradient.data());
      double sum = 0;
      std::uint32_t correct = 0;
      for (std::size_t b = 0; b < kBatch; ++b) {
        const float* z = logits.data() + b * stride;
        double total = 0;
        std::size_t best = 0;
        for (std::size_t o = 0; o < outputs; ++o) {
          total += std::exp(double{z[o]});
          if (z[o] > z[best]) best = o;
        }
        const auto label = static_cast<std::size_t>(labels[b]);
        sum += std::log(total) - z[label];
        correct += best == label;
        for (std::size_t o = 0; o < stride; ++o) {
          const double p = o < outputs ? std::exp(double{z[o]}) / total : 0;
          ASSERT_NEAR(gradient[b * stride + o], p - (o == label), 3e-7) << name(isa) << " " << outputs << " " << o;
        }
      }
      EXPECT_NEAR(result.sum, sum, 1e-5);
      EXPECT_EQ(result.correct, correct);
      const LossResult without = loss_kernels().softmax(kBatch, outputs, stride, logits.data(), labels.data(), nullptr);
      EXPECT_EQ(without.sum, result.sum);
      EXPECT_EQ(without.correct, result.correct);
    }
  }
}

// Of two logits 0 and -x the second has probability exp(-x) / (1 + exp(-x)): shows the relative error of exp.
TEST(Loss, ExponentialIsAccurate) {
  for (const Isa isa : available_isas()) {
    const UseIsa use(isa);
    double worst = 0;
    for (double x = 0; x < 86; x += 0.00917) {
      float logits[16] = {0, static_cast<float>(-x)};
      float gradient[16];
      const std::int32_t label = 0;
      loss_kernels().softmax(1, 2, 16, logits, &label, gradient);
      const double e = std::exp(double{logits[1]});
      worst = std::max(worst, std::fabs(gradient[1] * (1 + e) / e - 1));
    }
    // Two more roundings than exp itself has: the sum and its inverse.
    EXPECT_LT(worst, 4e-7) << name(isa);
  }
}

TEST(Loss, TiesGoToTheFirstClass) {
  for (const Isa isa : available_isas()) {
    const UseIsa use(isa);
    std::vector<float> logits(32, 1.0f);
    for (const std::int32_t label : {0, 1, 15, 16, 19}) {
      EXPECT_EQ(loss_kernels().softmax(1, 20, 32, logits.data(), &label, nullptr).correct, label == 0 ? 1u : 0u);
    }
  }
}

TEST(Loss, HugeLogitsAreStable) {
  for (const Isa isa : available_isas()) {
    const UseIsa use(isa);
    float logits[16] = {3e38f, -3e38f, 0};
    float gradient[16];
    std::int32_t label = 0;
    EXPECT_EQ(loss_kernels().softmax(1, 3, 16, logits, &label, gradient).sum, 0.0);
    EXPECT_EQ(gradient[0], 0.0f);
    label = 1;
    EXPECT_NEAR(loss_kernels().softmax(1, 3, 16, logits, &label, gradient).sum, 6e38, 1e33);
    EXPECT_EQ(gradient[1], -1.0f);
  }
}

TEST(Loss, NaNReachesTheSum) {
  for (const Isa isa : available_isas()) {
    const UseIsa use(isa);
    const std::int32_t label = 1;
    for (const float bad : {kNaN, kInfinity}) {
      for (const std::size_t place : {0u, 1u, 2u}) {
        float logits[16] = {0, 1, 2};
        logits[place] = bad;
        float gradient[16];
        const LossResult result = loss_kernels().softmax(1, 3, 16, logits, &label, gradient);
        EXPECT_TRUE(std::isnan(result.sum)) << name(isa) << " " << bad << " at " << place;
      }
    }
    float all[16] = {kNaN, kNaN, kNaN};
    const LossResult result = loss_kernels().softmax(1, 3, 16, all, &label, nullptr);
    EXPECT_TRUE(std::isnan(result.sum));
    EXPECT_EQ(result.correct, 0u);
    EXPECT_TRUE(std::isnan(loss_kernels().sigmoid(1, 1, 16, all, &label, nullptr).sum));
    EXPECT_EQ(loss_kernels().sigmoid(1, 1, 16, all, &label, nullptr).correct, 0u);
  }
}

TEST(Loss, SigmoidAgreesWithDouble) {
  for (const Isa isa : available_isas()) {
    const UseIsa use(isa);
    for (const double z : {-300.0, -20.0, -1.5, 0.0, 0.25, 3.0, 40.0, 500.0}) {
      for (const std::int32_t label : {0, 1}) {
        float logits[16] = {static_cast<float>(z)};
        float gradient[16];
        std::fill(std::begin(gradient), std::end(gradient), 9.0f);
        const LossResult result = loss_kernels().sigmoid(1, 1, 16, logits, &label, gradient);
        const double expected = std::log1p(std::exp(-std::fabs(z))) + std::max(z, 0.0) - label * z;
        EXPECT_NEAR(result.sum, expected, 1e-6 * (1 + expected));
        EXPECT_EQ(result.correct, (z > 0) == (label == 1) ? 1u : 0u);
        EXPECT_NEAR(gradient[0], 1 / (1 + std::exp(-z)) - label, 1e-7);
        for (int i = 1; i < 16; ++i) EXPECT_EQ(gradient[i], 0.0f);
      }
    }
  }
}

}  // namespace
}  // namespace muster
