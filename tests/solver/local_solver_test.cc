#include "solver/local_solver.h"

#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/hash.h"
#include "base/hash.h"
#include "solver/points.h"

namespace muster {
namespace {

using testing::FloatNear;
using testing::Pointwise;

constexpr std::uint64_t kSeed = 3;
// Both classes score alike at every point, so every sample's probabilities are (1/2, 1/2) and its gradient is
// x (1/2 - y): what follows can be checked without a calculator.
const std::vector<float> kEven{1, 1, 2, 2, 3, 3};
// At kEven: for W -1/4, 1/4, 1/4, -1/4; the biases' gradients cancel.
const std::vector<Point> kPair{{1, 0, 0}, {0, 1, 1}};
// At kEven: for W (-1/2 - 1/2, +, 0 - 1/2 + 1/2, +) / 3 and for b (-1/2, 1/2) / 3.
const std::vector<Point> kTriple{{1, 0, 0}, {0, 1, 1}, {1, 1, 0}};

std::vector<Point> many(std::uint32_t count) {
  Stream stream({.seed = 5, .purpose = Purpose::kTest});
  std::vector<Point> points;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto x0 = static_cast<float>(stream.normal());
    const auto x1 = static_cast<float>(stream.normal());
    points.push_back({x0, x1, x0 + 0.3f * x1 > 0 ? 1 : 0});
  }
  return points;
}

Model wide(std::span<const float> model) {
  return {model.begin(), model.end()};
}

Model minus(Model a, const Model& b, double factor) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] -= factor * b[i];
  return a;
}

MATCHER_P(Close, tolerance, "") {
  return std::abs(static_cast<double>(std::get<0>(arg)) - static_cast<double>(std::get<1>(arg))) <= tolerance;
}

// A solver over written-down clients.
struct Bench {
  Bench(const std::vector<std::vector<Point>>& train, const LocalOptions& local,
        const std::vector<std::vector<Point>>& test = {}, std::uint64_t seed = kSeed,
        const Augmentation& augmentation = {})
      : data(train, test),
        network(*make_network({.name = "softmax"}, data.shape(), data.classes())),
        objective(std::move(make_objective(local.objective)).value()),
        solver(network, data, local, augmentation, *objective, states, seed) {}

  TrainReply reply(TrainTask task) {
    if (task.round == 0) task.round = 1;
    auto result = solver.train(task);
    EXPECT_TRUE(result.ok()) << result.error().message;
    return std::move(result).value();
  }
  LocalUpdate train(const TrainTask& task) {
    TrainReply answer = reply(task);
    EXPECT_TRUE(std::holds_alternative<LocalUpdate>(answer));
    return std::get<LocalUpdate>(std::move(answer));
  }
  std::vector<float> state(ClientId client, std::uint8_t slot, std::size_t size = 6) {
    std::vector<float> values(size);
    const auto present = states.get(client, slot, values);
    EXPECT_TRUE(present.ok());
    return present.ok() && *present ? values : std::vector<float>();
  }

  Points data;
  std::shared_ptr<const Network> network;
  ClientStates states{{}};
  std::unique_ptr<Objective> objective;
  LocalSolver solver;
};

// One full batch per epoch: the order of samples plays no part.
LocalOptions full_batch(double learning_rate = 1) {
  return {.batch_size = 8, .learning_rate = learning_rate};
}

TEST(LocalSolver, TakesOneStepByHand) {
  Bench bench({kPair}, full_batch(0.4));
  const LocalUpdate update = bench.train({.client = kFirst, .model = kEven});
  EXPECT_THAT(update.model, Pointwise(FloatNear(1e-6f), {1.1f, 0.9f, 1.9f, 2.1f, 3.0f, 3.0f}));
  EXPECT_EQ(update.client, kFirst);
  EXPECT_EQ(update.samples, 2u);
  EXPECT_EQ(update.steps, 1u);
  EXPECT_EQ(update.samples_trained, 2u);
  EXPECT_NEAR(update.loss, std::log(2), 1e-6);
  EXPECT_FALSE(update.loss_after);
  EXPECT_TRUE(update.payload.empty());
  EXPECT_EQ(bench.states.size(), 0u);
}

TEST(LocalSolver, WeightDecayPullsEveryWeightTowardsZero) {
  LocalOptions local = full_batch(0.4);
  local.weight_decay = 0.5;
  const LocalUpdate update = Bench({kPair}, local).train({.client = kFirst, .model = kEven});
  // w - 0.4 (g + 0.5 w)
  EXPECT_THAT(update.model, Pointwise(FloatNear(1e-6f), {0.9f, 0.7f, 1.5f, 1.7f, 2.4f, 2.4f}));
}

TEST(LocalSolver, TheRateDecaysFromTheSecondRoundOn) {
  LocalOptions local = full_batch(0.4);
  local.learning_rate_decay = 0.5;
  Bench bench({kPair}, local);
  for (const auto& [round, step] : {std::pair(1u, 0.1f), std::pair(2u, 0.05f), std::pair(3u, 0.025f)}) {
    const LocalUpdate update = bench.train({.client = kFirst, .round = round, .model = kEven});
    EXPECT_NEAR(update.model[0], 1 + step, 1e-6) << round;
  }
}

TEST(LocalSolver, ReportsTheLossOfTheLastEpochBeforeItsStepsAndOfTheEnd) {
  LocalOptions local = full_batch(0.4);
  local.epochs = 3;
  Bench bench({kTriple}, local);
  Model model = wide(kEven);
  for (int step = 0; step < 2; ++step) model = minus(model, mean_gradient(model, kTriple), 0.4);
  const double before_last = mean_loss(model, kTriple);
  model = minus(model, mean_gradient(model, kTriple), 0.4);
  const LocalUpdate update = bench.train({.client = kFirst, .model = kEven, .measure = true});
  EXPECT_EQ(update.steps, 3u);
  EXPECT_EQ(update.samples_trained, 9u);
  EXPECT_THAT(update.model, Pointwise(Close(1e-5), model));
  EXPECT_NEAR(update.loss, before_last, 1e-5);
  ASSERT_TRUE(update.loss_after);
  EXPECT_NEAR(*update.loss_after, mean_loss(model, kTriple), 1e-5);
}

TEST(LocalSolver, ShortBatchesAreMeansOverTheirOwnSamples) {
  // Equal samples: whatever the order, every step is the same, also that of the last batch, which has one sample.
  const std::vector<Point> equal(3, Point{1, 2, 1});
  LocalOptions local{.batch_size = 2, .learning_rate = 0.1};
  const LocalUpdate update = Bench({equal}, local).train({.client = kFirst, .model = kEven});
  Model model = wide(kEven);
  for (int step = 0; step < 2; ++step) model = minus(model, mean_gradient(model, equal), 0.1);
  EXPECT_EQ(update.steps, 2u);
  EXPECT_EQ(update.samples_trained, 3u);
  EXPECT_THAT(update.model, Pointwise(Close(1e-5), model));
}

TEST(LocalSolver, TheLossOfAnEpochIsAMeanOverSamplesNotOverBatches) {
  // A rate of nearly nothing: every loss is that of the received model. Batches of 2 and 1 of unequal samples.
  LocalOptions local{.batch_size = 2, .learning_rate = 1e-9};
  const std::vector<float> model{1, -1, 0.5f, 2, 0, 0};
  const LocalUpdate update = Bench({kTriple}, local).train({.client = kFirst, .model = model, .measure = true});
  EXPECT_NEAR(update.loss, mean_loss(wide(model), kTriple), 1e-5);
  EXPECT_NEAR(*update.loss_after, mean_loss(wide(model), kTriple), 1e-5);
}

struct BudgetCase {
  const char* name;
  double epochs;
  std::optional<std::uint32_t> steps;
  double work;
  std::uint64_t expected_steps;
  std::uint64_t expected_samples;
};

class Budget : public testing::TestWithParam<BudgetCase> {};

// Five samples in batches of two: 2 + 2 + 1.
TEST_P(Budget, IsKept) {
  const BudgetCase& budget = GetParam();
  LocalOptions local{.epochs = budget.epochs, .steps = budget.steps, .batch_size = 2, .learning_rate = 0.01};
  const LocalUpdate update = Bench({many(5)}, local).train({.client = kFirst, .model = kEven, .work = budget.work});
  EXPECT_EQ(update.steps, budget.expected_steps);
  EXPECT_EQ(update.samples_trained, budget.expected_samples);
}

INSTANTIATE_TEST_SUITE_P(
    LocalSolver, Budget,
    testing::Values(BudgetCase{"one_epoch", 1, {}, 1, 3, 5}, BudgetCase{"three_epochs", 3, {}, 1, 9, 15},
                    BudgetCase{"one_and_a_half", 1.5, {}, 1, 5, 9}, BudgetCase{"a_third", 1.0 / 3, {}, 1, 1, 2},
                    BudgetCase{"steps_instead_of_epochs", 7, 4, 1, 4, 7}, BudgetCase{"no_steps", 1, 0, 1, 0, 0},
                    // Stragglers: a share of the batches of one epoch, whole epochs 1 to E - 1 of several.
                    BudgetCase{"half_of_one_epoch", 1, {}, 0.5, 1, 2}, BudgetCase{"most_of_one", 1, {}, 0.99, 2, 4},
                    BudgetCase{"none_of_one_is_a_step", 1, {}, 0, 1, 2}, BudgetCase{"least_of_four", 4, {}, 0, 3, 5},
                    BudgetCase{"half_of_four", 4, {}, 0.5, 6, 10}, BudgetCase{"most_of_four", 4, {}, 0.999, 9, 15},
                    BudgetCase{"most_of_two_is_one", 2, {}, 0.999, 3, 5},
                    BudgetCase{"part_of_steps", 1, 10, 0.35, 3, 5}),
    [](const auto& budget) { return budget.param.name; });

TEST(LocalSolver, ATaskMaySayItsOwnEpochs) {
  LocalOptions local{.epochs = 1, .steps = 2, .batch_size = 2, .learning_rate = 0.01};
  Bench bench({many(5)}, local);
  EXPECT_EQ(bench.train({.client = kFirst, .model = kEven}).steps, 2u);
  EXPECT_EQ(bench.train({.client = kFirst, .model = kEven, .epochs = 3.0}).steps, 9u);
}

TEST(LocalSolver, OrderOfSamplesDependsOnSeedRoundClientAndPartAlone) {
  const std::vector<Point> points = many(8);
  const LocalOptions local{.batch_size = 1, .learning_rate = 0.5};
  Bench bench({points, points}, local);
  const auto trained = [](Bench& with, ClientId client, std::uint32_t round, std::uint32_t part) {
    return with.train({.client = client, .round = round, .part = part, .model = kEven}).model;
  };
  const std::vector<float> usual = trained(bench, kFirst, 1, 0);
  EXPECT_NE(trained(bench, kFirst, 1, 1), usual);
  EXPECT_NE(trained(bench, kFirst, 2, 0), usual);
  EXPECT_NE(trained(bench, kSecond, 1, 0), usual);
  EXPECT_EQ(trained(bench, kFirst, 1, 0), usual);
  Bench again({points, points}, local);
  EXPECT_EQ(trained(again, kFirst, 1, 0), usual);
  Bench other({points, points}, local, {}, kSeed + 1);
  EXPECT_NE(trained(other, kFirst, 1, 0), usual);
}

TEST(LocalSolver, EveryEpochHasAnOrderOfItsOwn) {
  // A second task that starts where the first epoch ended takes the first epoch's order again: not what a second epoch
  // does.
  const std::vector<Point> points = many(8);
  LocalOptions local{.batch_size = 1, .learning_rate = 0.5};
  const std::vector<float> first = Bench({points}, local).train({.client = kFirst, .model = kEven}).model;
  const std::vector<float> repeated = Bench({points}, local).train({.client = kFirst, .model = first}).model;
  local.epochs = 2;
  EXPECT_NE(Bench({points}, local).train({.client = kFirst, .model = kEven}).model, repeated);
}

// A shifted point is out of its picture of one pixel, all zeros: which samples of equal ones are shifted is all that
// augmentation changes, and the order of the samples plays no part.
constexpr Augmentation kShifts{.crop_padding = 1};

TEST(LocalSolver, AugmentationDependsOnSeedRoundClientAndPartAlone) {
  const std::vector<std::vector<Point>> clients(2, std::vector<Point>(40, Point{1, 2, 1}));
  const LocalOptions local{.batch_size = 1, .learning_rate = 0.5};
  Bench bench(clients, local, {}, kSeed, kShifts);
  const auto trained = [](Bench& with, ClientId client, std::uint32_t round, std::uint32_t part) {
    return with.train({.client = client, .round = round, .part = part, .model = kEven}).model;
  };
  const std::vector<float> usual = trained(bench, kFirst, 1, 0);
  EXPECT_NE(trained(bench, kFirst, 1, 1), usual);
  EXPECT_NE(trained(bench, kFirst, 2, 0), usual);
  EXPECT_NE(trained(bench, kSecond, 1, 0), usual);
  EXPECT_EQ(trained(bench, kFirst, 1, 0), usual);
  Bench other(clients, local, {}, kSeed + 1, kShifts);
  EXPECT_NE(trained(other, kFirst, 1, 0), usual);
  Bench plain(clients, local);
  EXPECT_NE(trained(plain, kFirst, 1, 0), usual);
}

TEST(LocalSolver, EveryEpochIsAugmentedAnewAndEvaluationIsNot) {
  const std::vector<std::vector<Point>> clients{std::vector<Point>(40, Point{1, 2, 1})};
  LocalOptions local{.batch_size = 1, .learning_rate = 0.5};
  const auto train = [&](const std::vector<float>& model) {
    return Bench(clients, local, {}, kSeed, kShifts).train({.client = kFirst, .model = model, .measure = true});
  };
  const LocalUpdate first = train(kEven);
  EXPECT_NEAR(*first.loss_after, mean_loss(wide(first.model), clients[0]), 1e-5);
  const std::vector<float> repeated = train(first.model).model;
  local.epochs = 2;
  EXPECT_NE(train(kEven).model, repeated);
}

TEST(LocalSolver, VisitsEverySampleOncePerEpoch) {
  // Steps too small to matter: the sum of eight steps of one sample each is eight times the mean gradient.
  const std::vector<Point> points = many(8);
  constexpr double kRate = 1e-3;
  const LocalOptions local{.batch_size = 1, .learning_rate = kRate};
  const std::vector<float> model(6, 0.0f);
  const LocalUpdate update = Bench({points}, local).train({.client = kFirst, .model = model});
  const Model expected = minus(wide(model), mean_gradient(wide(model), points), 8 * kRate);
  EXPECT_THAT(update.model, Pointwise(Close(2e-5), expected));
}

TEST(LocalSolver, ProxIsAnchoredAtTheReceivedModel) {
  LocalOptions local = full_batch(0.4);
  local.epochs = 2;
  local.objective = {.name = "prox", .mu = 0.5};
  Bench bench({kPair}, local);
  // Twice, from different models: the anchor is the model of the task, not that of the first.
  for (const std::vector<float>& received : {kEven, std::vector<float>{0, 0, 0, 0, 1, -1}}) {
    Model model = wide(received);
    for (int step = 0; step < 2; ++step) {
      const Model away = minus(model, wide(received), 1);
      model = minus(minus(model, mean_gradient(model, kPair), 0.4), away, 0.4 * 0.5);
    }
    EXPECT_THAT(bench.train({.client = kFirst, .model = received}).model, Pointwise(Close(1e-5), model));
  }
  EXPECT_EQ(bench.states.size(), 0u);
}

TEST(LocalSolver, WeightDecayAndTheObjectiveAddUp) {
  LocalOptions local = full_batch(0.4);
  local.epochs = 2;
  local.weight_decay = 0.25;
  local.objective = {.name = "prox", .mu = 0.5};
  Model model = wide(kEven);
  for (int step = 0; step < 2; ++step) {
    const Model away = minus(model, wide(kEven), 1);
    const Model at = model;
    model = minus(minus(minus(at, mean_gradient(at, kPair), 0.4), away, 0.4 * 0.5), at, 0.4 * 0.25);
  }
  EXPECT_THAT(Bench({kPair}, local).train({.client = kFirst, .model = kEven}).model, Pointwise(Close(1e-5), model));
}

TEST(LocalSolver, ControlsFromStepsFollowOptionTwo) {
  LocalOptions local = full_batch(0.4);
  local.epochs = 2;
  local.objective = {.name = "control-variate", .control = "steps"};
  Bench bench({kPair}, local);
  const std::vector<float> own{0.1f, 0.2f, 0.3f, 0.4f, 0.5f, 0.6f};
  const std::vector<float> servers{0.6f, 0.4f, 0.2f, 0, -0.2f, -0.4f};
  ASSERT_TRUE(bench.states.put(kFirst, kObjectiveSlot, own).ok());
  // Every step also goes against c - c_i.
  const Model drift = minus(wide(servers), wide(own), 1);
  Model model = wide(kEven);
  for (int step = 0; step < 2; ++step) {
    model = minus(minus(model, mean_gradient(model, kPair), 0.4), drift, 0.4);
  }
  const LocalUpdate update = bench.train({.client = kFirst, .model = kEven, .broadcast = servers});
  EXPECT_THAT(update.model, Pointwise(Close(1e-5), model));
  // c_i - c + (received - trained) / (steps * rate); the payload is what changed.
  Model next = wide(own);
  Model change(6);
  for (std::size_t i = 0; i < 6; ++i) {
    next[i] += -servers[i] + (kEven[i] - model[i]) / (2 * 0.4);
    change[i] = next[i] - own[i];
  }
  EXPECT_THAT(bench.state(kFirst, kObjectiveSlot), Pointwise(Close(1e-5), next));
  EXPECT_THAT(update.payload, Pointwise(Close(1e-5), change));
}

TEST(LocalSolver, ControlsFromStepsUseTheDecayedRate) {
  LocalOptions local = full_batch(0.4);
  local.learning_rate_decay = 0.5;
  local.objective = {.name = "control-variate", .control = "steps"};
  Bench bench({kPair}, local);
  (void)bench.train({.client = kFirst, .round = 3, .model = kEven});
  // One step from no controls: the control is the gradient, whatever the rate.
  EXPECT_THAT(bench.state(kFirst, kObjectiveSlot), Pointwise(Close(1e-5), {-0.25, 0.25, 0.25, -0.25, 0.0, 0.0}));
}

TEST(LocalSolver, ControlsFromGradientsWeighTheShortBatchBySamples) {
  // Batches of two and of one: the mean over three samples, not over two batches.
  LocalOptions local{.batch_size = 2, .learning_rate = 0.1};
  local.objective = {.name = "control-variate", .control = "gradient"};
  Bench bench({kTriple}, local);
  const LocalUpdate update = bench.train({.client = kFirst, .model = kEven});
  const Model expected{-1.0 / 3, 1.0 / 3, 0, 0, -1.0 / 6, 1.0 / 6};
  EXPECT_THAT(bench.state(kFirst, kObjectiveSlot), Pointwise(Close(1e-6), expected));
  EXPECT_THAT(update.payload, Pointwise(Close(1e-6), expected));
  EXPECT_EQ(update.steps, 2u);
  EXPECT_EQ(update.samples_trained, 3u);

  // At the received model, not at the trained one; and the payload is the change.
  const std::vector<float> before = bench.state(kFirst, kObjectiveSlot);
  const std::vector<float> other{0.5f, -0.5f, 1, 0, 0, 0};
  const LocalUpdate second = bench.train({.client = kFirst, .model = other});
  const Model gradient = mean_gradient(wide(other), kTriple);
  EXPECT_THAT(bench.state(kFirst, kObjectiveSlot), Pointwise(Close(1e-5), gradient));
  EXPECT_THAT(second.payload, Pointwise(Close(1e-5), minus(gradient, wide(before), 1)));
}

TEST(LocalSolver, DynamicStateGathersWhatWasWalked) {
  LocalOptions local = full_batch(0.4);
  local.objective = {.name = "dynamic", .alpha = 0.5};
  Bench bench({kPair}, local);
  // Round 1: no state, and at the received model the quadratic term is flat, so the step is the plain one.
  const LocalUpdate first = bench.train({.client = kFirst, .model = kEven});
  EXPECT_THAT(first.model, Pointwise(FloatNear(1e-6f), {1.1f, 0.9f, 1.9f, 2.1f, 3.0f, 3.0f}));
  EXPECT_TRUE(first.payload.empty());
  // g - alpha (trained - received)
  EXPECT_THAT(bench.state(kFirst, kObjectiveSlot),
              Pointwise(FloatNear(1e-6f), {-0.05f, 0.05f, 0.05f, -0.05f, 0.f, 0.f}));
  // Round 2, from the same model: the gradient loses g; w + 0.4 (0.25 - 0.05) and so on.
  const LocalUpdate second = bench.train({.client = kFirst, .round = 2, .model = kEven});
  EXPECT_THAT(second.model, Pointwise(FloatNear(1e-6f), {1.08f, 0.92f, 1.92f, 2.08f, 3.0f, 3.0f}));
  EXPECT_THAT(bench.state(kFirst, kObjectiveSlot),
              Pointwise(FloatNear(1e-6f), {-0.09f, 0.09f, 0.09f, -0.09f, 0.f, 0.f}));
  // The other client has none of it.
  EXPECT_TRUE(bench.state(kSecond, kObjectiveSlot).empty());
}

TEST(LocalSolver, MomentumBuildsUpWithinATask) {
  LocalOptions local = full_batch(1e-3);
  local.epochs = 2;
  local.momentum = 0.5;
  const LocalUpdate update = Bench({kPair}, local).train({.client = kFirst, .model = kEven});
  // The gradient hardly changes: g, then 1.5 g.
  EXPECT_NEAR(update.model[0], 1 + 2.5 * 0.25e-3, 1e-6);
}

TEST(LocalSolver, MomentumOutlivesTheTaskOnlyWhereItIsKept) {
  for (const bool keep : {false, true}) {
    LocalOptions local = full_batch(0.4);
    local.momentum = 0.5;
    local.keep_optimizer = keep;
    Bench bench({kPair, kPair}, local);
    for (const std::uint32_t round : {1u, 2u, 3u}) {
      const LocalUpdate update = bench.train({.client = kFirst, .round = round, .model = kEven});
      // Kept, the velocity is g, 1.5 g, 1.75 g.
      const double velocity = keep ? 2 - std::pow(0.5, round - 1) : 1;
      EXPECT_NEAR(update.model[0], 1 + 0.1 * velocity, 1e-6) << keep << " round " << round;
    }
    // Another client's is its own.
    EXPECT_NEAR(bench.train({.client = kSecond, .round = 3, .model = kEven}).model[0], 1.1, 1e-6) << keep;
    EXPECT_EQ(bench.states.size(), keep ? 2u : 0u);
  }
}

TEST(LocalSolver, AdamKeepsItsMomentsAndItsStepCount) {
  for (const bool keep : {false, true}) {
    LocalOptions local = full_batch(0.01);
    local.optimizer = "adam";
    local.keep_optimizer = keep;
    Bench bench({kPair}, local);
    for (const std::uint32_t round : {1u, 2u, 3u}) {
      // Of a constant gradient the corrected moments are g and g^2: every step is as long as the rate.
      const LocalUpdate update = bench.train({.client = kFirst, .round = round, .model = kEven});
      EXPECT_NEAR(update.model[0], 1.01, 1e-5) << keep << " round " << round;
    }
    ASSERT_EQ(bench.states.size(), keep ? 1u : 0u);
    if (keep) {
      const std::vector<float> state = bench.state(kFirst, kOptimizerSlot, 13);
      EXPECT_EQ(state.back(), 3);
      EXPECT_NEAR(state[0], -0.25 * (1 - 0.9 * 0.9 * 0.9), 1e-6);
    }
  }
}

TEST(LocalSolver, ATrialLeavesNoTraceAndHasNoObjective) {
  LocalOptions local = full_batch(0.4);
  local.epochs = 5;
  local.momentum = 0.5;
  local.keep_optimizer = true;
  local.objective = {.name = "dynamic", .alpha = 0.5};
  Bench bench({kPair}, local);
  (void)bench.train({.client = kFirst, .model = kEven});
  const std::vector<float> objective_state = bench.state(kFirst, kObjectiveSlot);
  const std::vector<float> optimizer_state = bench.state(kFirst, kOptimizerSlot);
  ASSERT_FALSE(objective_state.empty());
  ASSERT_FALSE(optimizer_state.empty());
  const LocalUpdate trial = bench.train({.client = kFirst, .round = 2, .model = kEven, .trial = LocalWork{.steps = 1}});
  EXPECT_EQ(trial.steps, 1u);
  EXPECT_THAT(trial.model, Pointwise(FloatNear(1e-6f), {1.1f, 0.9f, 1.9f, 2.1f, 3.0f, 3.0f}));
  EXPECT_TRUE(trial.payload.empty());
  EXPECT_EQ(bench.state(kFirst, kObjectiveSlot), objective_state);
  EXPECT_EQ(bench.state(kFirst, kOptimizerSlot), optimizer_state);
  const LocalUpdate epochs =
      bench.train({.client = kFirst, .round = 2, .model = kEven, .trial = LocalWork{.epochs = 2}});
  EXPECT_EQ(epochs.steps, 2u);
}

TEST(LocalSolver, ANonFiniteModelIsDroppedAndNothingIsRemembered) {
  LocalOptions local = full_batch(0.4);
  local.momentum = 0.5;
  local.keep_optimizer = true;
  local.objective = {.name = "dynamic", .alpha = 0.5};
  Bench bench({kPair}, local);
  (void)bench.train({.client = kFirst, .model = kEven, .own_model = true});
  std::vector<float> objective_state = bench.state(kFirst, kObjectiveSlot);
  std::vector<float> optimizer_state = bench.state(kFirst, kOptimizerSlot);
  std::vector<float> own = bench.state(kFirst, kModelSlot);
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    std::vector<float> broken = kEven;
    broken[1] = bad;
    const TrainReply reply = bench.reply({.client = kFirst, .round = 2, .model = broken});
    ASSERT_TRUE(std::holds_alternative<Dropped>(reply));
    EXPECT_EQ(std::get<Dropped>(reply).client, kFirst);
    EXPECT_EQ(std::get<Dropped>(reply).reason, DropReason::kNonFinite);
  }
  EXPECT_EQ(bench.state(kFirst, kObjectiveSlot), objective_state);
  EXPECT_EQ(bench.state(kFirst, kOptimizerSlot), optimizer_state);
  EXPECT_EQ(bench.state(kFirst, kModelSlot), own);
  // A broken own model drops the client as well.
  own[0] = std::numeric_limits<float>::quiet_NaN();
  ASSERT_TRUE(bench.states.put(kFirst, kModelSlot, own).ok());
  EXPECT_TRUE(std::holds_alternative<Dropped>(bench.reply({.client = kFirst, .model = kEven, .own_model = true})));
}

TEST(LocalSolver, TrainingThatDivergesIsDropped) {
  // One epoch: only the model shows it, for every loss was finite. Four: a loss does.
  for (const double epochs : {1.0, 4.0}) {
    LocalOptions local = full_batch(1e38);
    local.epochs = epochs;
    local.weight_decay = 10;
    const TrainReply reply = Bench({kPair}, local).reply({.client = kFirst, .model = kEven});
    ASSERT_TRUE(std::holds_alternative<Dropped>(reply)) << epochs;
    EXPECT_EQ(std::get<Dropped>(reply).reason, DropReason::kNonFinite);
  }
}

TEST(LocalSolver, AModelWhoseLossCannotBeMeasuredIsDroppedWhereItIs) {
  // One step makes weights of 1e38: finite, but times 10 they are not.
  Bench bench({{{10, 0, 0}}}, full_batch(2e37));
  EXPECT_TRUE(std::holds_alternative<LocalUpdate>(bench.reply({.client = kFirst, .model = kEven})));
  const TrainReply reply = bench.reply({.client = kFirst, .model = kEven, .measure = true});
  ASSERT_TRUE(std::holds_alternative<Dropped>(reply));
  EXPECT_EQ(std::get<Dropped>(reply).reason, DropReason::kNonFinite);
}

TEST(LocalSolver, WithoutAStepNothingIsRemembered) {
  LocalOptions local = full_batch(0.4);
  local.steps = 0;
  local.objective = {.name = "control-variate", .control = "steps"};
  Bench bench({kPair}, local);
  const LocalUpdate update = bench.train({.client = kFirst, .model = kEven});
  EXPECT_EQ(update.model, kEven);
  EXPECT_EQ(update.loss, 0);
  EXPECT_THAT(update.payload, testing::Each(0.0f));
  EXPECT_EQ(bench.states.size(), 0u);
}

TEST(LocalSolver, AClientWithoutSamplesIsDropped) {
  Bench bench({kPair, {}}, full_batch());
  const TrainReply reply = bench.reply({.client = kSecond, .model = kEven});
  ASSERT_TRUE(std::holds_alternative<Dropped>(reply));
  EXPECT_EQ(std::get<Dropped>(reply).reason, DropReason::kNoSamples);
  EXPECT_EQ(std::get<Dropped>(reply).client, kSecond);
}

TEST(LocalSolver, AnOwnModelIsTheStartAndIsKept) {
  Bench bench({kPair, kPair}, full_batch(0.4));
  const LocalUpdate update = bench.train({.client = kFirst, .model = kEven, .own_model = true});
  const std::vector<float> first = bench.state(kFirst, kModelSlot);
  EXPECT_TRUE(update.model.empty()) << "it stays with the client";
  EXPECT_EQ(update.own_model, hash_bytes(first.data(), first.size() * sizeof(float)));
  // Not from the model given, and not without being asked.
  const std::vector<float> zero(6, 0.0f);
  (void)bench.train({.client = kFirst, .round = 2, .model = zero, .own_model = true});
  const std::vector<float> second = bench.state(kFirst, kModelSlot);
  const Model expected = minus(wide(first), mean_gradient(wide(first), kPair), 0.4);
  EXPECT_THAT(second, Pointwise(Close(1e-5), expected));
  const LocalUpdate shared = bench.train({.client = kFirst, .round = 3, .model = kEven});
  EXPECT_EQ(shared.model, first);
  EXPECT_EQ(shared.own_model, 0u);
  EXPECT_EQ(bench.state(kFirst, kModelSlot), second);
  // A client that has none starts from the model given, not from its predecessor's.
  (void)bench.train({.client = kSecond, .model = kEven, .own_model = true});
  EXPECT_EQ(bench.state(kSecond, kModelSlot), first);
}

TEST(LocalSolver, EvaluatesAClientWithItsOwnModelOrTheOneGiven) {
  const std::vector<Point> test{{2, 0, 0}, {0, 1, 1}, {3, 0, 1}};
  Bench bench({kPair, kPair, kPair}, full_batch(4), {test, test, {}});
  (void)bench.train({.client = kFirst, .model = kEven, .own_model = true});
  const std::vector<float> trained = bench.state(kFirst, kModelSlot);
  const std::vector<float> given{-1, 1, 1, -1, 0, 0};
  const auto score = [&](ClientId client, bool own_model) {
    auto evaluation = bench.solver.evaluate_client({.client = client, .model = given, .own_model = own_model});
    EXPECT_TRUE(evaluation.ok());
    return *evaluation;
  };
  const Evaluation own = score(kFirst, true);
  EXPECT_EQ(own.samples, 3u);
  EXPECT_EQ(own.correct, 2u);
  EXPECT_NEAR(own.loss_sum, 3 * mean_loss(wide(trained), test), 1e-5);
  // The given model gets the others wrong. It counts for whoever has no model, right after one who has.
  for (const auto& [client, own_model] :
       {std::pair(kSecond, true), std::pair(kFirst, false), std::pair(kSecond, false)}) {
    const Evaluation other = score(client, own_model);
    EXPECT_EQ(other.samples, 3u);
    EXPECT_EQ(other.correct, 1u);
    EXPECT_NEAR(other.loss_sum, 3 * mean_loss(wide(given), test), 1e-5);
    EXPECT_EQ(score(kFirst, true).correct, 2u);
  }
  const Evaluation nothing = score(ClientId{2}, false);
  EXPECT_EQ(nothing.samples, 0u);
  EXPECT_EQ(nothing.correct, 0u);
  EXPECT_EQ(nothing.loss_sum, 0);
}

TEST(LocalSolver, AVersionIsLoadedAgainAfterAnythingElseWas) {
  Bench bench({kPair, kPair}, full_batch(4), {kTriple, kTriple});
  const std::vector<float> model{-1, 1, 1, -1, 0, 0};
  const auto loss = [&] {
    const auto evaluation = bench.solver.evaluate_client({.client = kFirst, .model = model, .version = 5});
    EXPECT_TRUE(evaluation.ok());
    return evaluation->loss_sum;
  };
  const double before = loss();
  (void)bench.train({.client = kSecond, .model = kEven});
  EXPECT_EQ(loss(), before);
  SampleBuffer buffer;
  std::vector<float> outputs(6);
  std::vector<std::int32_t> labels(3);
  bench.solver.evaluate_outputs(kEven, bench.data.test(kFirst, buffer), outputs, labels);
  EXPECT_EQ(loss(), before);
}

TEST(LocalSolver, EvaluatesManySamplesInPieces) {
  // 300 is more than two pieces of 128.
  const std::vector<Point> points = many(300);
  Bench bench({points}, full_batch(), {points});
  const std::vector<float> model{-1, 1, 0, 0, 0.2f, 0};
  std::uint64_t correct = 0;
  for (const Point& p : points) correct += (probability_of_1(wide(model), p) > 0.5) == (p.label == 1) ? 1 : 0;
  const auto evaluation = bench.solver.evaluate_client({.client = kFirst, .model = model});
  ASSERT_TRUE(evaluation.ok());
  EXPECT_EQ(evaluation->samples, 300u);
  EXPECT_EQ(evaluation->correct, correct);
  EXPECT_NEAR(evaluation->loss_sum, 300 * mean_loss(wide(model), points), 1e-2);

  SampleBuffer buffer;
  std::vector<float> outputs(600);
  std::vector<std::int32_t> labels(300);
  bench.solver.evaluate_outputs(model, bench.data.test(kFirst, buffer), outputs, labels);
  for (std::size_t i = 0; i < 300; ++i) {
    EXPECT_NEAR(outputs[2 * i], -points[i].x0 + 0.2, 1e-5);
    EXPECT_NEAR(outputs[2 * i + 1], points[i].x0, 1e-5);
    EXPECT_EQ(labels[i], points[i].label);
  }
}

TEST(LocalSolver, TellsWhatSamplesWereTakenForWhereItIsAsked) {
  const std::vector<Point> points = many(300);
  Bench bench({points}, full_batch(), {points});
  const std::vector<float> model{-1, 1, 0, 0, 0.2f, 0};
  SampleBuffer buffer;
  std::vector<float> outputs(600);
  std::vector<std::int32_t> labels(300);
  bench.solver.evaluate_outputs(model, bench.data.test(kFirst, buffer), outputs, labels);
  std::array<std::array<std::uint64_t, 2>, 2> wanted{};
  std::vector<float> positives;
  for (std::size_t i = 0; i < 300; ++i) {
    const bool second = outputs[2 * i + 1] > outputs[2 * i];
    ++wanted[labels[i] == 1 ? 1 : 0][second ? 1 : 0];
    if (labels[i] == 1) positives.push_back(outputs[2 * i + 1] - outputs[2 * i]);
  }
  const auto told = bench.solver.evaluate_client(
      {.client = kFirst, .model = model, .details = {.predictions = true, .scores = true}});
  ASSERT_TRUE(told.ok());
  ASSERT_TRUE(told->predictions);
  for (const PredictionCount& count : told->predictions->counts) {
    EXPECT_EQ(count.samples, wanted[count.label][count.predicted]);
    wanted[count.label][count.predicted] = 0;
  }
  EXPECT_EQ(wanted, (std::array<std::array<std::uint64_t, 2>, 2>{}));  // none was left out
  EXPECT_EQ(told->predictions->positive_scores, positives);
  EXPECT_EQ(told->predictions->negative_scores.size(), 300 - positives.size());
  EXPECT_FALSE(bench.solver.evaluate_client({.client = kFirst, .model = model})->predictions);
}

TEST(LocalSolver, EvaluatesEachModelOnTheTrainingSamples) {
  Bench bench({kPair, kTriple}, full_batch(), {kPair, kPair});
  Rows<float> models(2, 6);
  std::ranges::copy(kEven, models.row(0).begin());
  const std::vector<float> other{1, -1, 0.5f, 2, 0, 0};
  std::ranges::copy(other, models.row(1).begin());
  const std::vector<Evaluation> evaluations = bench.solver.evaluate_training(models, kSecond).value();
  ASSERT_EQ(evaluations.size(), 2u);
  EXPECT_EQ(evaluations[0].samples, 3u);
  EXPECT_NEAR(evaluations[0].loss_sum, 3 * std::log(2), 1e-5);
  EXPECT_NEAR(evaluations[1].loss_sum, 3 * mean_loss(wide(other), kTriple), 1e-5);
}

TEST(LocalSolver, ATaskOwesNothingToTheOneBefore) {
  // Drift, momentum and memory of one client's task must not reach the next client's.
  LocalOptions local{.epochs = 2, .batch_size = 2, .learning_rate = 0.3, .momentum = 0.9};
  local.objective = {.name = "control-variate", .control = "gradient"};
  const std::vector<std::vector<Point>> clients{many(7), kTriple};
  const std::vector<float> servers{0.6f, 0.4f, 0.2f, 0, -0.2f, -0.4f};
  Bench alone(clients, local);
  const LocalUpdate expected = alone.train({.client = kSecond, .model = kEven});
  Bench busy(clients, local);
  (void)busy.train({.client = kFirst, .model = kEven, .broadcast = servers});
  LocalUpdate reuse = busy.train({.client = kFirst, .round = 2, .model = kEven, .broadcast = servers, .measure = true});
  auto reply = busy.solver.train({.client = kSecond, .round = 1, .model = kEven}, std::move(reuse));
  ASSERT_TRUE(reply.ok());
  const auto& update = std::get<LocalUpdate>(*reply);
  EXPECT_EQ(update.model, expected.model);
  EXPECT_EQ(update.payload, expected.payload);
  EXPECT_EQ(update.steps, expected.steps);
  EXPECT_EQ(update.samples_trained, expected.samples_trained);
  EXPECT_EQ(update.samples, 3u);
  EXPECT_EQ(update.client, kSecond);
  EXPECT_FALSE(update.loss_after);
}

TEST(LocalSolver, ABatchBeyondEveryClientIsAFullBatch) {
  LocalOptions local = full_batch(0.4);
  local.epochs = 3;
  const std::vector<Point> points = many(40);
  const std::vector<std::vector<Point>> clients{points, kTriple};
  const auto train = [&](std::uint32_t batch_size, ClientId client) {
    local.batch_size = batch_size;
    return Bench(clients, local).train({.client = client, .model = kEven});
  };
  for (const ClientId client : {kFirst, kSecond}) {
    const LocalUpdate exact = train(40, client);
    EXPECT_EQ(exact.steps, 3u);
    for (const std::uint32_t batch_size : {41u, 1000000u, 0x80000000u, 0xffffffffu}) {
      const LocalUpdate update = train(batch_size, client);
      EXPECT_EQ(update.model, exact.model) << batch_size;
      EXPECT_EQ(update.steps, exact.steps) << batch_size;
      EXPECT_EQ(update.samples_trained, exact.samples_trained) << batch_size;
      EXPECT_EQ(update.loss, exact.loss) << batch_size;
    }
  }
}

}  // namespace
}  // namespace muster
