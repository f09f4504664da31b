// Training speed of one core on the reference workloads: clients load the model, train some epochs of shuffled batches
// gathered from float rows, and hand the result to an average. Prints samples per second of CPU time; before that it
// checks that the loss falls.
// Usage: muster_step_bench [workload|all] [seconds]
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "model/executor.h"
#include "model/kernels/isa.h"
#include "model/network.h"

namespace {

using namespace muster;

struct Workload {
  const char* name;
  ModelOptions model;
  Shape shape;
  std::uint32_t classes;
  std::uint32_t batch;
  std::uint32_t samples;  // per client
  std::uint32_t epochs;
  float learning_rate;
};

const std::vector<Workload>& workloads() {
  static const std::vector<Workload> list = {
      {"a", {.name = "softmax"}, {1, 1, 784}, 10, 10, 60, 20, 0.03f},
      {"b", {.name = "mlp", .hidden = {128}}, {1, 1, 784}, 10, 10, 60, 20, 0.03f},
      {"c", {.name = "mlp", .hidden = {512}}, {1, 1, 784}, 62, 10, 60, 20, 0.03f},
      {"d", {.name = "lenet5"}, {32, 32, 3}, 10, 64, 100, 1, 0.01f},
      {"e1", {.name = "cnn", .channels = {6, 16}}, {32, 32, 3}, 10, 128, 512, 1, 0.05f},
      {"e2", {.name = "cnn", .channels = {20, 50}}, {28, 28, 1}, 10, 128, 512, 1, 0.05f},
      {"f", {.name = "femnist-cnn"}, {28, 28, 1}, 62, 5, 226, 1, 0.01f},
      {"g",
       {.name = "resnet", .blocks = 1, .norm = "group", .shortcut = "projected"},
       {32, 32, 3},
       10,
       32,
       320,
       1,
       0.05f},
      {"h", {.name = "lstm"}, {1, 25, 300}, 2, 10, 60, 1, 0.3f},
  };
  return list;
}

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Samples around one prototype per class: learnable within an epoch.
struct Data {
  std::vector<float> rows;
  std::vector<std::int32_t> labels;
};

Data make_data(const Workload& workload, std::size_t count) {
  Stream stream({.seed = 1, .purpose = Purpose::kBench});
  std::vector<float> noise(1 << 16);
  for (float& value : noise) value = static_cast<float>(stream.normal());
  const std::size_t size = workload.shape.size();
  std::vector<float> prototypes(workload.classes * size);
  for (float& value : prototypes) value = static_cast<float>(stream.normal());
  Data data;
  data.rows.resize(count * size);
  for (std::size_t i = 0; i < count; ++i) {
    data.labels.push_back(static_cast<std::int32_t>(stream.below(workload.classes)));
    const float* prototype = prototypes.data() + static_cast<std::size_t>(data.labels.back()) * size;
    std::size_t at = stream.below(static_cast<std::uint32_t>(noise.size()));
    for (std::size_t j = 0; j < size; ++j) {
      data.rows[i * size + j] = 0.3f * noise[at++ % noise.size()] + 0.3f * prototype[j];
    }
  }
  return data;
}

bool run(const Workload& workload, double seconds) {
  auto made = make_network(workload.model, workload.shape, workload.classes);
  if (!made) {
    fmt::print(stderr, "{}: {}\n", workload.name, made.error().message);
    return false;
  }
  const auto network = std::move(made).value();
  const std::size_t size = workload.shape.size();
  const std::size_t clients = std::clamp<std::size_t>(50'000'000 / workload.samples / size, 4, 50);
  const Data data = make_data(workload, clients * workload.samples);
  Executor executor(network, workload.batch);
  Stream stream({.seed = 2, .purpose = Purpose::kBench});
  std::vector<float> model(network->size());
  network->initialise(model, stream);
  std::vector<float> update(model.size());
  std::vector<double> sum(model.size());
  std::vector<std::uint32_t> order(workload.samples);
  const StepRule rule{.learning_rate = workload.learning_rate};

  const auto train_client = [&](std::size_t client) {
    executor.load(model);
    double loss = 0;
    for (std::uint32_t epoch = 0; epoch < workload.epochs; ++epoch) {
      std::iota(order.begin(), order.end(), 0u);
      stream.shuffle(std::span<std::uint32_t>(order));
      loss = 0;
      for (std::uint32_t begin = 0; begin < workload.samples; begin += workload.batch) {
        const std::uint32_t batch = std::min(workload.batch, workload.samples - begin);
        float* input = executor.input(batch);
        std::int32_t* labels = executor.labels(batch);
        for (std::uint32_t i = 0; i < batch; ++i) {
          const std::size_t row = client * workload.samples + order[begin + i];
          std::memcpy(input + i * size, data.rows.data() + row * size, size * sizeof(float));
          labels[i] = data.labels[row];
        }
        loss += executor.train(batch, rule).loss_sum;
      }
    }
    executor.store(update);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += static_cast<double>(update[i]);
    return loss / workload.samples;
  };

  double first_loss = 0;
  double loss = 0;
  std::size_t trained = 0;
  const auto train_round = [&] {
    loss = 0;
    std::fill(sum.begin(), sum.end(), 0.0);
    for (std::size_t client = 0; client < clients; ++client)
      loss += train_client(client) / static_cast<double>(clients);
    for (std::size_t i = 0; i < sum.size(); ++i) model[i] = static_cast<float>(sum[i] / static_cast<double>(clients));
    trained += clients * workload.samples * workload.epochs;
  };
  train_round();
  first_loss = loss;

  std::vector<double> rates;
  const double start = cpu_seconds();
  while (cpu_seconds() - start < seconds) {
    const double before = cpu_seconds();
    const std::size_t trained_before = trained;
    train_round();
    rates.push_back(static_cast<double>(trained - trained_before) / (cpu_seconds() - before));
  }
  std::sort(rates.begin(), rates.end());
  if (!(loss < first_loss)) {
    fmt::print(stderr, "{}: the loss did not fall: {} -> {}\n", workload.name, first_loss, loss);
    return false;
  }
  fmt::print("{:<3} {} parameters={} samples/s median={:.0f} max={:.0f} loss {:.4f} -> {:.4f}\n", workload.name,
             name(current_isa()), network->parameters(), rates[rates.size() / 2], rates.back(), first_loss, loss);
  std::fflush(stdout);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view wanted = argc > 1 ? argv[1] : "all";
  const double seconds = argc > 2 ? std::atof(argv[2]) : 2;
  bool ok = true;
  bool found = false;
  for (const Workload& workload : workloads()) {
    if (wanted != "all" && wanted != workload.name) continue;
    found = true;
    ok = run(workload, seconds) && ok;
  }
  if (!found) fmt::print(stderr, "no workload \"{}\"\n", wanted);
  return ok && found ? 0 : 1;
}
