// LSTM: gradients, and one cell against a plain computation in double.
#include <cmath>

#include "model/executor.h"
#include "model/gradient_check.h"
#include "model/network.h"

namespace muster {
namespace {

std::shared_ptr<const Network> make_lstm(Shape shape, std::uint32_t classes, std::uint32_t units,
                                         std::uint32_t layers) {
  auto network = make_network({.name = "lstm", .units = units, .layers = layers}, shape, classes);
  EXPECT_TRUE(network.ok());
  return network.value();
}

TEST(Lstm, GradientOfTwoLayers) {
  check_gradient_everywhere(make_lstm({1, 5, 7}, 2, 20, 2), {1, 3, 10, 17});
}
TEST(Lstm, GradientOfOneLayer) {
  check_gradient_everywhere(make_lstm({1, 4, 12}, 3, 9, 1), {1, 5, 12});
}
TEST(Lstm, GradientOfThreeLayers) {
  check_gradient_everywhere(make_lstm({1, 3, 6}, 2, 33, 3), {2, 11});
}

TEST(Lstm, LogitFollowsFlatOrder) {
  constexpr std::size_t kWords = 6, kDimension = 5, kUnits = 10, kGates = 4 * kUnits, kHead = 30;
  const auto network = make_lstm({1, kWords, kDimension}, 2, kUnits, 1);
  ASSERT_EQ(network->outputs(), 1u);
  const std::vector<float> flat = random_parameters(*network, 1);
  for (const Isa isa : available_isas()) {
    const UseIsa use(isa);
    Executor executor(network, 4);
    executor.load(flat);
    fill_batch(executor, 3, 9);
    executor.evaluate(3);
    std::vector<float> logits(3);
    executor.logits(3, logits);
    for (std::size_t b = 0; b < 3; ++b) {
      const float* wx = flat.data();
      const float* wh = wx + kDimension * kGates;
      const float* bias = wh + kUnits * kGates;
      std::vector<double> h(kUnits), c(kUnits);
      for (std::size_t t = 0; t < kWords; ++t) {
        const float* x = executor.input(3) + (b * kWords + t) * kDimension;
        std::vector<double> z(bias, bias + kGates);
        for (std::size_t g = 0; g < kGates; ++g) {
          for (std::size_t i = 0; i < kDimension; ++i) z[g] += double{x[i]} * wx[i * kGates + g];
          for (std::size_t i = 0; i < kUnits; ++i) z[g] += h[i] * wh[i * kGates + g];
        }
        for (std::size_t u = 0; u < kUnits; ++u) {
          c[u] = logistic(z[kUnits + u]) * c[u] + logistic(z[u]) * std::tanh(z[2 * kUnits + u]);
          h[u] = logistic(z[3 * kUnits + u]) * std::tanh(c[u]);
        }
      }
      const float* w1 = bias + kGates;
      const float* w2 = w1 + kUnits * kHead + kHead;
      double logit = w2[kHead];
      for (std::size_t o = 0; o < kHead; ++o) {
        double sum = w1[kUnits * kHead + o];
        for (std::size_t u = 0; u < kUnits; ++u) sum += h[u] * w1[u * kHead + o];
        logit += sum * w2[o];
      }
      EXPECT_NEAR(logits[b], logit, 2e-6) << name(isa) << " row " << b;
    }
  }
}

}  // namespace
}  // namespace muster
