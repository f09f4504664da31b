// The page docs/export.md, its Python run as it stands there: PyTorch computes the logits that Muster computes.
#include "record/torch_layout.h"

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <random>

#include "model/executor.h"
#include "record/weights_file.h"
#include "scratch_folder.h"

namespace muster {
namespace {

struct Case {
  const char* name;
  ModelOptions options;
  Shape input;
  std::uint32_t classes = 3;
};

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

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
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
  };
  return all;
}

std::vector<float> random_weights(const Network& network) {
  std::vector<float> flat(network.size());
  Stream stream({.seed = 3, .purpose = Purpose::kInitialise});
  network.initialise(flat, stream);
  std::mt19937 random(5);
  std::uniform_real_distribution<float> near(0.5f, 1.5f);
  // Scales, shifts and statistics that are not what they start as.
  for (const ParameterTensor& tensor : network.tensors()) {
    if (tensor.shape.size() > 1 || tensor.name.ends_with("bias")) continue;
    for (std::size_t i = 0; i < tensor.range.size; ++i) flat[tensor.range.offset + i] = near(random);
  }
  return flat;
}

constexpr std::uint32_t kRows = 5;

std::vector<float> random_rows(Shape shape) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  std::vector<float> rows(kRows * shape.size());
  for (float& value : rows) value = shape.tokens > 0 ? static_cast<float>(random() % shape.tokens) : normal(random);
  return rows;
}

std::vector<float> own_logits(const std::shared_ptr<const Network>& network, std::span<const float> flat,
                              std::span<const float> rows) {
  Executor executor(network, kRows);
  executor.load(flat);
  std::ranges::copy(rows, executor.input(kRows));
  std::fill_n(executor.labels(kRows), kRows, 0);
  (void)executor.evaluate(kRows);
  std::vector<float> logits(std::size_t{kRows} * network->outputs());
  executor.logits(kRows, logits);
  return logits;
}

std::string loader_of_the_page() {
  const std::string page = slurp(MUSTER_SOURCE_DIR "/docs/export.md");
  const std::size_t begin = page.find("```python\n") + 10;
  return page.substr(begin, page.find("```", begin) - begin);
}

// An interpreter that has PyTorch; "" if there is none.
std::string python_with_torch() {
  for (const std::string python : {"/usr/bin/python3", "python3"}) {
    if (std::system((python + " -c 'import torch, numpy' > /dev/null 2>&1").c_str()) == 0) return python;
  }
  return {};
}

TEST(TorchLayout, PyTorchComputesTheSameLogits) {
  const std::string python = python_with_torch();
  if (python.empty()) GTEST_SKIP() << "PyTorch is not installed (Debian: python3-torch)";
  const ScratchFolder folder;
  folder.write("loader.py", loader_of_the_page());
  std::map<std::string, std::vector<float>> ours;
  for (const Case& one : cases()) {
    const auto network = make_network(one.options, one.input, one.classes);
    ASSERT_TRUE(network.ok()) << one.name << ": " << network.error().message;
    const std::vector<float> flat = random_weights(**network);
    const TorchNetwork torch = to_torch(**network, flat);
    const std::vector<float> rows = random_rows(one.input);
    ASSERT_TRUE(write_npz(folder / (std::string(one.name) + ".npz"), torch.tensors, torch.flat,
                          {{"network.json", torch.layers}})
                    .ok());
    const std::vector<ParameterTensor> shape{
        {"rows", {kRows, one.input.height, one.input.width, one.input.channels}, {0, rows.size()}}};
    ASSERT_TRUE(write_npz(folder / (std::string(one.name) + "-rows.npz"), shape, rows).ok());
    ours[one.name] = own_logits(*network, flat, rows);
  }
  folder.write("all.py", std::string(R"(
import json, numpy, sys, torch, loader
logits = {}
with torch.no_grad():
    for name in sys.argv[1:]:
        layers, weights = loader.load(name + ".npz")
        rows = torch.from_numpy(numpy.load(name + "-rows.npz")["rows"]).movedim(-1, 1)
        logits[name] = loader.run(layers, weights, rows).flatten().tolist()
json.dump(logits, open("logits.json", "w"))
)"));
  std::string command = fmt::format("cd '{}' && OMP_NUM_THREADS=1 {} all.py", folder.path().string(), python);
  for (const auto& [name, logits] : ours) command += " " + name;
  ASSERT_EQ(std::system(command.c_str()), 0);
  const auto theirs = nlohmann::json::parse(slurp(folder / "logits.json"));
  for (const auto& [name, logits] : ours) {
    const auto& other = theirs.at(name);
    ASSERT_EQ(other.size(), logits.size()) << name;
    for (std::size_t i = 0; i < logits.size(); ++i) {
      EXPECT_NEAR(other[i].get<double>(), logits[i], 1e-4 * std::max(1.0, std::abs(static_cast<double>(logits[i]))))
          << name << " " << i;
    }
  }
}

TEST(TorchLayout, HasEveryValueOnce) {
  for (const Case& one : cases()) {
    const auto network = make_network(one.options, one.input, one.classes);
    ASSERT_TRUE(network.ok()) << one.name;
    const std::vector<float> flat = random_weights(**network);
    TorchNetwork torch = to_torch(**network, flat);
    std::erase(torch.flat, 0.0f);  // the second biases of recurrent layers
    std::vector<float> ours = flat;
    std::erase(ours, 0.0f);
    std::ranges::sort(torch.flat);
    std::ranges::sort(ours);
    EXPECT_EQ(torch.flat, ours) << one.name;
    EXPECT_TRUE(nlohmann::json::parse(torch.layers).is_array());
  }
}

}  // namespace
}  // namespace muster
