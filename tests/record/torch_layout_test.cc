// The page docs/export.md, its Python run as it stands there: PyTorch computes the logits that Muster computes.
#include "record/torch_layout.h"

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "python_with.h"
#include "record/exported_networks.h"
#include "record/weights_file.h"
#include "scratch_folder.h"

namespace muster {
namespace {

TEST(TorchLayout, PyTorchComputesTheSameLogits) {
  const std::string python = python_with("torch, numpy");
  if (python.empty()) GTEST_SKIP() << "PyTorch is not installed (Debian: python3-torch)";
  const ScratchFolder folder;
  folder.write("loader.py", python_of_the_page(0));
  std::map<std::string, std::vector<float>> ours;
  for (const ExportedCase& one : exported_cases()) {
    const auto network = make_network(one.options, one.input, one.classes, one.fusion);
    ASSERT_TRUE(network.ok()) << one.name << ": " << network.error().message;
    const std::vector<float> flat = random_weights(**network);
    const TorchNetwork torch = to_torch(**network, flat);
    const std::vector<float> rows = random_rows(one.input);
    ASSERT_TRUE(write_npz(folder / (std::string(one.name) + ".npz"), torch.tensors, torch.flat,
                          {{"network.json", torch.layers}})
                    .ok());
    const std::vector<ParameterTensor> shape{
        {"rows", {kExportedRows, one.input.height, one.input.width, one.input.channels}, {0, rows.size()}}};
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
  for (const ExportedCase& one : exported_cases()) {
    if (one.fusion) continue;  // its values are added up
    const auto network = make_network(one.options, one.input, one.classes, one.fusion);
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

// Outside training the two extractors are one.
TEST(TorchLayout, AFusionIsOneConvolutionOrNothing) {
  const ModelOptions options{.name = "mlp", .hidden = {2}};
  const Shape input{1, 1, 1};
  const auto conv = *make_network(options, input, 2, Fusion::kConv);
  std::vector<float> flat(conv->size());
  const ParameterRange weights = conv->fusion();
  for (std::size_t i = 0; i < weights.size; ++i) flat[weights.offset + i] = static_cast<float>(1 << i);
  const TorchNetwork torch = to_torch(*conv, flat);
  const auto found = std::ranges::find(torch.tensors, "fusion.weight", &ParameterTensor::name);
  ASSERT_NE(found, torch.tensors.end());
  EXPECT_EQ(found->shape, (std::vector<std::uint32_t>{2, 2, 1, 1}));
  // [in][out] 1 2 4 8 of the trained and 16 32 64 128 of the frozen features, added up and turned round.
  EXPECT_EQ(std::vector<float>(torch.flat.begin() + static_cast<std::ptrdiff_t>(found->range.offset),
                               torch.flat.begin() + static_cast<std::ptrdiff_t>(found->range.offset + 4)),
            (std::vector<float>{17, 68, 34, 136}));

  const auto plain = *make_network(options, input, 2);
  const auto shares = *make_network(options, input, 2, Fusion::kMulti);
  const TorchNetwork alone = to_torch(*plain, std::vector<float>(plain->size(), 1));
  const TorchNetwork fused = to_torch(*shares, std::vector<float>(shares->size(), 1));
  EXPECT_EQ(fused.layers, alone.layers);
  EXPECT_EQ(fused.flat, alone.flat);
}

TEST(TorchLayout, TwoTensorsOfOneNameAreRefused) {
  for (const bool same : {false, true}) {
    const ModelOptions options{
        .name = "layers",
        .layers = LayerList{{"residual as a", {{"dense 4 as b"}}}, {same ? "dense 4 as a_b" : "dense 4 as c"}}};
    const auto network = make_network(options, {1, 1, 4}, 2);
    ASSERT_TRUE(network.ok()) << network.error().message;
    const Status status = check_torch_names(to_torch(**network, random_weights(**network)));
    EXPECT_EQ(status.ok(), !same);
    if (same) {
      EXPECT_THAT(status.error().message, testing::HasSubstr("two tensors would be called \"a_b.weight\""));
    }
  }
}

}  // namespace
}  // namespace muster
