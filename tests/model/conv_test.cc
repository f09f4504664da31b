#include "model/layers/conv.h"

#include <algorithm>
#include <cmath>

#include "model/gradient_check.h"
#include "model/layers.h"

namespace muster {
namespace {

constexpr Shape kImage{9, 8, 3};

TEST(ConvTest, ShapesAndCounts) {
  const ConvOptions valid{.channels = 6, .kernel = {5, 5}, .pool = {2, 2}};
  EXPECT_EQ(conv_output({32, 32, 3}, valid), (Shape{14, 14, 6}));
  EXPECT_EQ(conv_output({4, 32, 3}, valid).size(), 0u);
  const ConvOptions same{.channels = 7, .kernel = {4, 3}, .padding = same_padding({4, 3})};
  EXPECT_EQ(conv_output({10, 11, 2}, same), (Shape{10, 11, 7}));
  const ConvOptions strided{.channels = 32, .kernel = {1, 80}, .stride = 16};
  EXPECT_EQ(conv_output({1, 8000, 1}, strided), (Shape{1, 496, 32}));
  const auto layer = make_conv("c", {32, 32, 3}, valid);
  EXPECT_EQ(layer->forward_macs(), 28u * 28 * 75 * 6);
  EXPECT_EQ(layer->tensors().at(0).size() + layer->tensors().at(1).size(), 456u);
}

TEST(ConvTest, ParametersSurviveTheirPacking) {
  const auto layer = make_conv("c", kImage, {.channels = 5, .kernel = {3, 2}, .norm = Norm::kBatch});
  const std::size_t count = 3 * 2 * 3 * 5 + 3 * 5;
  std::vector<float> flat(count), back(count), packed(layer->packed_size(), 9.0f);
  for (std::size_t i = 0; i < count; ++i) flat[i] = static_cast<float>(i + 1);
  layer->pack(flat.data(), packed.data());
  layer->unpack(packed.data(), back.data());
  EXPECT_EQ(back, flat);
  EXPECT_EQ(std::count(packed.begin(), packed.end(), 0.0f), static_cast<std::ptrdiff_t>(packed.size() - count));
}

TEST(ConvTest, GradientOfPlainUnits) {
  const ConvOptions plain{.channels = 5, .kernel = {3, 3}, .relu = false};
  check_gradient_everywhere(classify(kImage, 3, make_conv("c", kImage, plain)), {1, 5});
  const ConvOptions pooled{.channels = 20, .kernel = {3, 2}, .pool = {2, 3}};
  check_gradient_everywhere(classify(kImage, 3, make_conv("c", kImage, pooled)), {1, 6});
  const ConvOptions same{.channels = 16, .kernel = {5, 3}, .padding = same_padding({5, 3}), .bias = false};
  check_gradient_everywhere(classify(kImage, 3, make_conv("c", kImage, same)), {1, 5});
}

TEST(ConvTest, GradientThroughTwoUnits) {
  for (const std::uint32_t stride : {1u, 2u}) {
    for (const std::uint32_t channels : {16u, 11u}) {
      const ConvOptions first{.channels = channels, .kernel = {3, 3}, .padding = same_padding({3, 3}), .pool = {1, 1}};
      const ConvOptions second{
          .channels = 12, .kernel = {3, 3}, .stride = stride, .padding = same_padding({3, 3}), .pool = {2, 2}};
      auto a = make_conv("a", kImage, first);
      auto b = make_conv("b", a->output(), second);
      check_gradient_everywhere(classify(kImage, 3, std::move(a), std::move(b)), {4});
    }
  }
}

TEST(ConvTest, GradientOfLanes) {
  for (const std::uint32_t kernel : {2u, 3u, 5u}) {
    const Shape image{15, 13, 2};
    const ConvOptions first{.channels = 7, .kernel = {kernel, kernel}, .pool = {2, 2}, .lanes = Lanes::kOften};
    ConvOptions second{.channels = 9, .kernel = {2, 3}, .lanes = Lanes::kOften};
    auto a = make_conv("a", image, first);
    auto b = make_conv("b", a->output(), second);
    check_gradient_everywhere(classify(image, 3, std::move(a), std::move(b)), {8, 17, 3});
  }
}

TEST(ConvTest, LanesAndChannelsAgree) {
  const Shape image{14, 12, 3};
  std::vector<float> results[3];
  for (const Lanes lanes : {Lanes::kNever, Lanes::kFilled, Lanes::kOften}) {
    const ConvOptions options{.channels = 16, .kernel = {5, 5}, .pool = {2, 2}, .lanes = lanes};
    const auto network = classify(image, 4, make_conv("c", image, options));
    Executor executor(network, 36);
    executor.load(random_parameters(*network, 5));
    for (const std::uint32_t batch : {36u, 9u, 3u, 36u}) {
      fill_batch(executor, batch, batch);
      executor.train(batch, {.learning_rate = 0.05f});
    }
    std::vector<float>& result = results[static_cast<int>(lanes)];
    result.resize(network->size());
    executor.store(result);
  }
  for (std::size_t i = 0; i < results[0].size(); ++i) {
    EXPECT_NEAR(results[0][i], results[1][i], 1e-5) << i;
    EXPECT_NEAR(results[0][i], results[2][i], 1e-5) << i;
  }
}

TEST(ConvTest, GradientOfNormalisedUnits) {
  for (const Norm norm : {Norm::kBatch, Norm::kGroup}) {
    for (const Extent pool : {Extent{1, 1}, Extent{2, 2}}) {
      const ConvOptions options{.channels = 6, .kernel = {3, 3}, .norm = norm, .groups = 3, .pool = pool};
      auto a = make_conv("a", kImage, options);
      auto b = make_conv("b", a->output(),
                         {.channels = 18, .kernel = {3, 3}, .padding = same_padding({3, 3}), .norm = norm});
      check_gradient_everywhere(classify(kImage, 3, std::move(a), std::move(b)), {2, 5}, 1e-3, 4e-2);
    }
  }
}

TEST(ConvTest, GradientOnWaveforms) {
  const Shape wave{1, 400, 1};
  auto a = make_conv("a", wave, {.channels = 8, .kernel = {1, 80}, .stride = 16, .norm = Norm::kBatch, .pool = {1, 4}});
  auto b = make_conv("b", a->output(), {.channels = 5, .kernel = {1, 3}});
  check_gradient_everywhere(classify(wave, 3, std::move(a), std::move(b)), {4}, 1e-3, 4e-2);
}

TEST(ConvTest, BatchNormalisationByHand) {
  // A 1 x 1 convolution with weight 1: values 1, 2, 3, 6 over two images of two pixels; mean 3, variance 3.5, unbiased
  // 14/3. The dense layer adds the two normalised pixels' rectified values up.
  const Shape image{1, 2, 1};
  const auto network =
      classify(image, 2, make_conv("c", image, {.channels = 1, .bias = false, .norm = Norm::kBatch, .relu = false}));
  ASSERT_EQ(network->parameters(), 1u + 2 + 4 + 2);
  ASSERT_EQ(network->size(), network->parameters() + 2);
  // weight; scale, shift; dense [2][2] picks each pixel; bias; mean, variance.
  const std::vector<float> flat{1, 2, 0.5f, 1, 0, 0, 1, 0, 0, 0, 1};
  Executor executor(network, 2);
  executor.load(flat);
  const auto give = [&] {
    const float values[] = {1, 2, 3, 6};
    std::copy(values, values + 4, executor.input(2));
    executor.labels(2)[0] = executor.labels(2)[1] = 0;
  };
  give();
  std::vector<float> gradient(network->parameters());
  executor.gradient(2, gradient);
  std::vector<float> stored(network->size());
  executor.store(stored);
  EXPECT_EQ(stored, flat) << "a gradient must not move the statistics";
  give();
  executor.train(2, {.learning_rate = 0});
  executor.store(stored);
  EXPECT_NEAR(stored[9], 0.1 * 3, 1e-6);
  EXPECT_NEAR(stored[10], 0.9 + 0.1 * 14.0 / 3, 1e-6);
  // Evaluation uses the running statistics.
  give();
  executor.evaluate(2);
  std::vector<float> logits(4);
  executor.logits(2, logits);
  const double spread = std::sqrt(0.9 + 1.4 / 3 + 1e-5);
  const double values[] = {1, 2, 3, 6};
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(logits[std::size_t(i)], 2 * (values[i] - 0.3) / spread + 0.5, 1e-5);
}

TEST(ConvTest, StepsRepeatBitByBit) {
  const ConvOptions options{.channels = 10, .kernel = {3, 3}, .norm = Norm::kGroup, .pool = {2, 2}};
  const auto network = classify(kImage, 3, make_conv("c", kImage, options));
  std::vector<float> results[2];
  for (std::vector<float>& result : results) {
    Executor executor(network, 7);
    executor.load(random_parameters(*network, 5));
    for (const std::uint32_t batch : {7u, 3u, 7u}) {
      fill_batch(executor, batch, batch);
      executor.train(batch, {.learning_rate = 0.05f, .pull = 0.1f});
    }
    result.resize(network->size());
    executor.store(result);
  }
  EXPECT_EQ(results[0], results[1]);
}

}  // namespace
}  // namespace muster
