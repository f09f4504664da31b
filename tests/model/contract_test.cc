// What every network of the catalogue promises, whatever its layers: parameters round-trip, equal inputs give equal
// bits in any executor, a step allocates nothing, a frozen copy beside it changes nothing, a batch's gradient is the
// mean of its parts', a diverged client leaves no trace, and all instruction sets agree.
#include <cmath>
#include <limits>
#include <ostream>

#include "counted_new.h"
#include "model/executor.h"
#include "model/gradient_check.h"
#include "model/network.h"
#include "model/own_network.h"

namespace muster {
namespace {

struct NetworkCase {
  std::string label;
  ModelOptions options;
  Shape shape;
  std::uint32_t classes;
  bool batch_statistics = false;  // a sample's gradient depends on the others
  std::optional<Fusion> fusion = {};
};

void PrintTo(const NetworkCase& tested, std::ostream* out) {
  *out << tested.label;
}

// Small shapes; at least one for every name in the catalogue.
std::vector<NetworkCase> cases() {
  return {
      {"softmax", {.name = "softmax"}, {3, 5, 2}, 10},
      {"mlp", {.name = "mlp", .hidden = {33, 7}}, {1, 1, 19}, 4},
      {"cnn", {.name = "cnn", .hidden = {20}}, {18, 16, 3}, 5},
      {"cnn_wide", {.name = "cnn", .channels = {16, 32}, .kernel = 3}, {12, 12, 1}, 3},
      {"lenet5", {.name = "lenet5"}, {16, 16, 3}, 4},
      {"femnist_cnn", {.name = "femnist-cnn"}, {8, 8, 1}, 5},
      {"resnet_group",
       {.name = "resnet", .blocks = 1, .widths = {8, 16}, .norm = "group", .shortcut = "projected"},
       {8, 8, 3},
       3},
      {"resnet_batch", {.name = "resnet", .blocks = 1, .widths = {8, 16}}, {8, 8, 3}, 3, true},
      {"audio_cnn", {.name = "audio-cnn"}, {1, 6900, 1}, 3, true},
      {"lstm", {.name = "lstm", .units = 18}, {1, 5, 9}, 2},
      {"layers_dense",
       own({{"batch-norm"}, {"dense 33"}, {"gelu"}, {"dropout 0.3"}, {"dense 9"}, {"layer-norm"}, {"tanh"}}),
       {1, 1, 19},
       4,
       true},
      {"layers_images",
       own({{"conv 18 3 pad same"},
            {"relu"},
            {"max-pool 2"},
            {"group-norm 3"},
            {"dropout 0.2"},
            {"residual", {{"conv 18 3 pad same"}, {"tanh"}}},
            {"mean-pool 2 stride 1"},
            {"dense 12"},
            {"relu"}}),
       {9, 8, 3},
       3},
      {"layers_lanes",
       own({{"conv 5 3"}, {"relu"}, {"max-pool 2"}, {"dropout 0.5"}, {"dense 7"}, {"relu"}}),
       {9, 8, 3},
       3},
      {"layers_words",
       own({{"embedding 11 9"}, {"lstm 18 sequence"}, {"dropout 0.1"}, {"gru 7 sequence"}, {"gru 17"}}),
       {1, 5, 1},
       3},
      {"fusion_conv", {.name = "cnn", .hidden = {20}, .channels = {5, 9}}, {18, 16, 3}, 5, false, Fusion::kConv},
      {"fusion_multi",
       own({{"conv 18 3 pad same"}, {"batch-norm"}, {"relu"}, {"dropout 0.2"}, {"dense 12"}, {"relu"}}),
       {9, 8, 3},
       3,
       true,
       Fusion::kMulti},
      {"fusion_single", {.name = "lstm", .units = 18}, {1, 5, 9}, 2, false, Fusion::kSingle},
  };
}

class EveryNetwork : public ::testing::TestWithParam<NetworkCase> {
 protected:
  void SetUp() override {
    auto made = make_network(GetParam().options, GetParam().shape, GetParam().classes, GetParam().fusion);
    ASSERT_TRUE(made.ok()) << made.error().message;
    network_ = std::move(made).value();
    flat_ = random_parameters(*network_, 1);
  }

  // A network that fuses trains beside a frozen copy.
  Executor executor_for(std::uint32_t max_batch) const {
    Executor executor(network_, max_batch);
    executor.load(flat_);
    if (network_->fuses()) executor.freeze();
    return executor;
  }

  // Some steps with batches on both sides of every choice by size.
  std::vector<float> train(Executor& executor, std::initializer_list<std::uint32_t> batches = {17, 3, 17, 8, 1}) const {
    executor.load(flat_);
    executor.seed_dropout({.seed = 1});
    for (const std::uint32_t batch : batches) {
      fill_batch(executor, batch, batch);
      executor.train(batch, {.learning_rate = 0.02f, .pull = 0.01f});
    }
    return stored(executor);
  }

  std::shared_ptr<const Network> network_;
  std::vector<float> flat_;
};

TEST_P(EveryNetwork, LoadAndStoreRoundTrip) {
  for (const Isa isa : available_isas()) {
    const UseIsa use(isa);
    Executor executor = executor_for(2);
    executor.load(flat_);
    EXPECT_EQ(stored(executor), flat_) << name(isa);
  }
}

TEST_P(EveryNetwork, EqualInputsGiveEqualBits) {
  Executor fresh = executor_for(17);
  Executor used = executor_for(32);
  fill_batch(used, 32, 99);
  used.load(flat_);
  used.train(32, {.learning_rate = 0.5f});
  used.evaluate(5);
  const std::vector<float> once = train(fresh);
  EXPECT_EQ(once, train(used));
  EXPECT_EQ(once, train(fresh));
}

TEST_P(EveryNetwork, StepsDoNotAllocate) {
  for (const Optimizer optimizer : {Optimizer::kSgd, Optimizer::kMomentum, Optimizer::kAdam}) {
    Executor executor = executor_for(17);
    std::vector<float> out(network_->size());
    const auto task = [&] {
      executor.load(flat_);
      for (const std::uint32_t batch : {17u, 2u}) {
        fill_batch(executor, batch, batch);
        executor.train(batch, {.optimizer = optimizer, .learning_rate = 0.001f});
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

// The outputs that a hook saw, step after step.
struct SeenOutputs {
  std::vector<std::vector<float>> frozen;
  std::vector<std::vector<float>> trained;

  OutputHook hook() {
    return {[](void* self, const OutputPair& outputs) {
              auto* const seen = static_cast<SeenOutputs*>(self);
              const auto rows = [&](const float* from) {
                std::vector<float> values;
                for (std::uint32_t b = 0; b < outputs.batch; ++b) {
                  values.insert(values.end(), from + b * outputs.stride, from + b * outputs.stride + outputs.outputs);
                }
                return values;
              };
              seen->frozen.push_back(rows(outputs.frozen));
              seen->trained.push_back(rows(outputs.trained));
            },
            this};
  }
};

// The frozen copy sees the same batch, the same draws of dropout and the statistics of the batch, so both outputs are
// equal bit for bit until the first step.
TEST_P(EveryNetwork, AFrozenCopySeesTheBatchAndLeavesTheStepsAlone) {
  if (network_->fuses()) return;  // always has one
  Executor plain = executor_for(17);
  const std::vector<float> alone = train(plain);
  SeenOutputs seen;
  Executor executor = executor_for(17);
  executor.load(flat_);
  executor.freeze(seen.hook());
  EXPECT_EQ(train(executor), alone);
  ASSERT_EQ(seen.frozen.size(), 5u);
  EXPECT_EQ(seen.frozen[0], seen.trained[0]);
  EXPECT_NE(seen.frozen[1], seen.trained[1]);
  // Whatever is trained, the frozen outputs of a batch stay what they were.
  EXPECT_EQ(train(executor), alone);
  EXPECT_EQ(std::vector(seen.frozen.begin() + 5, seen.frozen.end()),
            std::vector(seen.frozen.begin(), seen.frozen.begin() + 5));
  executor.thaw();
  EXPECT_EQ(train(executor), alone);
  EXPECT_EQ(seen.frozen.size(), 10u);
}

TEST_P(EveryNetwork, StepsBesideAFrozenCopyDoNotAllocate) {
  if (network_->fuses()) return;  // always has one
  Executor executor = executor_for(17);
  const auto task = [&] {
    executor.load(flat_);
    executor.freeze({[](void*, const OutputPair& outputs) { outputs.gradient[0] += 0.5f; }, nullptr});
    for (const std::uint32_t batch : {17u, 2u}) {
      fill_batch(executor, batch, batch);
      executor.train(batch, {.learning_rate = 0.001f});
    }
  };
  task();
  const std::size_t before = allocations();
  task();
  EXPECT_EQ(allocations(), before);
}

TEST_P(EveryNetwork, GradientLeavesTheModelAndEvaluateToo) {
  Executor executor = executor_for(9);
  executor.load(flat_);
  fill_batch(executor, 9, 1);
  std::vector<float> gradient(network_->parameters());
  executor.gradient(9, gradient);
  executor.evaluate(9);
  EXPECT_EQ(stored(executor), flat_);
}

// Also compares the kernels for large batches with those for small ones.
TEST_P(EveryNetwork, GradientIsTheMeanOfItsParts) {
  if (GetParam().batch_statistics) return;
  for (const Isa isa : available_isas()) {
    const UseIsa use(isa);
    constexpr std::uint32_t kBatch = 18;
    Executor executor = executor_for(kBatch);
    executor.load(flat_);
    fill_batch(executor, kBatch, 5);
    const std::size_t size = network_->input().size();
    const std::vector<float> inputs(executor.input(kBatch), executor.input(kBatch) + kBatch * size);
    const std::vector<std::int32_t> labels(executor.labels(kBatch), executor.labels(kBatch) + kBatch);
    std::vector<float> whole(network_->parameters()), part(network_->parameters());
    const double whole_loss = executor.gradient(kBatch, whole).loss_sum;
    std::vector<double> sum(network_->parameters());
    double loss = 0;
    std::uint32_t begin = 0;
    for (const std::uint32_t batch : {1u, 2u, 5u, 10u}) {
      std::copy_n(inputs.begin() + static_cast<std::ptrdiff_t>(begin * size), batch * size, executor.input(batch));
      std::copy_n(labels.begin() + begin, batch, executor.labels(batch));
      loss += executor.gradient(batch, part).loss_sum;
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += double{part[i]} * batch / kBatch;
      begin += batch;
    }
    EXPECT_NEAR(whole_loss, loss, 1e-4 * (1 + std::fabs(loss)));
    double largest = 0;
    for (const float g : whole) largest = std::max(largest, std::fabs(double{g}));
    for (std::size_t i = 0; i < sum.size(); ++i) {
      ASSERT_NEAR(whole[i], sum[i], 2e-5 * largest + 1e-7) << name(isa) << " parameter " << i;
    }
  }
}

TEST_P(EveryNetwork, DivergenceLeavesNoTrace) {
  Executor executor = executor_for(17);
  const std::vector<float> clean = train(executor);
  for (const std::uint32_t batch : {17u, 3u, 8u, 1u}) {
    executor.load(std::vector<float>(network_->size(), std::numeric_limits<float>::quiet_NaN()));
    fill_batch(executor, batch, 1);
    EXPECT_TRUE(std::isnan(executor.train(batch, {.learning_rate = 0.1f}).loss_sum));
    EXPECT_TRUE(executor.has_nonfinite());
  }
  EXPECT_EQ(train(executor), clean);
}

// Each set rounds and orders sums in its own way; a few steps later they still agree.
TEST_P(EveryNetwork, InstructionSetsAgree) {
  std::vector<float> reference;
  for (const Isa isa : available_isas()) {
    const UseIsa use(isa);
    Executor executor = executor_for(17);
    const std::vector<float> result = train(executor, {17, 3});
    if (reference.empty()) reference = result;
    for (std::size_t i = 0; i < result.size(); ++i) ASSERT_NEAR(result[i], reference[i], 2e-4) << name(isa) << " " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Zoo, EveryNetwork, ::testing::ValuesIn(cases()),
                         [](const auto& tested) { return tested.param.label; });

TEST(Zoo, ContractCoversTheCatalogue) {
  for (const ModelEntry& entry : model_catalogue()) {
    if (is_external({.name = entry.name})) continue;  // nobody here can run it
    bool found = false;
    for (const NetworkCase& tested : cases()) found = found || tested.options.name == entry.name;
    EXPECT_TRUE(found) << entry.name;
  }
}

}  // namespace
}  // namespace muster
