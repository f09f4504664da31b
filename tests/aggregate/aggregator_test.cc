#include "aggregate/aggregator.h"

#include <cmath>
#include <limits>

namespace muster {
namespace {

GroupUpdate update(std::uint32_t group, std::vector<float> model, std::uint64_t samples,
                   std::vector<float> payload = {}) {
  GroupUpdate u;
  u.group = GroupId{group};
  u.model = std::move(model);
  u.payload = std::move(payload);
  u.samples = samples;
  u.members.push_back({.client = ClientId{group}, .samples = static_cast<std::uint32_t>(samples)});
  return u;
}

GroupUpdate all_dropped(std::uint32_t group) {
  GroupUpdate u;
  u.group = GroupId{group};
  u.dropped.push_back({ClientId{group}, DropReason::kFault});
  return u;
}

AggregatorSizes sizes(std::size_t parameters, std::size_t size, std::uint32_t clients) {
  return {.parameters = parameters, .size = size, .clients = clients, .alpha = 0.1};
}

// Every choice of the catalogue that merges into one model.
std::vector<std::string> merging() {
  std::vector<std::string> names;
  for (const AggregationEntry& entry : aggregations()) {
    if (entry.models == ModelKeeping::kShared) names.push_back(entry.name);
  }
  return names;
}

std::unique_ptr<Aggregator> make(const std::string& global, const AggregatorSizes& s) {
  AggregationOptions options;
  options.global = global;
  auto aggregator = make_aggregator(options, s);
  EXPECT_TRUE(aggregator.ok());
  return std::move(aggregator).value();
}

class EveryAggregator : public testing::TestWithParam<std::string> {};

TEST_P(EveryAggregator, KeepsTheModelWhenEverybodyDropped) {
  const auto aggregator = make(GetParam(), sizes(2, 2, 4));
  std::vector<float> model{1.25f, -3.5f};
  aggregator->begin(model);
  aggregator->add(all_dropped(0));
  aggregator->add(all_dropped(3));
  aggregator->finish(model);
  EXPECT_EQ(model, (std::vector<float>{1.25f, -3.5f}));
  aggregator->begin(model);
  aggregator->finish(model);
  EXPECT_EQ(model, (std::vector<float>{1.25f, -3.5f}));
}

TEST_P(EveryAggregator, IdenticalUnchangedModelsStay) {
  const auto aggregator = make(GetParam(), sizes(2, 2, 4));
  std::vector<float> model{1.25f, -3.5f};
  aggregator->begin(model);
  for (std::uint32_t g = 0; g < 3; ++g) aggregator->add(update(g, model, 7 + g));
  aggregator->finish(model);
  EXPECT_EQ(model, (std::vector<float>{1.25f, -3.5f}));
}

TEST_P(EveryAggregator, RunningStatisticsAreAlwaysAveraged) {
  const auto aggregator = make(GetParam(), sizes(1, 2, 2));
  std::vector<float> model{0, 10};
  aggregator->begin(model);
  aggregator->add(update(0, {0, 20}, 5));
  aggregator->add(update(1, {0, 40}, 5));
  aggregator->finish(model);
  EXPECT_EQ(model[1], 30);
}

TEST_P(EveryAggregator, ContinuesFromItsSavedState) {
  const auto run = [](Aggregator& a, std::vector<float>& model, std::uint32_t from, std::uint32_t to) {
    for (std::uint32_t round = from; round < to; ++round) {
      const float x = 0.5f * static_cast<float>(round);
      a.begin(model);
      a.add(update(0, {model[0] + x}, 3, {x}));
      a.add(update(1, {model[0] - 0.25f}, 9, {-1}));
      a.finish(model);
    }
  };
  const auto whole = make(GetParam(), sizes(1, 1, 5));
  std::vector<float> expected{1};
  run(*whole, expected, 0, 6);
  const auto first = make(GetParam(), sizes(1, 1, 5));
  std::vector<float> model{1};
  run(*first, model, 0, 3);
  const auto second = make(GetParam(), sizes(1, 1, 5));
  ASSERT_TRUE(second->restore(first->save()).ok());
  run(*second, model, 3, 6);
  EXPECT_EQ(model, expected);
}

INSTANTIATE_TEST_SUITE_P(Catalogue, EveryAggregator, testing::ValuesIn(merging()), [](const auto& parameter) {
  std::string name = parameter.param;
  std::erase(name, '-');
  return name;
});

// The worked numbers of IDA, the same in both norms because the models lie on one line.
TEST(InverseDistance, WeighsByNearnessToTheMean) {
  for (const char* norm : {"l1", "l2"}) {
    AggregationOptions options;
    options.global = "inverse-distance";
    options.norm = norm;
    const auto aggregator = std::move(make_aggregator(options, sizes(2, 2, 3))).value();
    std::vector<float> model{0, 0};
    aggregator->begin(model);
    aggregator->add(update(0, {1, 1}, 1));
    aggregator->add(update(1, {1.2f, 0.8f}, 5));
    aggregator->add(all_dropped(2));
    aggregator->add(update(3, {4, -2}, 100));
    aggregator->finish(model);
    EXPECT_NEAR(model[0], 1.683317, 1e-6) << norm;
    EXPECT_NEAR(model[1], 0.316683, 1e-6) << norm;
  }
}

TEST(InverseDistance, NormsDifferWhereModelsDoNotLieOnALine) {
  std::vector<float> found;
  for (const char* norm : {"l1", "l2"}) {
    AggregationOptions options;
    options.global = "inverse-distance";
    options.norm = norm;
    const auto aggregator = std::move(make_aggregator(options, sizes(2, 2, 3))).value();
    std::vector<float> model{0, 0};
    aggregator->begin(model);
    aggregator->add(update(0, {3, 0}, 1));
    aggregator->add(update(1, {0, 3}, 1));
    aggregator->add(update(2, {0, 0}, 1));
    aggregator->finish(model);
    found.push_back(model[0]);
  }
  // Distances 3, 3, 2 by L1; sqrt 5, sqrt 5, sqrt 2 by L2.
  EXPECT_NEAR(found[0], 3.0 / 3 / (2.0 / 3 + 0.5), 1e-6);
  EXPECT_NEAR(found[1], 3.0 / std::sqrt(5.0) / (2 / std::sqrt(5.0) + 1 / std::sqrt(2.0)), 1e-6);
}

TEST(InverseDistance, EquidistantModelsGiveThePlainMean) {
  const auto aggregator = make("inverse-distance", sizes(2, 2, 3));
  std::vector<float> model{9, 9};
  aggregator->begin(model);
  aggregator->add(update(0, {1, 0}, 1));
  aggregator->add(update(1, {-1, 0}, 50));
  aggregator->add(update(2, {0, 1}, 7));
  aggregator->add(update(3, {0, -1}, 3));
  aggregator->finish(model);
  EXPECT_EQ(model, (std::vector<float>{0, 0}));
}

TEST(Mean, WeighsBySamplesOrNot) {
  for (const bool by_samples : {true, false}) {
    const auto aggregator = make(by_samples ? "samples-weighted" : "uniform", sizes(1, 1, 2));
    std::vector<float> model{1};
    aggregator->begin(model);
    aggregator->add(update(0, {0.81f}, 1));
    aggregator->add(update(1, {1.72f}, 3));
    aggregator->finish(model);
    EXPECT_NEAR(model[0], by_samples ? 1.4925 : 1.265, 1e-6);
  }
}

// The groups of the worked example that are drawn, as one round of `global`.
constexpr std::uint64_t kSamples[] = {50, 20};
float merged(const std::string& global, const std::vector<double>& probabilities, float start,
             const std::vector<float>& models) {
  std::vector<double> log_probabilities;
  for (const double p : probabilities) log_probabilities.push_back(std::log(p));
  const auto aggregator = make(global, sizes(1, 1, 3));
  std::vector<double> importance(models.size(), 1.0);
  if (corrects_draw(global)) importance = draw_corrections(global, log_probabilities, 100);
  std::vector<float> model{start};
  aggregator->begin(model);
  for (std::uint32_t g = 0; g < models.size(); ++g) {
    GroupUpdate u = update(g, {models[g]}, kSamples[g]);
    u.importance = importance[g];
    aggregator->add(u);
  }
  aggregator->finish(model);
  return model[0];
}

// n = (50, 30, 20), p = (.7, .2, .1), groups 0 and 2 drawn (Group-FEL, Eq. 4 and 39).
TEST(DrawnGroups, FollowTheWorkedExample) {
  const std::vector<double> log_probabilities{std::log(0.7), std::log(0.1)};
  const std::vector<double> raw = draw_corrections("unbiased", log_probabilities, 100);
  EXPECT_NEAR(50 * raw[0], 0.357143, 1e-6);
  EXPECT_NEAR(20 * raw[1], 1.0, 1e-12);
  const std::vector<double> relative = draw_corrections("stabilised", log_probabilities, 100);
  const double sum = 50 * relative[0] + 20 * relative[1];
  EXPECT_NEAR(50 * relative[0] / sum, 0.263158, 1e-6);
  EXPECT_NEAR(20 * relative[1] / sum, 0.736842, 1e-6);

  // On models: 3 + 0.357143 (1 - 3) + 1.0 (7 - 3), and 0.263158 * 1 + 0.736842 * 7.
  EXPECT_NEAR(merged("unbiased", {0.7, 0.1}, 3, {1, 7}), 6.285714, 1e-5);
  EXPECT_NEAR(merged("stabilised", {0.7, 0.1}, 3, {1, 7}), 5.421053, 1e-5);
}

TEST(DrawnGroups, DrawnBySamplesCountAlike) {
  const std::vector<double> raw = draw_corrections("unbiased", std::vector<double>{std::log(0.5), std::log(0.2)}, 100);
  EXPECT_NEAR(50 * raw[0], 0.5, 1e-12);
  EXPECT_NEAR(20 * raw[1], 0.5, 1e-12);
  EXPECT_FLOAT_EQ(merged("stabilised", {0.5, 0.2}, 3, {1.1f, 7.3f}), merged("uniform", {}, 3, {1.1f, 7.3f}));
}

TEST(DrawnGroups, DrawnUniformlyCountBySamples) {
  const double third = 1.0 / 3;
  EXPECT_EQ(merged("stabilised", {third, third}, 3, {1.1f, 7.3f}), merged("samples-weighted", {}, 3, {1.1f, 7.3f}));
}

TEST(DrawnGroups, NoProbabilityIsTooSmall) {
  const double none = -std::numeric_limits<double>::infinity();
  for (const double small : {-1e6, none}) {
    const std::vector<double> weights = draw_corrections("stabilised", std::vector<double>{0, small, small}, 100);
    EXPECT_EQ(weights, (std::vector<double>{0, 1, 1}));
  }
  EXPECT_TRUE(draw_corrections("unbiased", {}, 100).empty());
}

// One coordinate, delta = 0.5, from zero momentum and v = 1e-6, rate 0.1 (ALGORITHMS 7.5).
TEST(ServerOptimizer, TakesTheKnownFirstStep) {
  const struct {
    const char* rule;
    double beta1;
    double step;
    double variance;
  } cases[] = {{"adagrad", 0.9, 0.00998002, 0.250001},
               {"adagrad", 0.0, 0.0998002, 0.250001},
               {"adam", 0.9, 0.0980202, 0.00250099},
               {"yogi", 0.9, 0.0980200, 0.002501}};
  for (const auto& c : cases) {
    AggregationOptions options;
    options.global = c.rule;
    options.server_learning_rate = 0.1;
    options.beta1 = c.beta1;
    auto aggregator = make_aggregator(options, sizes(1, 1, 1));
    ASSERT_TRUE(aggregator.ok());
    std::vector<float> model{0};
    (*aggregator)->begin(model);
    (*aggregator)->add(update(0, {0.5f}, 4));
    (*aggregator)->finish(model);
    EXPECT_NEAR(model[0], c.step, 1e-7) << c.rule;
    EXPECT_NEAR((*aggregator)->save().at("variance")[0], c.variance, 1e-8) << c.rule;
  }
}

// Deltas 0.5, -0.2 and 0.01, each the mean of two groups of 1 and 3 samples; the last is smaller than the root of v, so
// Yogi lowers v where Adam would too, but by another amount.
TEST(ServerOptimizer, TakesThreeStepsByHand) {
  const struct {
    const char* rule;
    std::vector<double> models;
    std::vector<double> variances;
  } cases[] = {{"adagrad", {0.0099800, 0.0146138, 0.0189688}, {0.250001, 0.290001, 0.290101}},
               {"adam", {0.0980202, 0.1437841, 0.1870075}, {0.00250099, 0.00287598, 0.00284822}},
               {"yogi", {0.0980200, 0.1435898, 0.1864326}, {0.002501, 0.002901, 0.0029}}};
  const double deltas[] = {0.5, -0.2, 0.01};
  for (const auto& c : cases) {
    auto aggregator = make_aggregator({.global = c.rule, .server_learning_rate = 0.1}, sizes(1, 2, 2));
    ASSERT_TRUE(aggregator.ok());
    std::vector<float> model{0, 0};
    for (std::size_t step = 0; step < 3; ++step) {
      const double mean = model[0] + deltas[step];
      (*aggregator)->begin(model);
      (*aggregator)->add(update(0, {static_cast<float>(mean + 3), 20}, 1));
      (*aggregator)->add(update(1, {static_cast<float>(mean - 1), 40}, 3));
      (*aggregator)->finish(model);
      EXPECT_NEAR(model[0], c.models[step], 1e-6) << c.rule << " " << step;
      EXPECT_EQ(model[1], 35) << c.rule;
      EXPECT_NEAR((*aggregator)->save().at("variance")[0], c.variances[step], 1e-8) << c.rule << " " << step;
    }
  }
}

TEST(Smoothed, ARangeKeepsMostOfWhatItWasAndTheRestDoesNot) {
  AggregatorSizes of = sizes(4, 4, 3);
  of.smoothed = {.offset = 1, .size = 2, .keep = 0.9};
  auto made = make_aggregator({}, of);
  ASSERT_TRUE(made.ok());
  std::vector<float> model{1, 2, 3, 4};
  (*made)->begin(model);
  (*made)->add(update(0, {11, 12, 13, 14}, 5));
  (*made)->finish(model);
  EXPECT_FLOAT_EQ(model[0], 11);
  EXPECT_FLOAT_EQ(model[1], 3);  // 0.1 * 12 + 0.9 * 2
  EXPECT_FLOAT_EQ(model[2], 4);
  EXPECT_FLOAT_EQ(model[3], 14);
  const std::vector<float> before = model;
  (*made)->begin(model);
  (*made)->add(all_dropped(0));
  (*made)->finish(model);
  EXPECT_EQ(model, before);
}

// Two rounds of a server with ten clients, at half the rate.
TEST(ControlVariateServer, FollowsTheFormulaForTwoRounds) {
  auto made = make_aggregator({.global = "control-variate", .server_learning_rate = 0.5}, sizes(1, 2, 10));
  ASSERT_TRUE(made.ok());
  Aggregator& server = **made;
  EXPECT_TRUE(server.broadcast().empty());
  std::vector<float> model{1, 10};
  server.begin(model);
  server.add(update(0, {3, 20}, 1, {2}));
  server.add(all_dropped(1));
  server.add(update(2, {5, 40}, 3, {4}));
  server.finish(model);
  EXPECT_EQ(model, (std::vector<float>{2.5f, 30}));  // 1 + (4 - 1) / 2; statistics are averaged, not stepped
  ASSERT_EQ(server.broadcast().size(), 1u);
  EXPECT_FLOAT_EQ(server.broadcast()[0], 0.6f);  // (2 + 4) / 10
  server.begin(model);
  server.add(update(1, {4.5f, 50}, 7, {-1}));
  server.finish(model);
  EXPECT_EQ(model, (std::vector<float>{3.5f, 50}));
  EXPECT_FLOAT_EQ(server.broadcast()[0], 0.5f);

  // What is sent to clients is there again right after a restart.
  auto restarted = make_aggregator({.global = "control-variate"}, sizes(1, 2, 10));
  ASSERT_TRUE((*restarted)->restore(server.save()).ok());
  EXPECT_EQ(std::vector<float>((*restarted)->broadcast().begin(), (*restarted)->broadcast().end()),
            std::vector<float>{server.broadcast()[0]});
}

// Four clients, alpha = 0.5. Round 1, from 1: h = -0.5 / 4 * ((2 - 1) + (4 - 1)) = -0.5, model = 3 + 0.5 / 0.5.
// Round 2, from 4: h = -0.5 - 0.5 / 4 * (-3 - 2 + 2) = -0.125, model = 3 + 0.125 / 0.5.
TEST(DynamicServer, FollowsTheFormulaForTwoRounds) {
  auto made = make_aggregator({.global = "dynamic"}, {.parameters = 1, .size = 2, .clients = 4, .alpha = 0.5});
  ASSERT_TRUE(made.ok());
  Aggregator& server = **made;
  std::vector<float> model{1, 10};
  server.begin(model);
  server.add(update(0, {2, 20}, 1));
  server.add(update(1, {4, 40}, 3));
  server.finish(model);
  EXPECT_EQ(model, (std::vector<float>{4, 30}));
  EXPECT_EQ(server.save().at("correction"), std::vector<double>{-0.5});
  server.begin(model);
  server.add(update(0, {1, 0}, 1));
  server.add(update(1, {2, 0}, 1));
  server.add(update(3, {6, 3}, 100));
  server.finish(model);
  EXPECT_EQ(model, (std::vector<float>{3.25f, 1}));
  EXPECT_EQ(server.save().at("correction"), std::vector<double>{-0.125});
}

// Groups of 1 and 3 samples, of which the first counts double: models 2 and 6, statistics 20 and 40, from (1, 10).
TEST(EveryRule, WeighsModelsAndStatisticsByItsOwnRule) {
  const struct {
    const char* rule;
    double model;
    double statistic;
  } cases[] = {{"samples-weighted", (2 * 2 + 3 * 6) / 5.0, (2 * 20 + 3 * 40) / 5.0},
               {"stabilised", (2 * 2 + 3 * 6) / 5.0, (2 * 20 + 3 * 40) / 5.0},
               {"uniform", 4, 30},
               {"unbiased", 1 + 2 * (2 - 1) + 3 * (6 - 1), 35},
               {"control-variate", 4, 30}};
  for (const auto& c : cases) {
    const auto aggregator = make(c.rule, sizes(1, 2, 2));
    // Twice from the same model: nothing of the first round may be left.
    for (int round = 0; round < 2; ++round) {
      std::vector<float> model{1, 10};
      aggregator->begin(model);
      for (const bool first : {true, false}) {
        GroupUpdate u = first ? update(0, {2, 20}, 1) : update(1, {6, 40}, 3);
        u.importance = first ? 2 : 1;
        aggregator->add(u);
      }
      aggregator->finish(model);
      EXPECT_NEAR(model[0], c.model, 1e-5) << c.rule;
      EXPECT_NEAR(model[1], c.statistic, 1e-5) << c.rule;
    }
  }
}

TEST(ServerState, OfAnotherSizeIsRefused) {
  for (const char* rule : {"adagrad", "adam", "yogi", "control-variate", "dynamic"}) {
    const auto saved = [&] {
      const auto other = make(rule, sizes(2, 2, 5));
      std::vector<float> model{1, 2};
      other->begin(model);
      other->add(update(0, {3, 4}, 1, {1, 1}));
      other->finish(model);
      return other->save();
    }();
    const auto aggregator = make(rule, sizes(1, 1, 5));
    EXPECT_FALSE(aggregator->restore(saved).ok()) << rule;
    EXPECT_FALSE(aggregator->restore({}).ok()) << rule;
  }
}

TEST(ControlVariateServer, RateOneIsExactlyTheUniformMean) {
  const auto scaffold = make("control-variate", sizes(3, 3, 10));
  const auto uniform = make("uniform", sizes(3, 3, 10));
  std::vector<float> a{0.1f, -7.3f, 1e-8f};
  std::vector<float> b = a;
  for (const auto& [aggregator, model] : {std::pair(scaffold.get(), &a), std::pair(uniform.get(), &b)}) {
    aggregator->begin(*model);
    aggregator->add(update(0, {0.3f, 0.7f, 1.1f}, 3, {1, 1, 1}));
    aggregator->add(update(1, {0.1f, 0.9f, -1.3f}, 5, {1, 1, 1}));
    aggregator->add(update(2, {1e-3f, 0.2f, 2.7f}, 9, {1, 1, 1}));
    aggregator->finish(*model);
  }
  EXPECT_EQ(a, b);
  ASSERT_EQ(scaffold->broadcast().size(), 3u);
  EXPECT_FLOAT_EQ(scaffold->broadcast()[0], 0.3f);  // three of ten clients, each changed by one
}

}  // namespace
}  // namespace muster
