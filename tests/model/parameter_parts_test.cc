// Which parameters a name means, on a network whose every tensor is known.
#include "model/parameter_parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Names = std::vector<std::string>;

ParameterRanges found(const Network& network, const Names& names) {
  auto ranges = parts_of(network, names, "local.personal");
  EXPECT_TRUE(ranges.ok()) << ranges.error().message;
  return ranges.ok() ? *ranges : ParameterRanges{};
}

// 3 inputs, 5 and 4 units, 2 classes: 15 + 5, 20 + 4, 8 + 2 parameters.
std::shared_ptr<const Network> small_mlp() {
  return make_network({.name = "mlp", .hidden = {5, 4}}, {1, 1, 3}, 2).value();
}

// A convolution, scale and shift of 4, a dense layer; mean and variance of 4 last.
std::shared_ptr<const Network> small_normalised() {
  const LayerList layers{{"conv 4 3 as first"}, {"batch-norm as bn"}, {"relu"}};
  return make_network({.name = "layers", .layers = layers}, {8, 8, 1}, 3).value();
}

TEST(ParameterParts, HeadAndBodyAreAllOfADenseNetwork) {
  const auto network = small_mlp();
  EXPECT_THAT(found(*network, {"head"}), ElementsAre(ParameterRange{44, 10}));
  EXPECT_THAT(found(*network, {"body"}), ElementsAre(ParameterRange{0, 44}));
  EXPECT_THAT(found(*network, {"classifier"}), ElementsAre(ParameterRange{0, 54}));
  EXPECT_THAT(found(*network, {"all"}), ElementsAre(ParameterRange{0, 54}));
  EXPECT_THAT(found(*network, {"head", "body"}), ElementsAre(ParameterRange{0, 54}));
  EXPECT_THAT(found(*network, {}), IsEmpty());
}

TEST(ParameterParts, ALayerIsItsTensors) {
  const auto network = small_mlp();
  const std::string second = network->tensors()[2].name;
  EXPECT_THAT(found(*network, {second.substr(0, second.find('.'))}), ElementsAre(ParameterRange{20, 24}));
}

TEST(ParameterParts, OfAnExternalModelTheyAreTensorsByName) {
  const std::vector<ParameterTensor> tensors{{.name = "body.0.w", .shape = {4}, .range = {0, 4}},
                                             {.name = "body.1.w", .shape = {2}, .range = {4, 2}},
                                             {.name = "out", .shape = {3}, .range = {6, 3}}};
  const Network network({1, 1, 2}, 3, tensors, std::vector<float>(9));
  EXPECT_THAT(found(network, {"body.1"}), ElementsAre(ParameterRange{4, 2}));
  EXPECT_THAT(found(network, {"body.0.w", "out"}), ElementsAre(ParameterRange{0, 4}, ParameterRange{6, 3}));
  EXPECT_THAT(found(network, {"all"}), ElementsAre(ParameterRange{0, 9}));
  for (const char* word : {"head", "body", "classifier", "norm", "b"}) {
    const auto refused = parts_of(network, Names{word}, "aggregation.shared");
    ASSERT_FALSE(refused.ok()) << word;
    EXPECT_EQ(refused.error().message,
              std::string("aggregation.shared: \"") + word +
                  "\" is no part of an external model; want all, or what names of tensors begin with: body.0, body.1, "
                  "out");
  }
}

TEST(ParameterParts, NormIsScaleShiftAndStatistics) {
  const auto network = small_normalised();
  ASSERT_EQ(network->size(), network->parameters() + 8);
  const std::size_t first = network->tensors()[0].range.size + network->tensors()[1].range.size;
  ASSERT_EQ(network->tensors()[2].name, "bn.scale");
  const ParameterRanges norm{{first, 8}, {network->parameters(), 8}};
  EXPECT_EQ(found(*network, {"norm"}), norm);
  EXPECT_EQ(found(*network, {"bn"}), norm);
  EXPECT_EQ(count_of(norm), 16u);
  EXPECT_EQ(count_before(norm, network->parameters()), 8u);
  EXPECT_EQ(count_before(norm, first + 2), 2u);
}

TEST(ParameterParts, TheBodyHasTheStatistics) {
  const auto network = small_normalised();
  const ParameterRange head = network->last_layer();
  EXPECT_THAT(found(*network, {"body"}),
              ElementsAre(ParameterRange{0, head.offset}, ParameterRange{network->parameters(), 8}));
  EXPECT_EQ(all_but(*network, found(*network, {"body"})), found(*network, {"head"}));
}

TEST(ParameterParts, ANameThatIsNotThereIsRefused) {
  const auto network = small_mlp();
  const auto error = [&](const Names& names) { return parts_of(*network, names, "local.freeze").error().message; };
  EXPECT_EQ(error({"norm"}), "local.freeze: \"norm\" has no effect: the network has no normalisation layer");
  EXPECT_THAT(error({"head", "hed"}),
              testing::HasSubstr("local.freeze: \"hed\" is no part of the network; want head |"));
  const auto softmax = make_network({.name = "softmax"}, {1, 1, 3}, 2).value();
  EXPECT_EQ(parts_of(*softmax, Names{"body"}, "local.freeze").error().message,
            "local.freeze: \"body\" has no effect: the network has one layer, its head");
}

TEST(ParameterParts, NumbersGoThereAndBack) {
  const std::vector<float> flat{0, 1, 2, 3, 4, 5, 6};
  const ParameterRanges ranges{{1, 2}, {5, 2}};
  EXPECT_THAT(gather_ranges(flat, ranges), ElementsAre(1, 2, 5, 6));
  std::vector<float> other(7, 9);
  scatter_ranges(std::vector<float>{1, 2, 5, 6}, ranges, other);
  EXPECT_THAT(other, ElementsAre(9, 1, 2, 9, 9, 5, 6));
  std::vector<float> shorter(6, 9);
  copy_ranges(flat, ranges, shorter);
  EXPECT_THAT(shorter, ElementsAre(9, 1, 2, 9, 9, 5));
  clear_ranges(ranges, shorter);
  EXPECT_THAT(shorter, ElementsAre(9, 0, 0, 9, 9, 0));
  EXPECT_EQ(joined(ranges, ParameterRanges{{3, 1}, {2, 2}}), (ParameterRanges{{1, 3}, {5, 2}}));
}

}  // namespace
}  // namespace muster
