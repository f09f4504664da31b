// The catalogue of networks: the papers' parameter counts, named ranges, initialisation, errors.
#include <algorithm>
#include <cmath>

#include "model/executor.h"
#include "model/gradient_check.h"
#include "model/network.h"
#include "model/own_network.h"

namespace muster {
namespace {

TEST(Zoo, ParameterCountsOfDenseAndRecurrentNetworks) {
  EXPECT_EQ(make({.name = "softmax"}, {28, 28, 1}, 10)->parameters(), 7850u);
  EXPECT_EQ(make({.name = "softmax"}, {28, 28, 1}, 26)->parameters(), 20410u);
  EXPECT_EQ(make({.name = "softmax"}, {28, 28, 1}, 62)->parameters(), 48670u);
  EXPECT_EQ(make({.name = "softmax"}, {1, 1, 60}, 10)->parameters(), 610u);
  EXPECT_EQ(make({.name = "mlp"}, {28, 28, 1}, 10)->parameters(), 101770u);
  EXPECT_EQ(make({.name = "mlp", .hidden = {512}}, {28, 28, 1}, 26)->parameters(), 415258u);
  EXPECT_EQ(make({.name = "mlp", .hidden = {512}}, {28, 28, 1}, 62)->parameters(), 433726u);
  EXPECT_EQ(make({.name = "mlp", .hidden = {512}}, {28, 28, 1}, 10)->parameters(), 407050u);
  EXPECT_EQ(make({.name = "lstm"}, {1, 25, 300}, 2)->parameters(), 243861u);
}

TEST(Zoo, NamedRangesOfMlp) {
  const auto network = make({.name = "mlp", .hidden = {30, 20}}, {1, 1, 40}, 10);
  EXPECT_EQ(network->size(), network->parameters());
  EXPECT_EQ(network->last_layer().size, 20u * 10 + 10);
  EXPECT_EQ(network->last_layer().offset + network->last_layer().size, network->parameters());
  EXPECT_EQ(network->classifier().offset, 0u);
  EXPECT_EQ(network->classifier().size, network->parameters());
  EXPECT_EQ(network->features().size, 0u);
  EXPECT_EQ(network->forward_macs(), 40u * 30 + 30 * 20 + 20 * 10);
}

TEST(Zoo, NamedRangesOfLstm) {
  const auto network = make({.name = "lstm"}, {1, 25, 300}, 2);
  EXPECT_EQ(network->outputs(), 1u);
  EXPECT_EQ(network->features().offset, 0u);
  EXPECT_EQ(network->features().size, 160400u + 80400u);
  EXPECT_EQ(network->classifier().offset, 240800u);
  EXPECT_EQ(network->classifier().size, 3030u + 31u);
  EXPECT_EQ(network->last_layer().offset, 243830u);
  EXPECT_EQ(network->last_layer().size, 31u);
  EXPECT_EQ(network->tensors()[0].name, "lstm1.input_weight");
  EXPECT_EQ(network->tensors()[0].shape, (std::vector<std::uint32_t>{300, 400}));
  EXPECT_EQ(make({.name = "lstm"}, {1, 25, 300}, 3)->outputs(), 3u);
}

TEST(Zoo, TensorsCoverTheFlatVector) {
  const auto network = make({.name = "lstm", .units = 7, .layers = 3}, {1, 5, 4}, 4);
  std::size_t at = 0;
  for (const ParameterTensor& tensor : network->tensors()) {
    EXPECT_EQ(tensor.range.offset, at) << tensor.name;
    std::size_t size = 1;
    for (const std::uint32_t extent : tensor.shape) size *= extent;
    EXPECT_EQ(tensor.range.size, size) << tensor.name;
    at += size;
  }
  EXPECT_EQ(at, network->size());
}

// Every value within the rule's bound, and the largest close to it.
void expect_uniform(std::span<const float> values, double bound) {
  double largest = 0, sum = 0;
  for (const float value : values) {
    largest = std::max(largest, std::fabs(double{value}));
    sum += value;
  }
  EXPECT_LE(largest, bound);
  EXPECT_GT(largest, 0.9 * bound);
  EXPECT_LT(std::fabs(sum / static_cast<double>(values.size())), 0.2 * bound);
}

TEST(Zoo, Initialisation) {
  const std::size_t weights = 100 * 50;
  for (const std::string init : {"torch", "glorot", "uniform"}) {
    const auto network = make({.name = "softmax", .init = init}, {1, 1, 100}, 50);
    std::vector<float> flat(network->size()), again(network->size());
    Stream stream = test_stream(1), same = test_stream(1);
    network->initialise(flat, stream);
    network->initialise(again, same);
    EXPECT_EQ(flat, again);
    const std::span<const float> all(flat);
    const double bound = init == "torch" ? 0.1 : init == "glorot" ? std::sqrt(6.0 / 150) : 0.07;
    expect_uniform(all.first(weights), bound);
    if (init == "torch") {
      expect_uniform(all.subspan(weights), 0.1);
    } else {
      for (const float bias : all.subspan(weights)) EXPECT_EQ(bias, 0.0f);
    }
  }
  const auto network = make({.name = "lstm", .units = 25, .layers = 1}, {1, 4, 60}, 2);
  std::vector<float> flat(network->size());
  Stream stream = test_stream(2);
  network->initialise(flat, stream);
  expect_uniform(std::span<const float>(flat).first(100 * (60 + 25 + 1)), 0.2);
}

void expect_error(const ModelOptions& options, Shape shape, std::uint32_t classes,
                  std::initializer_list<const char*> parts) {
  const auto network = make_network(options, shape, classes);
  ASSERT_FALSE(network.ok()) << options.name << " should be refused: " << *parts.begin();
  EXPECT_EQ(network.error().code, ErrorCode::kUsage);
  for (const char* part : parts) EXPECT_THAT(network.error().message, ::testing::HasSubstr(part));
}

TEST(Zoo, ErrorsNameKeyValueAndChoices) {
  expect_error({.name = "sofmax"}, {1, 1, 4}, 2, {"model.name", "sofmax", "softmax", "lstm"});
  expect_error({.name = "softmax", .init = "zero"}, {1, 1, 4}, 2, {"model.init", "zero", "glorot"});
  expect_error({.name = "softmax"}, {1, 1, 4}, 1, {"1 classes", ">= 2"});
  expect_error({.name = "softmax"}, {1, 0, 4}, 2, {"empty"});
  expect_error({.name = "mlp", .hidden = {64, 0}}, {1, 1, 4}, 2, {"model.hidden", "0", "1 to"});
  expect_error({.name = "cnn", .hidden = {0}}, {28, 28, 1}, 10, {"model.hidden", "0", "1 to"});
  expect_error({.name = "mlp", .hidden = {4000000000}}, {1, 1, 4}, 2, {"model.hidden", "4000000000"});
  expect_error({.name = "mlp", .hidden = {65536, 65536}}, {1, 1, 4}, 2, {"parameters", "at most"});
  expect_error({.name = "lstm"}, {28, 28, 1}, 10, {"lstm", "sequences", "28x28x1"});
  expect_error({.name = "lstm", .units = 0}, {1, 5, 4}, 2, {"model.units", "0"});
  expect_error({.name = "lstm", .layers = 99}, {1, 5, 4}, 2, {"model.layers", "99"});
}

TEST(Zoo, CatalogueIsComplete) {
  std::vector<std::string> names;
  for (const ModelEntry& entry : model_catalogue()) {
    names.push_back(entry.name);
    EXPECT_FALSE(entry.summary.empty());
    EXPECT_THAT(entry.keys, ::testing::Contains(is_external({.name = entry.name}) ? "path" : "init")) << entry.name;
  }
  EXPECT_THAT(names, ::testing::IsSupersetOf({"softmax", "mlp", "lstm"}));
}

}  // namespace
}  // namespace muster
