// Executor: step rules against scalar references, state that travels, no allocation in a step, equal bits for equal
// inputs, and what happens to values that are not finite.
#include "model/executor.h"

#include <cmath>
#include <limits>

#include "counted_new.h"
#include "model/gradient_check.h"
#include "model/network.h"
#include "model/parameter_parts.h"

namespace muster {
namespace {

std::shared_ptr<const Network> mlp() {
  return make_network({.name = "mlp", .hidden = {21}}, {1, 1, 13}, 5).value();
}

std::vector<float> random_vector(std::size_t size, std::uint32_t seed) {
  Stream stream = test_stream(seed);
  std::vector<float> values(size);
  for (float& value : values) value = static_cast<float>(stream.normal());
  return values;
}

TEST(Executor, LoadAndStoreRoundTrip) {
  for (const Isa isa : available_isas()) {
    const UseIsa use(isa);
    for (const std::uint32_t hidden : {1u, 15u, 16u, 17u, 32u, 33u, 48u, 400u}) {
      const auto network = make_network({.name = "mlp", .hidden = {hidden}}, {1, 1, 37}, 10).value();
      const std::vector<float> flat = random_vector(network->size(), hidden);
      Executor executor(network, 1);
      executor.load(flat);
      EXPECT_EQ(stored(executor), flat) << name(isa) << " " << hidden;
    }
  }
}

// w = (1 - rate * pull) w + rate * drift - rate * g, in the sense of the rule's formula.
TEST(Executor, SgdWithPullAndDriftFollowsTheFormula) {
  const auto network = mlp();
  const std::vector<float> flat = random_parameters(*network, 1);
  const std::vector<float> drift = random_vector(network->size(), 2);
  for (const Isa isa : available_isas()) {
    const UseIsa use(isa);
    for (const float pull : {0.0f, 0.3f}) {
      for (const bool drifts : {false, true}) {
        Executor executor(network, 10);
        executor.load(flat);
        fill_batch(executor, 7, 3);
        std::vector<float> gradient(network->parameters());
        executor.gradient(7, gradient);
        if (drifts) executor.set_drift(drift);
        executor.train(7, {.learning_rate = 0.1f, .pull = pull});
        const std::vector<float> after = stored(executor);
        for (std::size_t i = 0; i < flat.size(); ++i) {
          const double total = double{gradient[i]} + double{pull} * flat[i] - (drifts ? drift[i] : 0.0f);
          ASSERT_NEAR(after[i], flat[i] - 0.1 * total, 2e-6) << name(isa) << " " << i;
        }
      }
    }
  }
}

// Activations beyond the cache: the executor trains such a batch in parts, of unequal sizes here.
TEST(Executor, ALargeBatchHasTheGradientOfItsHalves) {
  const auto network = make_network({.name = "resnet", .blocks = 1, .norm = "group"}, {32, 32, 3}, 10).value();
  const std::vector<float> flat = random_parameters(*network, 1);
  const std::size_t row = network->input().size();
  constexpr std::uint32_t kBatch = 27;
  constexpr std::uint32_t kFirst = 13;
  Executor executor(network, kBatch);
  executor.load(flat);
  fill_batch(executor, kBatch, 3);
  const std::vector<float> rows(executor.input(kBatch), executor.input(kBatch) + kBatch * row);
  const std::vector<std::int32_t> labels(executor.labels(kBatch), executor.labels(kBatch) + kBatch);

  std::vector<float> gradient(network->parameters());
  const BatchResult whole = executor.gradient(kBatch, gradient);
  const std::vector<float> rows_after(executor.input(kBatch), executor.input(kBatch) + kBatch * row);
  EXPECT_EQ(rows_after, rows);
  executor.train(kBatch, {.learning_rate = 0.1f, .pull = 0.2f});
  const std::vector<float> stepped = stored(executor);

  Executor halves(network, kBatch);
  halves.load(flat);
  std::vector<double> sum(network->parameters());
  std::vector<float> part(network->parameters());
  BatchResult total;
  for (const auto& [begin, size] : {std::pair(0u, kFirst), std::pair(kFirst, kBatch - kFirst)}) {
    std::copy_n(rows.data() + begin * row, size * row, halves.input(size));
    std::copy_n(labels.data() + begin, size, halves.labels(size));
    const BatchResult result = halves.gradient(size, part);
    total.loss_sum += result.loss_sum;
    total.correct += result.correct;
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += double{part[i]} * size / kBatch;
  }
  EXPECT_NEAR(whole.loss_sum, total.loss_sum, 1e-5 * total.loss_sum);
  EXPECT_EQ(whole.correct, total.correct);
  for (std::size_t i = 0; i < sum.size(); ++i) {
    ASSERT_NEAR(gradient[i], sum[i], 1e-5 + 1e-3 * std::abs(sum[i])) << i;
    ASSERT_NEAR(stepped[i], 0.98 * flat[i] - 0.1 * sum[i], 1e-5 + 1e-4 * std::abs(sum[i])) << i;
  }
}

TEST(Executor, ClearedDriftIsExactlyPlainSgd) {
  const auto network = mlp();
  const std::vector<float> flat = random_parameters(*network, 1);
  std::vector<float> results[2];
  for (const bool drifted : {false, true}) {
    Executor executor(network, 4);
    executor.load(flat);
    if (drifted) {
      executor.set_drift(random_vector(network->size(), 2));
      executor.clear_drift();
    }
    fill_batch(executor, 4, 3);
    executor.train(4, {.learning_rate = 0.2f});
    results[drifted] = stored(executor);
  }
  EXPECT_EQ(results[0], results[1]);
}

// Three steps of each rule against the same rule in double, with pull and drift.
TEST(Executor, MomentumFollowsTheReference) {
  const auto network = mlp();
  const std::vector<float> drift = random_vector(network->size(), 2);
  for (const Isa isa : available_isas()) {
    const UseIsa use(isa);
    Executor executor(network, 6);
    executor.load(random_parameters(*network, 1));
    executor.set_drift(drift);
    std::vector<double> m(network->size());
    const StepRule rule{.optimizer = Optimizer::kMomentum, .learning_rate = 0.05f, .pull = 0.1f, .momentum = 0.8f};
    for (std::uint32_t step = 0; step < 3; ++step) {
      const std::vector<float> before = stored(executor);
      fill_batch(executor, 6, 10 + step);
      std::vector<float> gradient(network->parameters());
      executor.gradient(6, gradient);
      executor.train(6, rule);
      const std::vector<float> after = stored(executor);
      for (std::size_t i = 0; i < m.size(); ++i) {
        m[i] = 0.8 * m[i] + gradient[i] + 0.1 * before[i] - drift[i];
        ASSERT_NEAR(after[i], before[i] - 0.05 * m[i], 3e-6) << name(isa) << " step " << step << " " << i;
      }
    }
  }
}

TEST(Executor, AdamFollowsTheReference) {
  const auto network = mlp();
  const std::vector<float> drift = random_vector(network->size(), 2);
  for (const Isa isa : available_isas()) {
    const UseIsa use(isa);
    Executor executor(network, 6);
    executor.load(random_parameters(*network, 1));
    executor.set_drift(drift);
    std::vector<double> m(network->size()), v(network->size());
    const StepRule rule{.optimizer = Optimizer::kAdam, .learning_rate = 0.01f, .pull = 0.1f};
    for (std::uint32_t step = 1; step <= 3; ++step) {
      const std::vector<float> before = stored(executor);
      fill_batch(executor, 6, 10 + step);
      std::vector<float> gradient(network->parameters());
      executor.gradient(6, gradient);
      executor.train(6, rule);
      const std::vector<float> after = stored(executor);
      for (std::size_t i = 0; i < m.size(); ++i) {
        const double total = gradient[i] + 0.1 * before[i] - drift[i];
        m[i] = 0.9 * m[i] + 0.1 * total;
        v[i] = 0.999 * v[i] + 0.001 * total * total;
        const double expected = before[i] - 0.01 * (m[i] / (1 - std::pow(0.9, step))) /
                                                (std::sqrt(v[i] / (1 - std::pow(0.999, step))) + 1e-8);
        ASSERT_NEAR(after[i], expected, 5e-6) << name(isa) << " step " << step << " " << i;
      }
    }
  }
}

// A client that hands its optimiser state to another executor continues to the same bits.
TEST(Executor, OptimizerStateTravels) {
  const auto network = mlp();
  for (const Optimizer optimizer : {Optimizer::kSgd, Optimizer::kMomentum, Optimizer::kAdam}) {
    const StepRule rule{.optimizer = optimizer, .learning_rate = 0.02f};
    Executor first(network, 8);
    first.load(random_parameters(*network, 1));
    fill_batch(first, 8, 4);
    first.train(8, rule);
    Executor second(network, 8);
    second.load(stored(first));
    std::vector<float> state(first.optimizer_state_size(optimizer));
    first.store_optimizer(optimizer, state);
    second.load_optimizer(optimizer, state);
    for (Executor* executor : {&first, &second}) {
      fill_batch(*executor, 5, 5);
      executor->train(5, rule);
    }
    EXPECT_EQ(stored(first), stored(second));
    second.reset_optimizer();
    std::vector<float> zero(state.size());
    second.store_optimizer(optimizer, zero);
    EXPECT_EQ(zero, std::vector<float>(state.size()));
  }
}

// A network with every kind of place that a parameter can have: padded rows, panels, channels, statistics.
std::shared_ptr<const Network> normalised() {
  const LayerList layers{{"conv 5 3"}, {"batch-norm as bn"}, {"relu"}, {"dense 7"}};
  return make_network({.name = "layers", .layers = layers}, {6, 6, 2}, 5).value();
}

TEST(Executor, WhatIsHeldStaysBitForBitAndTheRestMoves) {
  const auto network = normalised();
  const std::vector<float> flat = random_parameters(*network, 8);
  const std::vector<float> drift = random_vector(network->size(), 2);
  for (const Isa isa : available_isas()) {
    const UseIsa use(isa);
    for (const Optimizer optimizer : {Optimizer::kSgd, Optimizer::kMomentum, Optimizer::kAdam}) {
      for (const char* const part : {"head", "body", "norm", "bn", "conv1"}) {
        const ParameterRanges held = parts_of(*network, std::vector<std::string>{part}, "").value();
        const ParameterRanges rest = all_but(*network, held);
        SCOPED_TRACE(fmt::format("{} {} {}", name(isa), static_cast<int>(optimizer), part));
        Executor executor(network, 10);
        executor.load(flat);
        executor.set_drift(drift);
        executor.hold(held);
        const auto step = [&] {
          fill_batch(executor, 7, 3);
          executor.train(7, {.optimizer = optimizer, .learning_rate = 0.1f, .pull = 0.5f, .momentum = 0.9f});
        };
        for (int i = 0; i < 3; ++i) step();
        const std::vector<float> after = stored(executor);
        EXPECT_EQ(gather_ranges(after, held), gather_ranges(flat, held));
        for (const ParameterRange& range : rest) {
          EXPECT_NE(gather_ranges(after, {&range, 1}), gather_ranges(flat, {&range, 1})) << range.offset;
        }
        executor.load(flat);  // frees everything
        step();
        EXPECT_NE(gather_ranges(stored(executor), held), gather_ranges(flat, held));
      }
    }
  }
}

// What is not held takes the step that it would take anyway.
TEST(Executor, HoldingChangesNoOtherStep) {
  const auto network = normalised();
  const std::vector<float> flat = random_parameters(*network, 8);
  const ParameterRanges held{network->last_layer()};
  std::vector<std::vector<float>> results;
  for (const bool holds : {false, true}) {
    Executor executor(network, 10);
    executor.load(flat);
    if (holds) executor.hold(held);
    fill_batch(executor, 7, 3);
    executor.train(7, {.learning_rate = 0.1f});
    results.push_back(gather_ranges(stored(executor), all_but(*network, held)));
  }
  EXPECT_EQ(results[0], results[1]);
}

TEST(Executor, StepsDoNotAllocate) {
  const auto network = mlp();
  for (const Optimizer optimizer : {Optimizer::kSgd, Optimizer::kMomentum, Optimizer::kAdam}) {
    Executor executor(network, 10);
    const std::vector<float> flat = random_parameters(*network, 1);
    std::vector<float> out(network->size());
    const StepRule rule{.optimizer = optimizer, .learning_rate = 0.01f};
    const auto task = [&] {
      executor.load(flat);
      executor.reset_optimizer();
      for (const std::uint32_t batch : {10u, 10u, 3u}) {
        fill_batch(executor, batch, batch);
        executor.train(batch, rule);
        executor.evaluate(batch);
      }
      executor.store(out);
    };
    task();
    const std::size_t before = allocations();
    task();
    EXPECT_EQ(allocations(), before);
  }
}

// Same inputs, same bits: in a fresh executor, in a used one, and whatever was trained or evaluated in between.
TEST(Executor, EqualInputsGiveEqualBits) {
  const auto network = make_network({.name = "lstm", .units = 18}, {1, 4, 9}, 2).value();
  const std::vector<float> flat = random_parameters(*network, 1);
  const auto train = [&](Executor& executor) {
    executor.load(flat);
    for (const std::uint32_t batch : {9u, 2u, 16u}) {
      fill_batch(executor, batch, batch);
      executor.train(batch, {.learning_rate = 0.1f, .pull = 0.01f});
    }
    return stored(executor);
  };
  Executor fresh(network, 16);
  Executor used(network, 30);
  used.load(random_vector(network->size(), 8));
  fill_batch(used, 30, 9);
  used.train(30, {.learning_rate = 1.0f});
  used.evaluate(7);
  EXPECT_EQ(train(fresh), train(used));
}

TEST(Executor, EvaluateAgreesWithTrainAndLeavesTheModel) {
  const auto network = mlp();
  Executor executor(network, 12);
  executor.load(random_parameters(*network, 1));
  const std::vector<float> before = stored(executor);
  fill_batch(executor, 11, 2);
  const BatchResult evaluated = executor.evaluate(11);
  EXPECT_EQ(stored(executor), before);
  std::vector<float> gradient(network->parameters());
  const BatchResult asked = executor.gradient(11, gradient);
  EXPECT_EQ(stored(executor), before);
  const BatchResult trained = executor.train(11, {.learning_rate = 0.1f});
  EXPECT_DOUBLE_EQ(evaluated.loss_sum, trained.loss_sum);
  EXPECT_DOUBLE_EQ(evaluated.loss_sum, asked.loss_sum);
  EXPECT_EQ(evaluated.correct, trained.correct);
  EXPECT_NE(stored(executor), before);
}

TEST(Executor, TrainingLowersTheLoss) {
  const auto network = mlp();
  Executor executor(network, 20);
  executor.load(random_parameters(*network, 1));
  fill_batch(executor, 20, 2);
  const double before = executor.evaluate(20).loss_sum;
  for (int step = 0; step < 200; ++step) executor.train(20, {.learning_rate = 0.2f});
  const BatchResult after = executor.evaluate(20);
  EXPECT_LT(after.loss_sum, 0.2 * before);
  EXPECT_EQ(after.correct, 20u);
}

TEST(Executor, SeesValuesThatAreNotFinite) {
  const auto network = mlp();
  for (const Isa isa : available_isas()) {
    const UseIsa use(isa);
    for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
      Executor executor(network, 4);
      std::vector<float> flat = random_parameters(*network, 1);
      executor.load(flat);
      EXPECT_FALSE(executor.has_nonfinite());
      flat[network->size() - 1] = bad;
      executor.load(flat);
      EXPECT_TRUE(executor.has_nonfinite());
      fill_batch(executor, 4, 2);
      EXPECT_TRUE(std::isnan(executor.evaluate(4).loss_sum)) << name(isa) << " " << bad;
    }
  }
}

// A diverged client must not poison the next one that uses the same executor.
TEST(Executor, RecoversFromDivergence) {
  const auto network = mlp();
  const std::vector<float> flat = random_parameters(*network, 1);
  Executor executor(network, 4);
  const auto loss = [&] {
    executor.load(flat);
    fill_batch(executor, 4, 2);
    return executor.train(4, {.learning_rate = 0.1f}).loss_sum;
  };
  const double clean = loss();
  const std::vector<float> clean_model = stored(executor);
  executor.load(std::vector<float>(network->size(), std::numeric_limits<float>::quiet_NaN()));
  fill_batch(executor, 4, 2);
  EXPECT_TRUE(std::isnan(executor.train(4, {.learning_rate = 0.1f}).loss_sum));
  EXPECT_TRUE(executor.has_nonfinite());
  EXPECT_EQ(loss(), clean);
  EXPECT_EQ(stored(executor), clean_model);
}

TEST(Executor, LogitsAndMoves) {
  const auto network = mlp();
  Executor executor(network, 3);
  executor.load(random_parameters(*network, 1));
  fill_batch(executor, 2, 2);
  executor.evaluate(2);
  std::vector<float> logits(10);
  executor.logits(2, logits);
  Executor moved = std::move(executor);
  moved.evaluate(2);
  std::vector<float> again(10);
  moved.logits(2, again);
  EXPECT_EQ(logits, again);
  EXPECT_EQ(moved.max_batch(), 3u);
  EXPECT_GT(moved.arena_bytes(), network->size() * sizeof(float));
}

}  // namespace
}  // namespace muster
