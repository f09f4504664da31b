#include "app/bench_workload.h"

#include <algorithm>
#include <string>

#include "base/huge_pages.h"
#include "base/random.h"
#include "data/stored_data.h"
#include "model/layer.h"

namespace muster {
namespace {

// Values of all clients' samples together.
constexpr std::size_t kMostValues = 50'000'000;

Samples make_samples(const Workload& workload, std::span<const float> prototypes, std::size_t count, Stream& stream) {
  // Normal numbers are slow to draw: rows start somewhere in a table of them.
  std::vector<float> noise(1 << 16);
  for (float& value : noise) value = static_cast<float>(stream.normal());
  const std::size_t size = workload.shape.size();
  Samples samples{.storage = workload.storage, .shape = workload.shape, .classes = workload.classes};
  const bool bytes = workload.storage == Samples::Storage::kBytes;
  if (bytes) {
    reserve_huge(samples.bytes, count * size);  // as data sets are read
    samples.bytes.resize(count * size);
    samples.scale = {2.0f / 255};
    samples.offset = {-1};
  } else {
    samples.floats.resize(count * size);
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t label = stream.below(workload.classes);
    samples.labels.push_back(static_cast<std::int32_t>(label));
    const float* prototype = prototypes.data() + label * size;
    std::size_t at = stream.below(static_cast<std::uint32_t>(noise.size()));
    for (std::size_t j = 0; j < size; ++j) {
      const float value = 0.3f * noise[at++ % noise.size()] + 0.3f * prototype[j];
      if (bytes) {
        samples.bytes[i * size + j] = static_cast<std::uint8_t>(127.5f * (1 + std::clamp(value, -1.0f, 1.0f)));
      } else {
        samples.floats[i * size + j] = value;
      }
    }
  }
  return samples;
}

// Multiply-adds of the gradient with respect to the network's input, which is never computed.
std::uint64_t input_gradient_macs(const Network& network) {
  const Layer& first = *network.layers().front();
  const TensorSpec weight = first.tensors().front();
  // A recurrent layer passes gradients on to its own earlier steps; only the product with the input is spared.
  if (weight.name.ends_with(".input_weight")) return std::uint64_t{network.input().width} * weight.size();
  return first.forward_macs();
}

}  // namespace

LocalOptions Workload::local() const {
  return {.epochs = static_cast<double>(epochs), .batch_size = batch, .learning_rate = learning_rate};
}

std::span<const Workload> workloads() {
  constexpr auto kBytes = Samples::Storage::kBytes;
  constexpr Shape kPicture{28, 28, 1};
  const ModelOptions softmax{.name = "softmax"};
  const ModelOptions mlp{.name = "mlp", .hidden = {128}};
  const ModelOptions cnn16{.name = "cnn", .channels = {16, 32}};
  const ModelOptions cnn20{.name = "cnn", .channels = {20, 50}};
  static const std::vector<Workload> list = {
      {"a", "softmax 784-10, batch 10", softmax, {1, 1, 784}, 10, 10, 60, 20, 0.03, 11},
      {"a1", "softmax, 1 epoch, batch 10", softmax, {1, 1, 784}, 10, 10, 600, 1, 0.03, 15, kBytes, 0.15},
      {"a1-32", "softmax, 1 epoch, batch 32", softmax, {1, 1, 784}, 10, 32, 600, 1, 0.03, 5, kBytes},
      {"b", "mlp 784-128-10, batch 10", mlp, {1, 1, 784}, 10, 10, 60, 20, 0.03, 9},
      {"b1", "mlp 128, 1 epoch, batch 10", mlp, {1, 1, 784}, 10, 10, 600, 1, 0.03, 5, kBytes},
      {"b1-32", "mlp 128, 1 epoch, batch 32", mlp, {1, 1, 784}, 10, 32, 600, 1, 0.03, 2.4, kBytes},
      {"c", "mlp 784-512-62, batch 10", {.name = "mlp", .hidden = {512}}, {1, 1, 784}, 62, 10, 60, 20, 0.03, 5},
      {"d", "lenet5 64/64, batch 64", {.name = "lenet5"}, {32, 32, 3}, 10, 64, 100, 1, 0.01, 1.5},
      {"e1", "cnn 6/16, batch 128", {.name = "cnn", .channels = {6, 16}}, {32, 32, 3}, 10, 128, 512, 1, 0.05, 4},
      {"e2", "cnn 20/50, batch 128", cnn20, kPicture, 10, 128, 512, 1, 0.05, 2.8},
      {"e2-5", "cnn 20/50, batch 5", cnn20, kPicture, 10, 5, 300, 1, 0.05, 2.3, kBytes},
      {"e2-10", "cnn 20/50, batch 10", cnn20, kPicture, 10, 10, 300, 1, 0.05, 2.6, kBytes},
      {"e3-5", "cnn 16/32, batch 5", cnn16, kPicture, 10, 5, 300, 1, 0.05, 2.8, kBytes},
      {"e3-10", "cnn 16/32, batch 10", cnn16, kPicture, 10, 10, 300, 1, 0.05, 2.5, kBytes},
      {"f", "femnist-cnn, batch 5", {.name = "femnist-cnn"}, kPicture, 62, 5, 226, 1, 0.01, 2.4},
      {"g",
       "resnet 16/32/64, batch 32",
       {.name = "resnet", .blocks = 1, .widths = {16, 32, 64}, .norm = "group", .shortcut = "projected"},
       {32, 32, 3},
       10,
       32,
       320,
       1,
       0.05,
       1.8},
      {"h",
       "2 x lstm-100, batch 10",
       {.name = "lstm", .units = 100, .layers = 2},
       {1, 25, 300},
       2,
       10,
       60,
       1,
       0.3,
       3.5},
  };
  return list;
}

std::string workload_names() {
  std::string names;
  for (const Workload& workload : workloads()) {
    if (!names.empty()) names += ", ";
    names += workload.name;
  }
  return names;
}

Result<std::vector<Workload>> choose_workloads(std::string_view names) {
  if (names.empty()) return std::vector<Workload>(workloads().begin(), workloads().end());
  std::vector<Workload> chosen;
  while (true) {
    const std::string_view name = names.substr(0, names.find(','));
    const auto found =
        std::find_if(workloads().begin(), workloads().end(), [&](const Workload& w) { return w.name == name; });
    if (found == workloads().end()) {
      return usage_error("--workload: \"{}\", want some of {} separated by commas", name, workload_names());
    }
    chosen.push_back(*found);
    if (name.size() == names.size()) return chosen;
    names.remove_prefix(name.size() + 1);
  }
}

Result<std::unique_ptr<FederatedData>> make_workload_data(const Workload& workload) {
  Stream stream({.seed = 1, .purpose = Purpose::kBench});
  const std::size_t size = workload.shape.size();
  std::vector<float> prototypes(workload.classes * size);
  for (float& value : prototypes) value = static_cast<float>(stream.normal());
  const std::size_t clients = std::clamp<std::size_t>(kMostValues / workload.samples / size, 4, 50);
  RawData raw;
  raw.train = make_samples(workload, prototypes, clients * workload.samples, stream);
  raw.test = make_samples(workload, prototypes, 256, stream);
  // In turns: a client's samples lie apart, as they do when a data set is divided.
  for (std::size_t i = 0; i < raw.train.size(); ++i) {
    raw.train_clients.push_back(static_cast<std::uint32_t>(i % clients));
  }
  for (std::size_t k = 0; k < clients; ++k) raw.client_names.push_back(std::to_string(k));
  return divide_among_clients(std::move(raw), {.partition = "natural"}, 1, std::string(workload.name));
}

double useful_flops(const Network& network) {
  return 6.0 * static_cast<double>(network.forward_macs()) - 2.0 * static_cast<double>(input_gradient_macs(network));
}

}  // namespace muster
