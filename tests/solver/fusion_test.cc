// The objective fusion: what is frozen is the model as received, in every task anew.
#include <gtest/gtest.h>

#include "model/executor.h"
#include "solver/local_solver.h"
#include "solver/points.h"

namespace muster {
namespace {

const std::vector<Point> kPoints{{1, 0, 0}, {0, 1, 1}, {1, 1, 0}, {-1, 0.5f, 1}, {0.2f, -2, 0}, {0.3f, 0.1f, 1}};

struct FusionBench {
  explicit FusionBench(const std::string& fusion,
                       LocalOptions local = {.epochs = 4, .batch_size = 6, .learning_rate = 0.2}) {
    local.objective = {.name = "fusion", .fusion = fusion};
    network = *make_network({.name = "mlp", .hidden = {5}}, data.shape(), data.classes(), fusion_of(local.objective));
    objective = std::move(make_objective(local.objective)).value();
    solver = std::make_unique<LocalSolver>(network, data, local, Augmentation{}, *objective, states, 3);
    initial.resize(network->size());
    Stream stream({.seed = 1, .purpose = Purpose::kTest});
    network->initialise(initial, stream);
  }
  std::vector<float> train(const std::vector<float>& model, std::optional<LocalWork> trial = {}) {
    return std::get<LocalUpdate>(
               solver->train({.client = ClientId{0}, .round = 1, .model = model, .trial = trial}).value())
        .model;
  }

  Points data{{kPoints}};
  std::shared_ptr<const Network> network;
  ClientStates states{{}};
  std::unique_ptr<Objective> objective;
  std::unique_ptr<LocalSolver> solver;
  std::vector<float> initial;
};

// Full batches, step by step on an executor whose frozen copy is `received`.
std::vector<float> by_hand(const FusionBench& bench, const std::vector<float>& received, int steps) {
  Executor executor(bench.network, 6);
  executor.load(received);
  executor.freeze();
  const auto rows = static_cast<std::uint32_t>(kPoints.size());
  std::vector<float> flat = received;
  std::vector<float> gradient(bench.network->parameters());
  for (int step = 0; step < steps; ++step) {
    for (std::uint32_t i = 0; i < rows; ++i) {
      executor.input(rows)[2 * i] = kPoints[i].x0;
      executor.input(rows)[2 * i + 1] = kPoints[i].x1;
      executor.labels(rows)[i] = kPoints[i].label;
    }
    executor.load(flat);
    executor.gradient(rows, gradient);
    for (std::size_t i = 0; i < gradient.size(); ++i) flat[i] -= 0.2f * gradient[i];
  }
  return flat;
}

TEST(FusionObjective, FreezesTheReceivedExtractorInEveryTask) {
  for (const char* fusion : {"conv", "multi", "single"}) {
    FusionBench bench(fusion);
    std::vector<float> model = bench.initial;
    for (int task = 0; task < 3; ++task) {
      const std::vector<float> wanted = by_hand(bench, model, 4);
      const std::vector<float> got = bench.train(model);
      ASSERT_EQ(got.size(), wanted.size());
      for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-5) << fusion << " " << i;
      model = got;
    }
    const ParameterRange range = bench.network->fusion();
    EXPECT_NE(model[range.offset], bench.initial[range.offset]) << fusion;
  }
}

TEST(FusionObjective, TrialsTrainBesideAFrozenCopyToo) {
  FusionBench bench("multi");
  EXPECT_EQ(bench.train(bench.initial, LocalWork{.epochs = 4}), bench.train(bench.initial));
}

TEST(FusionObjective, IsTheOnlyOneThatChangesTheNetwork) {
  for (const CatalogueEntry& entry : objectives()) {
    EXPECT_EQ(fusion_of({.name = entry.name}).has_value(), entry.name == "fusion");
  }
  EXPECT_EQ(fusion_of({.name = "fusion"}), Fusion::kConv);
  EXPECT_EQ(fusion_of({.name = "fusion", .fusion = "multi"}), Fusion::kMulti);
  EXPECT_EQ(fusion_of({.name = "fusion", .fusion = "single"}), Fusion::kSingle);
}

}  // namespace
}  // namespace muster
