// Random lists of layers: those that fit train, keep their parameters and agree between instruction sets; those that do
// not give an error; garbage gives an error.
#include <cmath>

#include "model/gradient_check.h"
#include "model/own_network.h"

namespace muster {
namespace {

class RandomList {
 public:
  explicit RandomList(std::uint32_t seed) : stream_(test_stream(seed)) {}

  LayerList list(Shape shape, int depth = 0) {
    LayerList items;
    if (depth == 0 && shape.channels == 1 && stream_.below(4) == 0)
      items.push_back({fmt::format("embedding {} {}", 2 + below(9), 1 + below(20))});
    const std::uint32_t count = 1 + stream_.below(depth == 0 ? 6 : 3);
    for (std::uint32_t i = 0; i < count; ++i) items.push_back(item(depth));
    return items;
  }

  Shape shape() {
    switch (below(3)) {
      case 0:
        return {1, 1, 1 + below(20)};
      case 1:
        return {1, 2 + below(8), 1 + below(3)};
      default:
        return {3 + below(8), 3 + below(8), 1 + below(3)};
    }
  }
  std::uint32_t below(std::uint32_t bound) { return stream_.below(bound); }

 private:
  LayerItem item(int depth) {
    const std::uint32_t width = 1 + below(20);
    const std::uint32_t size = 1 + below(3);
    switch (below(depth < 2 ? 17 : 15)) {
      case 0:
        return {fmt::format("dense {}", width)};
      case 1:
        return {fmt::format("conv {} {}", width, size)};
      case 2:
        return {fmt::format("conv {} {}x{} stride {} pad same", width, size, 1 + below(4), 1 + below(2))};
      case 3:
        return {fmt::format("conv {} 3 pad {} no-bias", width, below(3))};
      case 4:
        return {fmt::format("max-pool {}", size)};
      case 5:
        return {fmt::format("mean-pool {} stride {}", size, 1 + below(3))};
      case 6:
        return {"global-mean"};
      case 7:
        return {"relu"};
      case 8:
        return {"tanh"};
      case 9:
        return {"gelu"};
      case 10:
        return {"batch-norm"};
      case 11:
        return {below(2) == 0 ? "group-norm 1" : "layer-norm"};
      case 12:
        return {"dropout 0.25"};
      case 13:
        return {fmt::format("lstm {}{}", width, below(2) == 0 ? " sequence" : "")};
      case 14:
        return {fmt::format("gru {}{}", width, below(2) == 0 ? " sequence" : "")};
      default:
        return {below(2) == 0 ? "residual" : "residual padded", list({2, 2, 2}, depth + 1)};
    }
  }

  Stream stream_;
};

TEST(RandomLayersTest, WhatFitsTrainsAndRoundTrips) {
  int fitted = 0;
  for (std::uint32_t seed = 1; seed <= 600; ++seed) {
    RandomList random(seed);
    const Shape shape = random.shape();
    const LayerList list = random.list(shape);
    auto made = make_network({.name = "layers", .layers = list}, shape, 3);
    if (!made) {
      EXPECT_EQ(made.error().code, ErrorCode::kUsage);
      EXPECT_THAT(made.error().message, ::testing::StartsWith("model.layers["));
      continue;
    }
    ++fitted;
    const std::shared_ptr<const Network> network = *made;
    SCOPED_TRACE(::testing::Message() << "seed " << seed << "\n" << describe_network(*network));
    const std::vector<float> flat = random_parameters(*network, seed);
    std::vector<float> reference;
    for (const Isa isa : available_isas()) {
      const UseIsa use(isa);
      Executor executor(network, 9);
      executor.load(flat);
      std::vector<float> stored(network->size());
      executor.store(stored);
      ASSERT_EQ(stored, flat);
      executor.seed_dropout({.seed = seed});
      for (const std::uint32_t batch : {9u, 2u}) {
        fill_batch(executor, batch, batch);
        ASSERT_TRUE(std::isfinite(executor.train(batch, {.learning_rate = 1e-3f}).loss_sum));
        ASSERT_TRUE(std::isfinite(executor.evaluate(batch).loss_sum));
      }
      executor.store(stored);
      if (reference.empty()) reference = stored;
      // Batch normalisation of few and nearly equal values magnifies rounding.
      for (std::size_t i = 0; i < stored.size(); ++i)
        ASSERT_NEAR(stored[i], reference[i], 2e-3) << name(isa) << " " << i;
    }
  }
  EXPECT_GT(fitted, 200);
}

TEST(RandomLayersTest, Gradients) {
  int checked = 0;
  for (std::uint32_t seed = 1001; checked < 40; ++seed) {
    RandomList random(seed);
    const Shape shape = random.shape();
    LayerList list = random.list(shape);
    // Corners of ReLU and max-pooling are what differences cannot see; both have tests of their own.
    const auto smooth = [](const auto& self, LayerList& items) -> void {
      for (LayerItem& item : items) {
        if (item.words == "relu") item.words = "tanh";
        if (item.words.starts_with("max-pool")) item.words.replace(0, 3, "mean");
        if (item.words == "batch-norm") item.words = "group-norm 1";
        self(self, item.inside);
      }
    };
    smooth(smooth, list);
    auto made = make_network({.name = "layers", .layers = list}, shape, 3);
    if (!made) continue;
    SCOPED_TRACE(::testing::Message() << "seed " << seed << "\n" << describe_network(**made));
    check_gradient(*made, 5, 1e-3, 5e-2);
    ++checked;
  }
}

TEST(RandomLayersTest, GarbageIsRefused) {
  const std::vector<std::string> words = {"conv", "dense",  "3",   "0",    "-1",       "x",
                                          "3x3",  "stride", "pad", "same", "as",       "1.5",
                                          "relu", "lstm",   "nan", "\t",   "residual", "4294967296"};
  Stream stream = test_stream(5);
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string text;
    const std::uint32_t count = stream.below(6);
    for (std::uint32_t w = 0; w < count; ++w)
      text += words[stream.below(static_cast<std::uint32_t>(words.size()))] + " ";
    const auto made = make_network({.name = "layers", .layers = LayerList{{text}}}, {8, 8, 2}, 3);
    if (made.ok()) continue;
    ++refused;
    EXPECT_EQ(made.error().message.find('\n'), std::string::npos);
  }
  EXPECT_GT(refused, 2000);
}

}  // namespace
}  // namespace muster
