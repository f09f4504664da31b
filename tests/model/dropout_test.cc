// Dropout: how much is dropped, that its draws follow from the key alone, that evaluation and measured gradients are
// free of it, and its gradient under fixed draws.
#include <cmath>

#include "model/gradient_check.h"
#include "model/own_network.h"

namespace muster {
namespace {

// With zero weights every sample of one class has the same slope, so the step of a weight counts the samples of the
// batch in which its input was kept.
std::vector<double> kept_counts(const std::shared_ptr<const Network>& network, std::uint32_t batch,
                                const StreamKey& key, int steps = 1) {
  Executor executor(network, batch);
  executor.load(std::vector<float>(network->size(), 0.0f));
  executor.seed_dropout(key);
  const std::size_t size = network->input().size();
  for (int i = 0; i < steps; ++i) {
    std::fill_n(executor.input(batch), batch * size, 1.0f);
    std::fill_n(executor.labels(batch), batch, 0);
    executor.train(batch, {.learning_rate = i + 1 == steps ? 1.0f : 0.0f});
  }
  std::vector<float> flat(network->size());
  executor.store(flat);
  // Two classes: the slope of the first output is 1/2 - 1.
  std::vector<double> counts;
  for (std::size_t i = 0; i < size; ++i) counts.push_back(double{flat[2 * i]} / 0.5 * batch);
  return counts;
}

TEST(DropoutTest, DropsTheShareAskedForAndKeepsTheMean) {
  for (const double drop : {0.0, 0.3, 0.75}) {
    const auto network = own_network({{fmt::format("dropout {}", drop)}}, {1, 1, 4001}, 2);
    const std::vector<double> counts = kept_counts(network, 8, {.seed = 3});
    double sum = 0;
    for (const double count : counts) {
      const double kept = count * (1 - drop);
      EXPECT_NEAR(kept, std::round(kept), 1e-3);
      sum += count;
    }
    // The standard error of the mean: 5 of them.
    const double values = 8 * 4001;
    EXPECT_NEAR(sum / values, 1, 5 * std::sqrt(drop / (1 - drop) / values) + 1e-6) << drop;
  }
}

TEST(DropoutTest, DrawsFollowFromTheKeyAndTheStep) {
  const auto network = own_network({{"dropout 0.5"}}, {1, 1, 100}, 2);
  const StreamKey key{.seed = 9, .purpose = Purpose::kDropout, .round = 3, .id = 4, .part = 5};
  const std::vector<double> counts = kept_counts(network, 3, key);
  EXPECT_EQ(kept_counts(network, 3, key), counts);
  StreamKey other = key;
  other.round = 4;
  EXPECT_NE(kept_counts(network, 3, other), counts);
  other = key;
  other.part = 6;
  EXPECT_NE(kept_counts(network, 3, other), counts);
  EXPECT_NE(kept_counts(network, 3, key, 2), counts) << "the second step draws anew";
}

TEST(DropoutTest, LayersDrawApart) {
  // Two layers that drew alike would keep a half of all values, not a quarter.
  const auto network = own_network({{"dropout 0.5"}, {"dropout 0.5"}}, {1, 1, 2000}, 2);
  std::size_t kept = 0;
  for (const double count : kept_counts(network, 1, {.seed = 3})) kept += count > 0 ? 1 : 0;
  EXPECT_NEAR(static_cast<double>(kept), 500, 100);
}

TEST(DropoutTest, ChannelsAndRowsDrawAlike) {
  const auto rows = own_network({{"dropout 0.5"}}, {3, 4, 5}, 2);
  const auto channels = own_network({{"dropout 0.5"}, {"max-pool 1"}}, {3, 4, 5}, 2);
  EXPECT_EQ(kept_counts(rows, 4, {.seed = 3}), kept_counts(channels, 4, {.seed = 3}));
}

// So large a batch is trained in parts: its samples must draw apart all the same.
TEST(DropoutTest, PartsOfABatchDrawApart) {
  constexpr std::uint32_t kBatch = 64, kSize = 40000;
  const auto network = own_network({{"dropout 0.5"}}, {1, 1, kSize}, 2);
  double squares = 0;
  for (const double count : kept_counts(network, kBatch, {.seed = 3})) squares += std::pow(count / 2 - kBatch / 2.0, 2);
  EXPECT_NEAR(squares / kSize, kBatch / 4.0, 1);
}

TEST(DropoutTest, EvaluationAndMeasuredGradientsAreFreeOfIt) {
  const LayerList with = {{"dense 20"}, {"tanh"}, {"dropout 0.6"}, {"dense 8"}, {"dropout 0.5"}, {"relu"}};
  const LayerList without = {{"dense 20"}, {"tanh"}, {"dense 8"}, {"relu"}};
  std::vector<float> outputs[2], gradients[2];
  int i = 0;
  for (const LayerList& list : {with, without}) {
    const auto network = own_network(list, {1, 1, 9});
    Executor executor(network, 5);
    executor.load(random_parameters(*network, 1));
    fill_batch(executor, 5, 2);
    executor.train(5, {.learning_rate = 0});
    executor.evaluate(5);
    outputs[i].resize(5 * network->outputs());
    executor.logits(5, outputs[i]);
    gradients[i].resize(network->parameters());
    executor.gradient(5, gradients[i]);
    ++i;
  }
  EXPECT_EQ(outputs[0], outputs[1]);
  EXPECT_EQ(gradients[0], gradients[1]);
}

// The step of rate 1 is the gradient; the loss of steps of rate 0 with the same draws is what it belongs to.
TEST(DropoutTest, GradientUnderFixedDraws) {
  const auto network = own_network(
      {{"conv 5 3"}, {"tanh"}, {"dropout 0.4"}, {"conv 4 2"}, {"dense 6"}, {"dropout 0.3"}, {"gelu"}}, {6, 5, 2});
  constexpr std::uint32_t kBatch = 4;
  Executor executor(network, kBatch);
  const std::vector<float> flat = random_parameters(*network, 1);
  const auto run = [&](const std::vector<float>& at, float rate) {
    executor.load(at);
    executor.seed_dropout({.seed = 8});
    fill_batch(executor, kBatch, 2);
    return executor.train(kBatch, {.learning_rate = rate}).loss_sum / kBatch;
  };
  run(flat, 1);
  std::vector<float> stepped(network->size());
  executor.store(stepped);
  for (const ParameterTensor& tensor : network->tensors()) {
    double norm = 0;
    std::vector<float> ahead = flat, behind = flat;
    const auto slope = [&](std::size_t i) { return double{flat[i]} - stepped[i]; };
    for (std::size_t i = 0; i < tensor.range.size; ++i) norm += std::pow(slope(tensor.range.offset + i), 2);
    norm = std::sqrt(norm);
    for (std::size_t i = tensor.range.offset; i < tensor.range.offset + tensor.range.size; ++i) {
      const auto by = static_cast<float>(2e-3 * slope(i) / norm);
      ahead[i] += by;
      behind[i] -= by;
    }
    EXPECT_NEAR((run(ahead, 0) - run(behind, 0)) / 4e-3, norm, 0.02 * norm + 3e-4) << tensor.name;
  }
}

}  // namespace
}  // namespace muster
