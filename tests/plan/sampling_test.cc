#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "plan/plan.h"

namespace muster {
namespace {

std::vector<double> probabilities_of(std::span<const double> log_weights) {
  std::vector<double> probabilities = log_sampling_probabilities(log_weights);
  for (double& probability : probabilities) probability = std::exp(probability);
  return probabilities;
}

using Indices = std::vector<std::uint32_t>;

std::vector<double> probabilities(const std::string& sampling, std::vector<double> cov) {
  return probabilities_of(log_sampling_weights(sampling, cov));
}

// Groups of clients given by id.
Grouping grouping_of(const std::vector<std::vector<std::uint32_t>>& groups) {
  Grouping grouping;
  for (const auto& group : groups) {
    std::vector<ClientId> members;
    for (const std::uint32_t client : group) members.push_back(ClientId{client});
    grouping.add(members);
  }
  return grouping;
}

Indices ids(std::span<const ClientId> clients) {
  Indices result;
  for (const ClientId client : clients) result.push_back(client.value);
  return result;
}

TEST(SamplingWeights, FollowTheWorkedExample) {
  const std::map<std::string, std::vector<double>> expected{
      {"inverse-cov", {0.571429, 0.285714, 0.142857}},
      {"inverse-cov-squared", {0.761905, 0.190476, 0.047619}},
      {"exp-inverse-cov", {0.843795, 0.114195, 0.042010}},
      {"exp-inverse-cov-squared", {0.99999355, 6.144e-6, 3.059e-7}}};
  for (const auto& [sampling, wanted] : expected) {
    const std::vector<double> p = probabilities(sampling, {0.25, 0.5, 1});
    for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(p[i], wanted[i], 6e-4 * wanted[i]) << sampling << " " << i;
  }
}

TEST(SamplingWeights, TinyAndZeroVariationStayFinite) {
  const double infinite = std::numeric_limits<double>::infinity();
  for (const CatalogueEntry& sampler : samplers()) {
    if (!samples_by_cov(sampler.name)) continue;
    const std::vector<double> cov{0.03, 0, 0.001, 0.5, infinite};
    const std::vector<double> log_weights = log_sampling_weights(sampler.name, cov);
    // 0 counts as 1/1000.
    EXPECT_EQ(log_weights[1], log_weights[2]) << sampler.name;
    for (std::size_t i = 0; i < 4; ++i) EXPECT_TRUE(std::isfinite(log_weights[i])) << sampler.name;
    double sum = 0;
    for (const double p : probabilities_of(log_weights)) {
      EXPECT_TRUE(p >= 0 && p <= 1) << sampler.name;
      sum += p;
    }
    EXPECT_NEAR(sum, 1, 1e-9) << sampler.name;
    // Fewer than four groups have any probability to speak of, and still four distinct ones are drawn.
    Stream stream({.seed = 3, .purpose = Purpose::kTest});
    EXPECT_EQ(sample_by_weight(log_weights, 4, stream).size(), 4u) << sampler.name;
  }
}

TEST(SamplingWeights, GroupsWithoutVariationKnownAreNotDrawn) {
  const double unknown = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(log_sampling_weights("inverse-cov", std::vector<double>{unknown})[0],
            -std::numeric_limits<double>::infinity());
  EXPECT_THAT(probabilities("inverse-cov", {unknown, 1, 0.5}),
              testing::Pointwise(testing::DoubleNear(1e-12), {0.0, 1.0 / 3, 2.0 / 3}));
}

TEST(SamplingWeights, EqualVariationIsUniform) {
  for (const CatalogueEntry& sampler : samplers()) {
    if (!samples_by_cov(sampler.name)) continue;
    for (const double cov : {0.0, 0.03, 0.7, std::numeric_limits<double>::infinity()}) {
      for (const double p : probabilities(sampler.name, std::vector<double>(4, cov))) {
        EXPECT_NEAR(p, 0.25, 1e-9) << sampler.name << " " << cov;
      }
    }
  }
}

TEST(SamplingWeights, LogarithmsOfProbabilitiesDoNotVanish) {
  const std::vector<double> cov{0.25, 0.5, 1};
  const std::vector<double> p = probabilities("exp-inverse-cov", cov);
  const std::vector<double> logarithms = log_sampling_probabilities(log_sampling_weights("exp-inverse-cov", cov));
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(std::exp(logarithms[i]), p[i], 1e-12);

  // e^(-10^6) is no number, but its logarithm is.
  EXPECT_NEAR(log_sampling_probabilities(std::vector<double>{1e6, 0})[1], -1e6, 1e-6);
  const double none = -std::numeric_limits<double>::infinity();
  EXPECT_NEAR(log_sampling_probabilities(std::vector<double>{none, none})[0], std::log(0.5), 1e-12);
  EXPECT_EQ(log_sampling_probabilities(std::vector<double>{0, none})[1], none);
}

TEST(Plan, KnowsHowLikelyItsGroupsWere) {
  const Grouping grouping = grouping_of({{0}, {1, 2}, {3}});
  const RoundPlan even = plan_round({.sample_groups = Amount{2u}}, grouping, 1, 1);
  ASSERT_EQ(even.log_probabilities.size(), 2u);
  for (const double logarithm : even.log_probabilities) EXPECT_NEAR(std::exp(logarithm), 1.0 / 3, 1e-12);

  const std::vector<double> cov{0.25, 0.5, 1};
  const RoundPlan uneven = plan_round({.sample_groups = Amount{2u}, .sampling = "inverse-cov"}, grouping, 1, 1, cov);
  const std::vector<double> p = probabilities("inverse-cov", cov);
  ASSERT_EQ(uneven.log_probabilities.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_NEAR(std::exp(uneven.log_probabilities[i]), p[uneven.groups[i].value], 1e-12);
  }
  EXPECT_TRUE(plan_round({.sample_clients = Amount{2u}}, grouping, 1, 1).log_probabilities.empty());
}

TEST(Plan, KnowsTheProbabilitiesOfTheGroupsDrawnNotOfTheFirst) {
  const Grouping grouping = grouping_of({{0}, {1}, {2}, {3}, {4}});
  const std::vector<double> cov{1, 0.5, 0.25, 2, 4};
  const std::vector<double> all = log_sampling_probabilities(log_sampling_weights("inverse-cov", cov));
  PlanOptions options;
  options.sampling = "inverse-cov";
  options.sample_groups = Amount{2u};
  for (std::uint32_t round = 1; round <= 10; ++round) {
    const RoundPlan plan = plan_round(options, grouping, 1, round, cov);
    ASSERT_EQ(plan.log_probabilities.size(), 2u);
    for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(plan.log_probabilities[i], all[plan.groups[i].value]) << round;
  }
}

TEST(SampleByWeight, HasTheLawOfSequentialDraws) {
  const std::vector<double> log_weights = log_sampling_weights("inverse-cov", std::vector<double>{0.25, 0.5, 1, 2});
  const std::vector<double> p = probabilities_of(log_weights);
  std::map<Indices, double> expected;
  for (std::uint32_t i = 0; i < 4; ++i) {
    for (std::uint32_t j = 0; j < 4; ++j) {
      if (i != j) expected[{std::min(i, j), std::max(i, j)}] += p[i] * p[j] / (1 - p[i]);
    }
  }
  std::map<Indices, double> seen;
  constexpr int kDraws = 40000;
  for (std::uint32_t round = 0; round < kDraws; ++round) {
    Stream stream({.seed = 11, .purpose = Purpose::kTest, .round = round});
    ++seen[sample_by_weight(log_weights, 2, stream)];
  }
  double chi_square = 0;
  for (const auto& [pair, probability] : expected) {
    const double wanted = probability * kDraws;
    chi_square += (seen[pair] - wanted) * (seen[pair] - wanted) / wanted;
  }
  ASSERT_EQ(seen.size(), expected.size());
  EXPECT_LT(chi_square, 20.5);  // 5 degrees of freedom: exceeded once in a thousand seeds
}

TEST(SampleByWeight, IsAscendingDistinctAndAtMostAll) {
  const std::vector<double> log_weights{0, 5, -3, 1000, -std::numeric_limits<double>::infinity()};
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    Stream stream({.seed = seed, .purpose = Purpose::kTest});
    const Indices chosen = sample_by_weight(log_weights, 3, stream);
    ASSERT_EQ(chosen.size(), 3u);
    EXPECT_TRUE(std::is_sorted(chosen.begin(), chosen.end()));
    EXPECT_EQ(std::adjacent_find(chosen.begin(), chosen.end()), chosen.end());
    EXPECT_TRUE(std::binary_search(chosen.begin(), chosen.end(), 3u));
    EXPECT_NE(chosen.back(), 4u);
  }
  Stream stream({.seed = 1, .purpose = Purpose::kTest});
  EXPECT_EQ(sample_by_weight(log_weights, 99, stream), (Indices{0, 1, 2, 3, 4}));
  EXPECT_EQ(sample_by_weight(log_weights, 0, stream), Indices{});
  EXPECT_EQ(sample_by_weight({}, 3, stream), Indices{});
}

TEST(GroupsFirst, DrawsWholeGroups) {
  const Grouping grouping = grouping_of({{0, 5}, {1, 2, 3}, {4}});
  const RoundPlan plan = plan_round({.sample_groups = Amount{0.5}}, grouping, 1, 1);
  ASSERT_EQ(plan.groups.size(), 2u);  // half of three, rounded up
  for (std::size_t i = 0; i < plan.groups.size(); ++i) {
    EXPECT_EQ(ids(plan.members(i, grouping)), ids(grouping.members(plan.groups[i])));
  }
  EXPECT_EQ(plan_round({.sample_groups = Amount{7u}}, grouping, 1, 1).groups.size(), 3u);
  EXPECT_EQ(plan_round({.sample_groups = Amount{0.01}}, grouping, 1, 1).groups.size(), 1u);
}

TEST(GroupsFirst, PrefersGroupsWithLittleVariation) {
  const Grouping grouping = grouping_of({{0}, {1}, {2}});
  const PlanOptions options{.sample_groups = Amount{1u}, .sampling = "inverse-cov-squared"};
  const std::vector<double> cov{1, 0.25, 0.5};
  std::vector<int> seen(3);
  for (std::uint32_t round = 1; round <= 5000; ++round) {
    ++seen[plan_round(options, grouping, 5, round, cov).groups.at(0).value];
  }
  EXPECT_NEAR(seen[0], 5000 * 0.047619, 60);
  EXPECT_NEAR(seen[1], 5000 * 0.761905, 120);
  EXPECT_NEAR(seen[2], 5000 * 0.190476, 110);
}

TEST(GroupsFirst, AllMeansAll) {
  const Grouping grouping = grouping_of({{0, 5}, {1, 2, 3}, {4}});
  const RoundPlan plan = plan_round({.sampling = "all"}, grouping, 1, 9);
  EXPECT_EQ(plan.groups, (std::vector<GroupId>{{0}, {1}, {2}}));
  EXPECT_EQ(ids(plan.members(1, grouping)), (Indices{1, 2, 3}));
  EXPECT_EQ(plan.round, 9u);
}

TEST(ClientsFirst, MapsClientsToTheirGroupsAndSkipsTheRest) {
  Grouping grouping = grouping_of({{0, 5}, {}, {1, 2, 3}, {4}});
  grouping.add_idle(ClientId{6});
  const std::vector<ClientId> clients{{2}, {3}, {5}, {6}};
  const RoundPlan plan = plan_for_clients(clients, grouping, 4);
  EXPECT_EQ(plan.groups, (std::vector<GroupId>{{0}, {2}}));
  EXPECT_EQ(ids(plan.members(0, grouping)), (Indices{5}));
  EXPECT_EQ(ids(plan.members(1, grouping)), (Indices{2, 3}));
  EXPECT_TRUE(plan_for_clients({}, grouping, 4).groups.empty());
  // Ascending also where the group is not.
  const RoundPlan sorted = plan_for_clients(clients, grouping_of({{5, 3, 2}}), 4);
  EXPECT_EQ(ids(sorted.members(0, grouping)), (Indices{2, 3, 5}));
}

TEST(ClientsFirst, DrawsTheSameClientsHoweverTheyAreGrouped) {
  const Grouping grouped = grouping_of({{0, 5, 9}, {1, 2, 3, 8}, {4, 6, 7}});
  Grouping alone;
  for (std::uint32_t k = 0; k < 10; ++k) alone.add(std::vector<ClientId>{{k}});
  bool some_group_left_out = false;
  for (std::uint32_t round = 1; round <= 50; ++round) {
    const PlanOptions options{.sample_clients = Amount{4u}};
    const RoundPlan plan = plan_round(options, grouped, 3, round);
    Indices clients;
    for (std::size_t i = 0; i < plan.groups.size(); ++i) {
      const Indices part = ids(plan.members(i, grouped));
      EXPECT_FALSE(part.empty());
      EXPECT_TRUE(std::is_sorted(part.begin(), part.end()));
      clients.insert(clients.end(), part.begin(), part.end());
    }
    std::sort(clients.begin(), clients.end());
    Indices lone;
    for (const GroupId group : plan_round(options, alone, 3, round).groups) lone.push_back(group.value);
    EXPECT_EQ(clients, lone);
    some_group_left_out |= plan.groups.size() < 3;
  }
  EXPECT_TRUE(some_group_left_out);
}

TEST(Plan, EverySamplerIsAcceptedWithItsKeys) {
  for (const CatalogueEntry& sampler : samplers()) {
    PlanOptions options{.sampling = sampler.name};
    if (samples_by_cov(sampler.name)) options.sample_groups = Amount{0.5};
    EXPECT_TRUE(check_plan(options).ok()) << sampler.name;
  }
  EXPECT_TRUE(check_plan({}).ok());
}

TEST(Plan, RefusesToDrawTwice) {
  EXPECT_EQ(check_plan({.sample_groups = Amount{2u}, .sample_clients = Amount{5u}}).error().message,
            "plan.sample-groups: does not go with plan.sample-clients, because a round draws either groups or clients; "
            "remove one");
  EXPECT_EQ(check_plan({.sampling = "inverse-cov"}).error().message,
            "plan.sampling: \"inverse-cov\" draws groups; set plan.sample-groups");
  EXPECT_EQ(check_plan({.sample_clients = Amount{0.5}, .sampling = "all"}).error().message,
            "plan.sampling: \"all\" leaves nobody out; remove plan.sample-clients");
  EXPECT_THAT(check_plan({.sampling = "unifrom"}).error().message,
              ::testing::HasSubstr("plan.sampling: unknown sampler 'unifrom' (did you mean 'uniform'?)"));
  PlanOptions no_groups;
  no_groups.groups = GroupSchedule{.beta = 0};
  EXPECT_EQ(check_plan(no_groups).error().message, "plan.groups: 0 groups, want >= 1");
  PlanOptions no_rhythm;
  no_rhythm.regroup.every = 0;
  EXPECT_FALSE(check_plan(no_rhythm).ok());
}

}  // namespace
}  // namespace muster
