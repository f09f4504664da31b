// Dense networks: gradients, a network worked by hand, agreement of wide and narrow kernels with a plain product.
#include <cmath>

#include "model/executor.h"
#include "model/gradient_check.h"
#include "model/network.h"
#include "model/own_network.h"

namespace muster {
namespace {

TEST(Dense, GradientOfSoftmax) {
  check_gradient_everywhere(make({.name = "softmax"}, {1, 1, 19}, 10), {1, 7, 10, 33});
}

TEST(Dense, GradientOfMlp) {
  check_gradient_everywhere(make({.name = "mlp", .hidden = {40, 17}}, {1, 1, 23}, 5), {1, 6, 10, 13, 64});
}

TEST(Dense, GradientOfManyOutputs) {
  check_gradient_everywhere(make({.name = "mlp", .hidden = {100}}, {5, 3, 2}, 62), {1, 5, 12, 27});
}

// The hidden layer is large enough to be worked on in blocks.
TEST(Dense, GradientOfBlockedLayer) {
  check_gradient_everywhere(make({.name = "mlp", .hidden = {331, 530}}, {1, 1, 9}, 3), {3, 20});
}

// logits = x w + b computed plainly from the flat vector, which also proves its order.
TEST(Dense, LogitsFollowFlatOrder) {
  const auto network = make({.name = "softmax"}, {2, 3, 4}, 21);
  const std::vector<float> flat = random_parameters(*network, 1);
  for (const Isa isa : available_isas()) {
    const UseIsa use(isa);
    for (const std::uint32_t batch : {1u, 2u, 11u, 12u, 13u, 40u}) {
      Executor executor(network, 40);
      executor.load(flat);
      fill_batch(executor, batch, 5);
      executor.evaluate(batch);
      std::vector<float> logits(batch * 21);
      executor.logits(batch, logits);
      const float* x = executor.input(batch);
      for (std::uint32_t b = 0; b < batch; ++b) {
        for (std::size_t o = 0; o < 21; ++o) {
          double sum = flat[24 * 21 + o];
          for (std::size_t i = 0; i < 24; ++i) sum += double{x[b * 24 + i]} * flat[i * 21 + o];
          ASSERT_NEAR(logits[b * 21 + o], sum, 1e-5) << name(isa) << " batch " << batch << " row " << b;
        }
      }
    }
  }
}

// Two inputs, two classes, weights [[1, 0], [0, 1]], bias [0, ln 2]; x = (ln 2, 0), label 0. Logits (ln 2, ln 2), so
// p = (1/2, 1/2), loss = ln 2, gradient of the logits (-1/2, 1/2).
TEST(Dense, HandWorkedStep) {
  const auto network = make({.name = "softmax"}, {1, 1, 2}, 2);
  const float ln2 = std::log(2.0f);
  for (const Isa isa : available_isas()) {
    const UseIsa use(isa);
    Executor executor(network, 1);
    executor.load(std::vector<float>{1, 0, 0, 1, 0, ln2});
    executor.input(1)[0] = ln2;
    executor.input(1)[1] = 0;
    executor.labels(1)[0] = 0;
    const BatchResult result = executor.train(1, {.learning_rate = 0.5f});
    EXPECT_NEAR(result.loss_sum, std::log(2.0), 1e-6);
    EXPECT_EQ(result.correct, 1u);  // a tie goes to the first class
    std::vector<float> flat(6);
    executor.store(flat);
    const std::vector<float> expected{1 + 0.25f * ln2, -0.25f * ln2, 0, 1, 0.25f, ln2 - 0.25f};
    for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(flat[i], expected[i], 1e-6) << i;
  }
}

}  // namespace
}  // namespace muster
