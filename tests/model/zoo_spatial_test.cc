#include "model/gradient_check.h"
#include "model/network.h"
#include "model/own_network.h"

namespace muster {
namespace {

struct Count {
  const char* label;
  ModelOptions options;
  Shape input;
  std::uint32_t classes;
  std::size_t parameters, statistics;
};

TEST(ZooSpatialTest, ParameterCountsOfThePapers) {
  const std::vector<Count> counts = {
      {"FedGSP", {.name = "femnist-cnn"}, {28, 28, 1}, 62, 6603710, 0},
      {"FedSeq", {.name = "lenet5"}, {32, 32, 3}, 10, 797962, 0},
      {"FedSeq, 100 classes", {.name = "lenet5"}, {32, 32, 3}, 100, 815332, 0},
      {"AutoCFL MNIST", {.name = "cnn", .channels = {20, 50}}, {28, 28, 1}, 10, 33580, 0},
      {"AutoCFL CIFAR", {.name = "cnn"}, {32, 32, 3}, 10, 6882, 0},
      {"AutoCFL FMNIST", {.name = "cnn", .channels = {16, 32}}, {28, 28, 1}, 10, 18378, 0},
      {"Sattler", {.name = "cnn"}, {28, 28, 1}, 62, 18506, 0},
      {"Group-FEL CIFAR", {.name = "resnet"}, {32, 32, 3}, 10, 270410, 2 * 688},
      {"Group-FEL FMNIST", {.name = "resnet", .blocks = 1, .widths = {8, 16, 32}}, {28, 28, 1}, 10, 21754, 240},
      {"Group-FEL speech", {.name = "audio-cnn"}, {1, 8000, 1}, 35, 26915, 384},
      {"projected",
       {.name = "resnet", .blocks = 1, .norm = "group", .shortcut = "projected"},
       {32, 32, 3},
       10,
       78042,
       0},
  };
  for (const Count& count : counts) {
    SCOPED_TRACE(count.label);
    const auto network = make(count.options, count.input, count.classes);
    ASSERT_TRUE(network);
    EXPECT_EQ(network->parameters(), count.parameters);
    EXPECT_EQ(network->size() - network->parameters(), count.statistics);
  }
  EXPECT_EQ(make({.name = "femnist-cnn"}, {28, 28, 1}, 62)->forward_macs(), 17211904u);
}

TEST(ZooSpatialTest, Ranges) {
  const auto network = make({.name = "lenet5"}, {32, 32, 3}, 10);
  EXPECT_EQ(network->last_layer().size, 1930u);
  EXPECT_EQ(network->classifier().size, 614784u + 73920 + 1930);
  EXPECT_EQ(network->features().size, 4864u + 102464);
}

TEST(ZooSpatialTest, Gradients) {
  check_gradient_everywhere(make({.name = "cnn", .hidden = {9}, .channels = {3, 20}}, {17, 16, 2}, 3), {2, 9});
  check_gradient_everywhere(make({.name = "cnn", .channels = {16}, .kernel = 3}, {9, 8, 1}, 3), {2, 9});
  check_gradient_everywhere(make({.name = "lenet5"}, {16, 17, 3}, 4), {2});
  check_gradient_everywhere(make({.name = "femnist-cnn"}, {9, 8, 1}, 4), {3});
  check_gradient_everywhere(make({.name = "resnet", .blocks = 1, .widths = {8, 16, 32}}, {12, 12, 1}, 3), {3}, 1e-3,
                            4e-2);
  check_gradient_everywhere(
      make({.name = "resnet", .blocks = 1, .widths = {6, 12}, .norm = "group", .shortcut = "projected"}, {9, 8, 3}, 3),
      {3}, 1e-3, 4e-2);
  check_gradient_everywhere(make({.name = "audio-cnn"}, {1, 7000, 1}, 3), {3}, 1e-3, 4e-2);
}

TEST(ZooSpatialTest, ErrorsNameTheKeyAndWhatIsAccepted) {
  const auto message = [](const ModelOptions& options, Shape input) {
    const auto network = make_network(options, input, 10);
    return network.ok() ? std::string() : network.error().message;
  };
  EXPECT_THAT(message({.name = "cnn"}, {1, 1, 784}), ::testing::HasSubstr("1x1x784"));
  EXPECT_THAT(message({.name = "lenet5"}, {12, 12, 1}), ::testing::HasSubstr("convolution 2"));
  EXPECT_THAT(message({.name = "cnn", .channels = {0}}, {28, 28, 1}), ::testing::HasSubstr("model.channels: 0, want"));
  EXPECT_THAT(message({.name = "cnn", .kernel = 0}, {28, 28, 1}), ::testing::HasSubstr("model.kernel: 0, want"));
  EXPECT_THAT(message({.name = "resnet", .norm = "layer"}, {8, 8, 3}), ::testing::HasSubstr("want batch or group"));
  EXPECT_THAT(message({.name = "resnet", .shortcut = "x"}, {8, 8, 3}),
              ::testing::HasSubstr("want padded or projected"));
  EXPECT_THAT(message({.name = "resnet", .blocks = 0}, {8, 8, 3}), ::testing::HasSubstr("model.blocks: 0"));
  EXPECT_THAT(message({.name = "resnet", .widths = {32, 16}}, {8, 8, 3}), ::testing::HasSubstr("model.widths"));
  EXPECT_THAT(message({.name = "resnet", .widths = {5}, .norm = "group"}, {8, 8, 3}), ::testing::HasSubstr("even"));
  EXPECT_THAT(message({.name = "audio-cnn"}, {1, 6847, 1}), ::testing::HasSubstr("6848"));
  EXPECT_EQ(message({.name = "audio-cnn"}, {1, 6848, 1}), "");
}

}  // namespace
}  // namespace muster
