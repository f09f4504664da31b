// The objective mmd: its first step is the plain one, lambda = 0 is the plain objective, later steps follow the
// formula, and the frozen copy is the model as received.
#include <gtest/gtest.h>

#include <cmath>

#include "solver/local_solver.h"
#include "solver/points.h"

namespace muster {
namespace {

// Two overlapping heaps.
std::vector<Point> heaps(std::uint32_t count) {
  Stream stream({.seed = 5, .purpose = Purpose::kTest});
  std::vector<Point> points;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::int32_t label = static_cast<std::int32_t>(i % 2);
    points.push_back({static_cast<float>(stream.normal() + label), static_cast<float>(stream.normal()), label});
  }
  return points;
}

struct MmdBench {
  MmdBench(const ObjectiveOptions& term, const ModelOptions& model, LocalOptions local = {.batch_size = 16})
      : data({heaps(40)}), network(*make_network(model, data.shape(), data.classes())) {
    local.objective = term;
    objective = std::move(make_objective(term)).value();
    solver = std::make_unique<LocalSolver>(network, data, local, Augmentation{}, *objective, states, 3);
    initial.resize(network->size());
    Stream stream({.seed = 1, .purpose = Purpose::kTest});
    network->initialise(initial, stream);
  }
  LocalUpdate train(std::optional<double> epochs = {}, std::optional<LocalWork> trial = {}) {
    return std::get<LocalUpdate>(
        solver->train({.client = kFirst, .round = 1, .model = initial, .epochs = epochs, .trial = trial}).value());
  }

  Points data;
  std::shared_ptr<const Network> network;
  ClientStates states{{}};
  std::unique_ptr<Objective> objective;
  std::unique_ptr<LocalSolver> solver;
  std::vector<float> initial;
};

const ObjectiveOptions kPlain{};
const ObjectiveOptions kMmd{.name = "mmd", .lambda = 0.1};

// With dropout and batch statistics: were the streams to see other draws, the first step would differ.
const ModelOptions kModels[] = {
    {.name = "softmax"},
    {.name = "layers",
     .layers = LayerList{{"dense 9"}, {"batch-norm"}, {"relu"}, {"dropout 0.4"}, {"dense 5"}, {"tanh"}}},
};

LocalOptions steps(std::uint32_t count) {
  return {.steps = count, .batch_size = 16, .learning_rate = 0.1};
}

TEST(MmdObjective, WithoutWeightIsThePlainOneBitForBit) {
  for (const ModelOptions& model : kModels) {
    const LocalUpdate plain = MmdBench(kPlain, model, steps(9)).train();
    const LocalUpdate mmd = MmdBench({.name = "mmd", .lambda = 0}, model, steps(9)).train();
    EXPECT_EQ(plain.model, mmd.model);
    EXPECT_EQ(plain.loss, mmd.loss);
  }
}

TEST(MmdObjective, TheFirstStepIsThePlainOneAndTheSecondIsNot) {
  for (const ModelOptions& model : kModels) {
    EXPECT_EQ(MmdBench(kPlain, model, steps(1)).train().model, MmdBench(kMmd, model, steps(1)).train().model);
    EXPECT_NE(MmdBench(kPlain, model, steps(2)).train().model, MmdBench(kMmd, model, steps(2)).train().model);
  }
}

TEST(MmdObjective, EqualTasksGiveEqualModels) {
  MmdBench bench(kMmd, kModels[1], steps(7));
  const LocalUpdate once = bench.train();
  EXPECT_EQ(bench.train().model, once.model);
  EXPECT_EQ(MmdBench(kMmd, kModels[1], steps(7)).train().model, once.model);
}

// A trial minimises the client's own loss alone, also after a task that did not.
TEST(MmdObjective, TrialsAreFreeOfIt) {
  MmdBench mmd(kMmd, kModels[0], steps(7));
  (void)mmd.train();
  MmdBench plain(kPlain, kModels[0], steps(7));
  EXPECT_EQ(mmd.train({}, LocalWork{.steps = 5}).model, plain.train({}, LocalWork{.steps = 5}).model);
}

// Softmax regression on a full batch in double, two steps.
TEST(MmdObjective, TheSecondStepFollowsTheFormula) {
  const std::vector<Point> points = heaps(40);
  const auto logits = [&](const Model& w) {
    std::vector<std::array<double, 2>> rows;
    for (const Point& p : points) {
      rows.push_back({w[0] * p.x0 + w[2] * p.x1 + w[4], w[1] * p.x0 + w[3] * p.x1 + w[5]});
    }
    return rows;
  };
  const auto squared_mmd = [&](const Model& received, const Model& w) {
    const auto x = logits(received);
    const auto y = logits(w);
    const auto mean = [](const auto& a, const auto& b) {
      double sum = 0;
      for (const auto& u : a) {
        for (const auto& v : b) {
          const double squares = std::pow(u[0] - v[0], 2) + std::pow(u[1] - v[1], 2);
          for (const float rate : output_match_rates()) sum += std::exp(-squares * double{rate});
        }
      }
      return sum / static_cast<double>(a.size() * b.size());
    };
    return mean(x, x) + mean(y, y) - 2 * mean(x, y);
  };
  constexpr double kRate = 0.5;
  constexpr double kLambda = 0.2;
  MmdBench bench({.name = "mmd", .lambda = kLambda}, kModels[0],
                 {.steps = 2, .batch_size = 40, .learning_rate = kRate});
  const Model received(bench.initial.begin(), bench.initial.end());
  Model w = received;
  for (int step = 0; step < 2; ++step) {
    Model gradient = mean_gradient(w, points);
    for (std::size_t i = 0; i < w.size() && step > 0; ++i) {
      constexpr double kStep = 1e-6;
      Model above = w;
      Model below = w;
      above[i] += kStep;
      below[i] -= kStep;
      gradient[i] += kLambda * (squared_mmd(received, above) - squared_mmd(received, below)) / (2 * kStep);
    }
    for (std::size_t i = 0; i < w.size(); ++i) w[i] -= kRate * gradient[i];
  }
  const LocalUpdate update = bench.train();
  for (std::size_t i = 0; i < w.size(); ++i) EXPECT_NEAR(update.model[i], w[i], 2e-5) << i;
}

TEST(MmdObjective, ALargeWeightHoldsTheOutputs) {
  const auto moved = [](double lambda) {
    MmdBench bench({.name = "mmd", .lambda = lambda}, kModels[0],
                   {.epochs = 20, .batch_size = 40, .learning_rate = 0.01});
    const LocalUpdate update = bench.train();
    double squares = 0;
    for (std::size_t i = 0; i < update.model.size(); ++i) {
      squares += std::pow(double{update.model[i]} - bench.initial[i], 2);
    }
    return std::sqrt(squares);
  };
  EXPECT_LT(moved(1), 0.7 * moved(0));
}

}  // namespace
}  // namespace muster
