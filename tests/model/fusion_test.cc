// Fusion: where it stands in every network, that it starts as the network without it, its formulas in training and in
// evaluation, and its gradients.
#include <cmath>

#include "model/gradient_check.h"
#include "model/own_network.h"

namespace muster {
namespace {

constexpr Fusion kFusions[] = {Fusion::kConv, Fusion::kMulti, Fusion::kSingle};

// The words of the layers around the fusion, in the order of the network: "relu, fusion conv, dense 10".
std::string around(const ModelOptions& options, Shape input, std::uint32_t classes = 10) {
  const auto network = make_network(options, input, classes, Fusion::kConv);
  if (!network) return network.error().message;
  const auto faces = (*network)->description();
  for (std::size_t i = 1; i < faces.size(); ++i) {
    if (faces[i].spec.kind != LayerKind::kFusion) continue;
    EXPECT_EQ(faces[i].input, faces[i].output);
    return fmt::format("{}, {}, {}", faces[i - 1].spec.words, faces[i].spec.words, faces[i + 1].spec.words);
  }
  return "none";
}

TEST(Fusion, StandsBeforeTheFirstDenseLayerOfTheClassifier) {
  EXPECT_EQ(around({.name = "cnn"}, {28, 28, 1}), "max-pool 2x2, fusion conv, dense 10");
  EXPECT_EQ(around({.name = "cnn", .hidden = {30, 20}}, {28, 28, 1}), "max-pool 2x2, fusion conv, dense 30");
  EXPECT_EQ(around({.name = "lenet5"}, {32, 32, 3}), "max-pool 2x2, fusion conv, dense 384");
  EXPECT_EQ(around({.name = "femnist-cnn"}, {28, 28, 1}), "max-pool 2x2, fusion conv, dense 2048");
  EXPECT_EQ(around({.name = "resnet"}, {32, 32, 3}), "global-mean, fusion conv, dense 10");
  EXPECT_EQ(around({.name = "audio-cnn"}, {1, 8000, 1}), "global-mean, fusion conv, dense 10");
  EXPECT_EQ(around({.name = "lstm"}, {1, 9, 5}, 2), "lstm 100, fusion conv, dense 30");
  // All dense: before the last one.
  EXPECT_EQ(around({.name = "mlp", .hidden = {9, 8}}, {1, 1, 5}), "relu, fusion conv, dense 10");
  EXPECT_EQ(around(own({{"conv 4 3"}, {"dropout 0.5"}, {"dense 7"}, {"tanh"}, {"dense 6"}}), {9, 9, 1}),
            "dropout 0.5, fusion conv, dense 7");
  // A normalisation has parameters and is not dense: the classifier begins behind it.
  EXPECT_EQ(around(own({{"conv 4 3"}, {"dense 7"}, {"layer-norm"}, {"relu"}}), {9, 9, 1}),
            "relu, fusion conv, dense 10");
  EXPECT_EQ(around(own({{"relu"}, {"dense 7"}}), {9, 9, 1}), "dense 7, fusion conv, dense 10");
}

TEST(Fusion, NeedsFeatures) {
  const std::string sentence =
      "local.objective: \"fusion\" joins features, and model.name = \"{}\" has none: nothing is trained before its "
      "last layer; want another network, such as \"cnn\" or \"mlp\"";
  EXPECT_EQ(around({.name = "softmax"}, {28, 28, 1}), fmt::format(fmt::runtime(sentence), "softmax"));
  EXPECT_EQ(around(own({{"dropout 0.2"}, {"max-pool 2"}}), {28, 28, 1}), fmt::format(fmt::runtime(sentence), "layers"));
  // Known before there is data.
  EXPECT_FALSE(check_model({.name = "softmax"}, Fusion::kMulti).ok());
  EXPECT_FALSE(check_model(own({{"relu"}}), Fusion::kMulti).ok());
  EXPECT_TRUE(check_model(own({{"dense 3"}}), Fusion::kMulti).ok());
  EXPECT_TRUE(check_model({.name = "softmax"}).ok());
}

TEST(Fusion, ChangesTheNumberOfParameters) {
  const ModelOptions options{.name = "cnn", .channels = {6, 16}};
  const Shape input{28, 28, 1};
  const auto plain = *make_network(options, input, 10);
  EXPECT_FALSE(plain->fuses());
  EXPECT_EQ(plain->fused_macs(), 0u);
  const std::size_t more[] = {2 * 16 * 16, 16, 1};
  for (const Fusion fusion : kFusions) {
    const auto network = *make_network(options, input, 10, fusion);
    EXPECT_TRUE(network->fuses());
    EXPECT_EQ(network->parameters(), plain->parameters() + more[static_cast<int>(fusion)]);
    EXPECT_EQ(network->fusion().size, more[static_cast<int>(fusion)]);
    EXPECT_EQ(network->classifier().size, plain->classifier().size);
    EXPECT_EQ(network->fusion().offset, plain->features().size);
    EXPECT_LT(network->fused_macs(), plain->forward_macs());
    EXPECT_GT(network->fused_macs(), 0u);
  }
}

// The flat vector of the network without the fusion.
std::vector<float> without_fusion(const Network& network, std::vector<float> flat) {
  const ParameterRange range = network.fusion();
  const auto begin = flat.begin() + static_cast<std::ptrdiff_t>(range.offset);
  flat.erase(begin, begin + static_cast<std::ptrdiff_t>(range.size));
  return flat;
}

std::vector<float> initial(const Network& network) {
  std::vector<float> flat(network.size());
  Stream stream = test_stream(5);
  network.initialise(flat, stream);
  return flat;
}

struct Pair {
  ModelOptions options;
  Shape input;
  std::uint32_t classes = 3;
};
const Pair kPairs[] = {
    {{.name = "cnn", .hidden = {7}, .channels = {6, 10}}, {20, 18, 2}},
    {own({{"conv 17 5 pad same"}, {"relu"}, {"max-pool 2"}, {"dense 9"}, {"relu"}}), {8, 8, 1}},
    {{.name = "resnet", .blocks = 1, .widths = {8, 12}}, {8, 8, 3}},
    {{.name = "lstm", .units = 10}, {1, 5, 4}, 2},
    {own({{"conv 5 3"}, {"tanh"}, {"dropout 0.3"}, {"dense 7"}, {"relu"}}), {9, 9, 2}},
};

// Same start, same first step in everything but the fusion, and as long as the shares stay zero the same steps.
TEST(Fusion, StartsAsTheNetworkWithoutItBitForBit) {
  constexpr std::uint32_t kBatch = 17;
  for (const Pair& pair : kPairs) {
    SCOPED_TRACE(pair.options.name);
    const auto plain = *make_network(pair.options, pair.input, pair.classes);
    for (const Fusion fusion : kFusions) {
      const auto network = *make_network(pair.options, pair.input, pair.classes, fusion);
      const std::vector<float> start = initial(*network);
      EXPECT_EQ(without_fusion(*network, start), initial(*plain));
      Executor one(plain, kBatch);
      Executor two(network, kBatch);
      one.load(initial(*plain));
      two.load(start);
      two.freeze();
      one.seed_dropout({.seed = 2});
      two.seed_dropout({.seed = 2});
      const int steps = fusion == Fusion::kConv ? 1 : 3;
      for (int step = 0; step < steps; ++step) {
        const std::uint32_t batch = step == 1 ? 5 : kBatch;
        fill_batch(one, batch, 7);
        fill_batch(two, batch, 7);
        const double loss = one.train(batch, {.learning_rate = 0.1f}).loss_sum;
        EXPECT_EQ(two.train(batch, {.learning_rate = 0.1f}).loss_sum, loss);
        std::vector<float> after = stored(two);
        EXPECT_EQ(without_fusion(*network, after), stored(one)) << step;
        // Hold the shares at zero.
        if (fusion == Fusion::kConv) break;
        const ParameterRange range = network->fusion();
        std::fill_n(after.begin() + static_cast<std::ptrdiff_t>(range.offset), range.size, 0.0f);
        two.load(after);
        EXPECT_EQ(two.evaluate(batch).loss_sum, one.evaluate(batch).loss_sum);
      }
    }
  }
}

// Three inputs, one dense layer, a fusion, and the identity: the logits are the fused features.
TEST(Fusion, FollowsItsFormula) {
  for (const Fusion fusion : kFusions) {
    const auto network = *make_network(own({{"dense 3"}}), {1, 1, 3}, 3, fusion);
    std::vector<float> received = random_parameters(*network, 1);
    std::vector<float> trained = random_parameters(*network, 2);
    pass_through(*network, received);
    pass_through(*network, trained);
    const ParameterRange range = network->fusion();
    Stream stream = test_stream(3);
    for (std::size_t i = 0; i < range.size; ++i) trained[range.offset + i] = static_cast<float>(stream.normal());
    const std::vector<float> row{0.5f, -1.0f, 2.0f};
    const auto features = [&](const std::vector<float>& flat) {
      std::vector<double> values(3);
      for (std::size_t o = 0; o < 3; ++o) {
        values[o] = flat[9 + o];
        for (std::size_t i = 0; i < 3; ++i) values[o] += double{row[i]} * flat[i * 3 + o];
      }
      return values;
    };
    const float* weight = trained.data() + range.offset;
    const auto fused = [&](const std::vector<double>& local, const std::vector<double>& global) {
      std::vector<double> values(3);
      for (std::size_t o = 0; o < 3; ++o) {
        if (fusion == Fusion::kConv) {
          for (std::size_t i = 0; i < 3; ++i) {
            values[o] += local[i] * weight[i * 3 + o] + global[i] * weight[(3 + i) * 3 + o];
          }
        } else {
          const double share = weight[fusion == Fusion::kSingle ? 0 : o];
          values[o] = share * global[o] + (1 - share) * local[o];
        }
      }
      return values;
    };
    const auto loss = [](const std::vector<double>& logits) {
      return std::log(std::exp(logits[0]) + std::exp(logits[1]) + std::exp(logits[2])) - logits[0];
    };
    Executor executor(network, 1);
    executor.load(received);
    executor.freeze();
    executor.load(trained);
    std::copy(row.begin(), row.end(), executor.input(1));
    executor.labels(1)[0] = 0;
    std::vector<float> unused(network->parameters());
    EXPECT_NEAR(executor.gradient(1, unused).loss_sum, loss(fused(features(trained), features(received))), 1e-5);
    // Outside training the one extractor takes both places.
    EXPECT_NEAR(executor.evaluate(1).loss_sum, loss(fused(features(trained), features(trained))), 1e-5);
  }
}

TEST(Fusion, Gradients) {
  for (const Fusion fusion : kFusions) {
    SCOPED_TRACE(static_cast<int>(fusion));
    check_gradient_everywhere(
        *make_network({.name = "cnn", .hidden = {7}, .channels = {5, 6}, .kernel = 3}, {12, 12, 2}, 4, fusion),
        {1, 5, 17});
    check_gradient_everywhere(*make_network({.name = "mlp", .hidden = {9, 18}}, {1, 1, 5}, 4, fusion), {3, 16});
    check_gradient_everywhere(*make_network({.name = "lstm", .units = 9}, {1, 4, 5}, 2, fusion), {4});
  }
}

// A batch that is trained in parts: each part meets its own frozen features.
TEST(Fusion, PartsOfABatchAddUp) {
  constexpr std::uint32_t kBatch = 70;
  const auto network =
      *make_network(own({{"conv 16 3 pad same"}, {"conv 16 3 pad same"}}), {64, 64, 1}, 2, Fusion::kMulti);
  const std::vector<float> flat = random_parameters(*network, 1);
  const auto gradient = [&](Executor& executor, std::uint32_t at, std::uint32_t count) {
    Executor source(network, kBatch);
    fill_batch(source, kBatch, 3);
    const std::size_t size = network->input().size();
    std::copy_n(source.input(kBatch) + at * size, count * size, executor.input(count));
    std::copy_n(source.labels(kBatch) + at, count, executor.labels(count));
    std::vector<float> out(network->parameters());
    executor.gradient(count, out);
    return out;
  };
  Executor executor(network, kBatch);
  executor.load(random_parameters(*network, 2));
  executor.freeze();
  executor.load(flat);
  const std::vector<float> whole = gradient(executor, 0, kBatch);
  const std::vector<float> first = gradient(executor, 0, 35);
  const std::vector<float> second = gradient(executor, 35, 35);
  const ParameterRange range = network->fusion();
  for (std::size_t i = range.offset; i < range.offset + range.size; ++i) {
    EXPECT_NEAR(whole[i], (first[i] + second[i]) / 2, 1e-4 * (1 + std::abs(whole[i]))) << i;
  }
}

TEST(FusionDeathTest, TrainsOnlyBesideAFrozenCopy) {
  const auto network = *make_network({.name = "mlp"}, {1, 1, 5}, 4, Fusion::kMulti);
  Executor executor(network, 2);
  executor.load(random_parameters(*network, 1));
  fill_batch(executor, 2, 1);
  EXPECT_DEATH(executor.train(2, {}), "without a frozen copy");
}

}  // namespace
}  // namespace muster
