#include "record/exported_networks.h"

#include <algorithm>
#include <cstdlib>
#include <random>

#include "model/executor.h"
#include "scratch_folder.h"

namespace muster {
namespace {

LayerList layers_of_all_kinds() {
  return {{"conv 4 3 pad same"},
          {"layer-norm"},
          {"gelu"},
          {"residual", {{"conv 8 3 stride 2 pad same no-bias"}, {"group-norm 2"}, {"relu"}}},
          {"mean-pool 2"},
          {"residual padded", {{"conv 12 3 pad same"}, {"batch-norm"}}},
          {"tanh"},
          {"max-pool 2 stride 1"},
          {"dropout 0.5"},
          {"dense 7"},
          {"relu"}};
}

// Vectors, on which normalisations and shortcuts work too.
LayerList layers_on_vectors() {
  return {{"dense 8"},
          {"layer-norm"},
          {"residual", {{"dense 8"}, {"group-norm 2"}, {"tanh"}}},
          {"batch-norm"},
          {"residual", {{"dense 6"}, {"batch-norm"}}},
          {"gelu"},
          {"residual padded", {{"dense 9"}}}};
}

// Strides that do not divide the image, and padding that is not the same on all sides.
LayerList layers_on_odd_images() {
  return {{"residual padded", {{"conv 7 3 stride 2 pad same"}}},
          {"conv 5 2 pad same"},
          {"residual padded", {{"conv 5 3 stride 3 pad same"}}},
          {"global-mean"},
          {"dropout 0.1"}};
}

}  // namespace

const std::vector<ExportedCase>& exported_cases() {
  static const std::vector<ExportedCase> all = {
      {"softmax", {.name = "softmax"}, {1, 1, 9}},
      {"mlp", {.name = "mlp", .hidden = {5, 4}}, {6, 5, 2}},
      {"cnn", {.name = "cnn", .hidden = {8}, .channels = {4, 6}}, {16, 18, 3}},
      {"lenet5", {.name = "lenet5"}, {32, 32, 3}},
      {"femnist-cnn", {.name = "femnist-cnn"}, {12, 12, 1}},
      {"resnet", {.name = "resnet", .blocks = 1, .widths = {4, 8}}, {12, 12, 3}},
      {"resnet-projected",
       {.name = "resnet", .blocks = 1, .widths = {4, 8}, .norm = "group", .shortcut = "projected"},
       {13, 13, 3}},
      {"audio-cnn", {.name = "audio-cnn"}, {1, 6900, 1}},
      {"lstm", {.name = "lstm", .units = 6}, {1, 5, 4}},
      {"lstm-of-two", {.name = "lstm", .units = 6}, {1, 5, 4}, 2},
      {"layers", {.name = "layers", .layers = layers_of_all_kinds()}, {12, 12, 2}},
      {"text",
       {.name = "layers", .layers = LayerList{{"embedding 4"}, {"gru 5 sequence"}, {"conv 3 3"}, {"lstm 4"}}},
       {1, 9, 1, 11}},
      {"vectors", {.name = "layers", .layers = layers_on_vectors()}, {1, 1, 9}},
      {"odd-images", {.name = "layers", .layers = layers_on_odd_images()}, {14, 11, 2}},
      {"gru", {.name = "layers", .layers = LayerList{{"gru 4"}}}, {1, 6, 3}},
      {"fusion", {.name = "cnn", .hidden = {8}, .channels = {4, 6}}, {16, 18, 3}, 3, Fusion::kConv},
      {"fusion-of-states", {.name = "lstm", .units = 6}, {1, 5, 4}, 3, Fusion::kConv},
      {"fusion-by-shares", {.name = "mlp", .hidden = {5, 4}}, {6, 5, 2}, 3, Fusion::kMulti},
  };
  return all;
}

std::vector<float> random_weights(const Network& network) {
  std::vector<float> flat(network.size());
  Stream stream({.seed = 3, .purpose = Purpose::kInitialise});
  network.initialise(flat, stream);
  std::mt19937 random(5);
  std::uniform_real_distribution<float> near(0.5f, 1.5f);
  for (const ParameterTensor& tensor : network.tensors()) {
    if (tensor.shape.size() > 1 || tensor.name.ends_with("bias")) continue;
    for (std::size_t i = 0; i < tensor.range.size; ++i) flat[tensor.range.offset + i] = near(random);
  }
  return flat;
}

std::vector<float> random_rows(Shape shape) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  std::vector<float> rows(kExportedRows * shape.size());
  for (float& value : rows) value = shape.tokens > 0 ? static_cast<float>(random() % shape.tokens) : normal(random);
  return rows;
}

std::vector<float> own_logits(const std::shared_ptr<const Network>& network, std::span<const float> flat,
                              std::span<const float> rows) {
  Executor executor(network, kExportedRows);
  executor.load(flat);
  std::ranges::copy(rows, executor.input(kExportedRows));
  std::fill_n(executor.labels(kExportedRows), kExportedRows, 0);
  (void)executor.evaluate(kExportedRows);
  std::vector<float> logits(std::size_t{kExportedRows} * network->outputs());
  executor.logits(kExportedRows, logits);
  return logits;
}

std::string python_of_the_page(std::size_t n) {
  const std::string page = slurp(MUSTER_SOURCE_DIR "/docs/export.md");
  const std::string fence = "```python\n";
  std::size_t begin = page.find(fence);
  for (; n > 0 && begin != std::string::npos; --n) begin = page.find(fence, begin + 1);
  if (begin == std::string::npos) return {};
  begin += fence.size();
  return page.substr(begin, page.find("```", begin) - begin);
}

}  // namespace muster
