// The layers that only lists use: gradients in every instruction set, known answers in double, and equality with the
// fused layers where there are both.
#include <cmath>

#include "model/gradient_check.h"
#include "model/own_network.h"

namespace muster {
namespace {

TEST(OwnLayersTest, GradientsOfActivations) {
  for (const char* curve : {"relu", "tanh", "gelu"}) {
    SCOPED_TRACE(curve);
    // As rows, as channels, and with padding in both.
    check_gradient_everywhere(own_network({{"dense 21"}, {curve}, {"dropout 0"}, {"dense 5"}}, {1, 1, 7}), {1, 5});
    check_gradient_everywhere(own_network({{"conv 5 3"}, {curve}, {"conv 18 2"}, {curve}, {"global-mean"}}, {6, 5, 2}),
                              {3});
  }
}

TEST(OwnLayersTest, GradientsOfNormalisations) {
  for (const char* norm : {"batch-norm", "group-norm 3", "layer-norm"}) {
    SCOPED_TRACE(norm);
    check_gradient_everywhere(own_network({{"dense 21"}, {norm}, {"tanh"}}, {1, 1, 7}), {4, 9}, 1e-3, 4e-2);
    check_gradient_everywhere(
        own_network({{"conv 18 3"}, {"tanh"}, {norm}, {"conv 6 3 pad same"}, {"tanh"}, {norm}}, {6, 5, 2}), {3}, 1e-3,
        4e-2);
    check_gradient_everywhere(own_network({{norm}, {"dense 5"}, {"tanh"}}, {3, 2, 6}), {4}, 1e-3, 4e-2);
  }
}

TEST(OwnLayersTest, GradientsOfPools) {
  check_gradient_everywhere(own_network({{"tanh"}, {"conv 5 3"}, {"tanh"}, {"max-pool 3 stride 2"}}, {9, 8, 2}), {3});
  check_gradient_everywhere(
      own_network({{"conv 18 3"}, {"tanh"}, {"mean-pool 2x3 stride 1x2"}, {"conv 3 2"}}, {9, 8, 2}), {3});
  // Samples in the lanes, with windows other than 2 x 2.
  check_gradient_everywhere(own_network({{"conv 5 3"}, {"relu"}, {"max-pool 3x2"}, {"tanh"}}, {12, 9, 2}), {9});
}

TEST(OwnLayersTest, GradientsOfResiduals) {
  const Shape image{6, 7, 3};
  for (const char* shortcut : {"residual", "residual padded"}) {
    SCOPED_TRACE(shortcut);
    check_gradient_everywhere(
        own_network({{"conv 5 1"}, {shortcut, {{"conv 18 3 stride 2 pad same"}, {"tanh"}}}, {"tanh"}}, image), {3});
  }
  check_gradient_everywhere(own_network({{"residual", {{"conv 8 3 pad same"}, {"batch-norm"}}}, {"gelu"}}, image), {4},
                            1e-3, 4e-2);
  check_gradient_everywhere(
      own_network({{"conv 8 1"},
                   {"residual", {{"conv 8 3 pad same"}, {"tanh"}, {"residual", {{"gelu"}, {"conv 8 3 pad same"}}}}}},
                  image),
      {3});
  // Around dense and recurrent layers.
  check_gradient_everywhere(
      own_network({{"dense 9"}, {"residual", {{"tanh"}, {"dense 9"}}}, {"residual", {{"dense 4"}, {"tanh"}}}},
                  {1, 1, 5}),
      {4});
  check_gradient_everywhere(
      own_network({{"lstm 6 sequence"}, {"residual", {{"gru 6 sequence"}}}, {"layer-norm"}}, {1, 5, 4}), {4});
}

TEST(OwnLayersTest, GradientsOfRecurrentLayers) {
  check_gradient_everywhere(own_network({{"gru 20 sequence"}, {"gru 9"}}, {1, 5, 7}), {1, 3, 10, 17});
  check_gradient_everywhere(own_network({{"gru 33"}}, {1, 1, 6}), {2});
  check_gradient_everywhere(
      own_network({{"lstm 5 sequence"}, {"tanh"}, {"lstm 6 sequence"}, {"conv 4 3 pad same"}, {"gelu"}, {"gru 5"}},
                  {1, 6, 4}),
      {1, 4});
  check_gradient_everywhere(
      own_network({{"gru 7 sequence"}, {"conv 9 2"}, {"max-pool 2"}, {"lstm 5 sequence"}}, {1, 6, 4}), {3});
}

TEST(OwnLayersTest, GradientsOfEmbeddings) {
  check_gradient_everywhere(own_network({{"embedding 7 20"}, {"lstm 9 sequence"}, {"lstm 6"}}, {1, 6, 1}), {1, 5});
  check_gradient_everywhere(own_network({{"embedding 3 5"}}, {1, 4, 1}), {2});
  check_gradient_everywhere(
      own_network({{"embedding 7 5"}, {"conv 4 3 pad same"}, {"tanh"}, {"global-mean"}}, {1, 6, 1}), {3});
}

TEST(OwnLayersTest, EmbeddingReadsRowsAndNeverBeyond) {
  constexpr std::uint32_t kIds = 5, kDimension = 3;
  const auto network = own_network({{"embedding 5 3"}}, {1, 1, 1}, kDimension);
  std::vector<float> flat = random_parameters(*network, 1);
  pass_through(*network, flat);
  const std::span<const float> table = tensor_of(*network, flat, "embedding1.weight");
  Executor executor(network, 16);
  executor.load(flat);
  const std::vector<float> ids = {0, 4, 2, 5, -1, 1e30f, std::nanf(""), 3.9f};
  const std::vector<std::size_t> rows = {0, 4, 2, 0, 0, 0, 0, 3};
  const std::vector<float> out = outputs_for(executor, ids);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    for (std::size_t d = 0; d < kDimension; ++d)
      EXPECT_EQ(out[i * kDimension + d], table[rows[i] * kDimension + d]) << ids[i];
  }
  // And only rows that were read are stepped.
  executor.input(1)[0] = 1;
  executor.labels(1)[0] = 0;
  executor.train(1, {.learning_rate = 0.1f});
  std::vector<float> after(network->size());
  executor.store(after);
  const std::span<const float> stepped = tensor_of(*network, after, "embedding1.weight");
  for (std::size_t i = 0; i < kIds * kDimension; ++i) EXPECT_EQ(stepped[i] == table[i], i / kDimension != 1) << i;
}

TEST(OwnLayersTest, CurvesAreThoseOfTheTextbook) {
  std::vector<float> inputs;
  for (int i = -40; i <= 40; ++i) inputs.push_back(0.2f * static_cast<float>(i));
  const std::size_t size = inputs.size();
  const auto curve = [&](const char* name) {
    const auto network =
        own_network({{name}}, {1, 1, static_cast<std::uint32_t>(size)}, static_cast<std::uint32_t>(size));
    std::vector<float> flat(network->size());
    pass_through(*network, flat);
    Executor executor(network, 1);
    executor.load(flat);
    return outputs_for(executor, inputs);
  };
  for (const Isa isa : available_isas()) {
    const UseIsa use(isa);
    const std::vector<float> gelu = curve("gelu"), tanh = curve("tanh"), relu = curve("relu");
    for (std::size_t i = 0; i < size; ++i) {
      const double x = inputs[i];
      EXPECT_NEAR(gelu[i], x * 0.5 * (1 + std::erf(x / std::sqrt(2.0))), 1e-6) << x;
      EXPECT_NEAR(tanh[i], std::tanh(x), 1e-6) << x;
      EXPECT_EQ(relu[i], std::max(inputs[i], 0.0f));
    }
  }
}

TEST(OwnLayersTest, LayerNormIsOverTheChannelsOfAPixel) {
  const Shape shape{1, 2, 5};
  const auto network = own_network({{"layer-norm"}}, shape, 10);
  std::vector<float> flat = random_parameters(*network, 3);
  pass_through(*network, flat);
  const auto scale = tensor_of(*network, flat, "norm1.scale"), shift = tensor_of(*network, flat, "norm1.shift");
  const std::vector<float> inputs = {1, 2, 4, -3, 0.5f, 100, 101, 99, 100, 103};
  Executor executor(network, 2);
  executor.load(flat);
  const std::vector<float> out = outputs_for(executor, inputs);
  for (std::size_t pixel = 0; pixel < 2; ++pixel) {
    double mean = 0, variance = 0;
    for (std::size_t c = 0; c < 5; ++c) mean += inputs[pixel * 5 + c] / 5.0;
    for (std::size_t c = 0; c < 5; ++c) variance += std::pow(inputs[pixel * 5 + c] - mean, 2) / 5;
    for (std::size_t c = 0; c < 5; ++c) {
      const double want = scale[c] * (inputs[pixel * 5 + c] - mean) / std::sqrt(variance + 1e-5) + shift[c];
      EXPECT_NEAR(out[pixel * 5 + c], want, 1e-4);
    }
  }
}

TEST(OwnLayersTest, BatchNormUsesRunningStatisticsInEvaluation) {
  const auto network = own_network({{"batch-norm"}}, {1, 1, 3}, 3);
  std::vector<float> flat = random_parameters(*network, 3);
  pass_through(*network, flat);
  for (std::size_t i = network->parameters(); i < network->size(); ++i) flat[i] = static_cast<float>(i);
  const auto value = [&](const char* name, std::size_t c) { return double{tensor_of(*network, flat, name)[c]}; };
  Executor executor(network, 2);
  executor.load(flat);
  const std::vector<float> inputs = {1, 2, 4, -3, 0.5f, 10};
  const std::vector<float> out = outputs_for(executor, inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::size_t c = i % 3;
    const double want =
        value("norm1.scale", c) * (inputs[i] - value("norm1.mean", c)) / std::sqrt(value("norm1.variance", c) + 1e-5) +
        value("norm1.shift", c);
    EXPECT_NEAR(out[i], want, 1e-4);
  }
}

TEST(OwnLayersTest, GruFollowsPyTorchsEquations) {
  constexpr std::size_t kWords = 4, kDimension = 3, kUnits = 5;
  const auto network = own_network({{"gru 5"}}, {1, kWords, kDimension}, kUnits);
  std::vector<float> flat = random_parameters(*network, 1);
  pass_through(*network, flat);
  const auto w = tensor_of(*network, flat, "gru1.input_weight"), u = tensor_of(*network, flat, "gru1.recurrent_weight"),
             b = tensor_of(*network, flat, "gru1.bias"), c = tensor_of(*network, flat, "gru1.recurrent_bias");
  std::vector<float> inputs;
  for (std::size_t i = 0; i < kWords * kDimension; ++i) inputs.push_back(std::sin(static_cast<float>(3 * i)));
  std::vector<double> h(kUnits, 0.0);
  for (std::size_t t = 0; t < kWords; ++t) {
    const auto input = [&](std::size_t gate) {
      double sum = b[gate];
      for (std::size_t d = 0; d < kDimension; ++d) sum += inputs[t * kDimension + d] * w[d * 3 * kUnits + gate];
      return sum;
    };
    const auto recurrent = [&](std::size_t gate) {
      double sum = 0;
      for (std::size_t j = 0; j < kUnits; ++j) sum += h[j] * u[j * 3 * kUnits + gate];
      return sum;
    };
    std::vector<double> next(kUnits);
    for (std::size_t i = 0; i < kUnits; ++i) {
      const double r = logistic(input(i) + recurrent(i));
      const double z = logistic(input(kUnits + i) + recurrent(kUnits + i));
      const double n = std::tanh(input(2 * kUnits + i) + r * (recurrent(2 * kUnits + i) + c[i]));
      next[i] = (1 - z) * n + z * h[i];
    }
    h = next;
  }
  for (const Isa isa : available_isas()) {
    const UseIsa use(isa);
    Executor executor(network, 3);
    executor.load(flat);
    const std::vector<float> out = outputs_for(executor, inputs);
    for (std::size_t i = 0; i < kUnits; ++i) EXPECT_NEAR(out[i], h[i], 1e-5);
  }
}

// Names of one's own keep neighbours from being merged: the same network, computed in other ways.
TEST(OwnLayersTest, MergedLayersComputeWhatSingleOnesDo) {
  const Shape image{8, 8, 3};
  const auto block = [](const char* first, const char* second, const char* norm) {
    return LayerList{
        {"conv 8 3 pad same"},
        {"relu"},
        {"residual", {{"conv 16 3 stride 2 pad same"}, {first}, {"relu"}, {"conv 16 3 pad same"}, {second}}},
        {"relu"},
        {norm},
        {"max-pool 2"}};
  };
  const auto merged = own_network(block("group-norm 2", "group-norm 2", "tanh"), image);
  const auto single = own_network(block("group-norm 2 as a", "group-norm 2 as b", "tanh"), image);
  ASSERT_EQ(merged->parameters(), single->parameters());
  // The shortcut has a normalisation in both; inside, the parameters come in the same order.
  const std::vector<float> flat = random_parameters(*merged, 4);
  std::vector<float> gradients[2];
  double loss[2];
  int i = 0;
  for (const auto& network : {merged, single}) {
    Executor executor(network, 6);
    executor.load(flat);
    fill_batch(executor, 6, 2);
    gradients[i].resize(network->parameters());
    loss[i] = executor.gradient(6, gradients[i]).loss_sum;
    ++i;
  }
  EXPECT_NEAR(loss[0], loss[1], 1e-4);
  for (std::size_t p = 0; p < flat.size(); ++p) EXPECT_NEAR(gradients[0][p], gradients[1][p], 1e-4) << p;
}

TEST(OwnLayersTest, CharacterModelLearns) {
  // The label is the last id but one: embedding and both recurrent layers must carry it.
  const auto network = own_network({{"embedding 6 8"}, {"lstm 16 sequence"}, {"lstm 16"}}, {1, 20, 1}, 6);
  Executor executor(network, 30);
  std::vector<float> flat(network->size());
  Stream init = test_stream(1);
  network->initialise(flat, init);
  executor.load(flat);
  Stream stream = test_stream(2);
  BatchResult last;
  for (int step = 0; step < 400; ++step) {
    float* ids = executor.input(30);
    for (std::uint32_t i = 0; i < 30; ++i) {
      for (std::uint32_t t = 0; t < 20; ++t) ids[i * 20 + t] = static_cast<float>(stream.below(6));
      executor.labels(30)[i] = static_cast<std::int32_t>(ids[i * 20 + 18]);
    }
    last = executor.train(30, {.optimizer = Optimizer::kAdam, .learning_rate = 0.01f});
  }
  EXPECT_GE(last.correct, 28u);
}

}  // namespace
}  // namespace muster
