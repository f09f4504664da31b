#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "dirichlet_clients.h"
#include "grouping/grouping.h"
#include "grouping/label_spread.h"
#include "grouping/quality.h"

namespace muster {
namespace {

using Counts = std::vector<std::uint32_t>;

double qcid(const LabelledClients& clients, const Counts& members) {
  Counts sum(clients.labels.width);
  for (const std::uint32_t k : members) {
    for (std::size_t y = 0; y < sum.size(); ++y) sum[y] += clients.labels.row(k)[y];
  }
  return qcid_of(spread_of(sum), sum.size());
}

// Fed-CBS, Fig. 3: the best three leave out the second client, which a greedy choice would take after the first.
const LabelledClients kFedCbs =
    clients_of({{5, 5, 5, 5, 5, 5}, {6, 6, 6, 6, 6, 0}, {0, 0, 0, 10, 10, 10}, {10, 10, 10, 0, 0, 0}});

TEST(Qcid, FedCbsExample) {
  EXPECT_EQ(qcid(kFedCbs, {0, 2, 3}), 0);
  for (const Counts& other : {Counts{0, 1, 2}, Counts{0, 1, 3}, Counts{1, 2, 3}}) EXPECT_GT(qcid(kFedCbs, other), 0);
  EXPECT_LT(qcid(kFedCbs, {0, 1}), qcid(kFedCbs, {0, 2}));
  EXPECT_LT(qcid(kFedCbs, {0, 1}), qcid(kFedCbs, {0, 3}));
}

// The probability of every set of `size` clients drawn as the first group, by enumerating all orders.
std::map<Counts, double> exact_law(const LabelledClients& given, std::uint32_t size, double lambda, double round,
                                   const Counts& selected) {
  std::map<Counts, double> law;
  const auto extend = [&](auto&& self, const Counts& members, double probability) -> void {
    if (members.size() == size) {
      Counts set = members;
      std::ranges::sort(set);
      law[set] += probability;
      return;
    }
    std::vector<double> weights(given.labels.count());
    for (std::uint32_t k = 0; k < weights.size(); ++k) {
      if (std::ranges::find(members, k) != members.end()) continue;
      Counts joined = members;
      joined.push_back(k);
      const double own = std::max(qcid(given, joined), 1e-12);
      weights[k] = members.empty() ? 1 / own + lambda * std::sqrt(3 * std::log(round) / (2.0 * (1 + selected[k])))
                                   : std::pow(own, -static_cast<double>(joined.size()));
    }
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    for (std::uint32_t k = 0; k < weights.size(); ++k) {
      if (weights[k] == 0) continue;
      Counts joined = members;
      joined.push_back(k);
      self(self, joined, probability * weights[k] / sum);
    }
  };
  extend(extend, {}, 1);
  return law;
}

TEST(Qcid, PicksFollowTheirLaw) {
  const LabelledClients given = clients_of({{6, 2}, {8, 0}, {2, 5}, {0, 3}, {4, 3}});
  const Counts selected{1, 9, 2, 30, 4};
  for (const double lambda : {0.0, 5.0}) {
    std::map<Counts, double> seen;
    constexpr int kDraws = 20000;
    for (int seed = 0; seed < kDraws; ++seed) {
      GroupingInput input = given.input();
      input.selected = selected;
      // Three of five: a single group, so that the law is that of the first.
      const auto formed = form_groups({.method = "qcid", .min_size = 3, .lambda = lambda}, input,
                                      {.seed = static_cast<std::uint64_t>(seed), .round = 7});
      ASSERT_TRUE(formed) << formed.error().message;
      ASSERT_EQ(formed->grouping.count(), 1u);
      Counts set;
      for (const ClientId client : formed->grouping.members({0})) set.push_back(client.value);
      seen[set] += 1;
    }
    double chi_square = 0;
    int cells = 0;
    for (const auto& [set, probability] : exact_law(given, 3, lambda, 7, selected)) {
      const double expected = probability * kDraws;
      if (expected < 5) {
        EXPECT_LT(seen[set], 25) << lambda;
        continue;
      }
      chi_square += (seen[set] - expected) * (seen[set] - expected) / expected;
      ++cells;
    }
    EXPECT_GE(cells, 5);
    EXPECT_LT(chi_square, 30) << lambda << ": " << cells << " cells";  // of at most 9 degrees of freedom: p = 0.0004
  }
}

TEST(Qcid, RarelySelectedClientsComeFirstWithLargeLambda) {
  const LabelledClients skewed = dirichlet_clients(40, 10, 0.5, 20, 200, 3);
  Counts selected(40, 1'000'000);
  selected[11] = 0;
  GroupingInput input = skewed.input();
  input.selected = selected;
  int found = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const auto formed =
        form_groups({.method = "qcid", .min_size = 39, .lambda = 1e9}, input, {.seed = seed, .round = 100});
    ASSERT_TRUE(formed);
    ASSERT_EQ(formed->grouping.idle().size(), 1u);
    found += formed->grouping.idle()[0].value != 11;
  }
  EXPECT_EQ(found, 50);
}

TEST(Qcid, FormsAsManyGroupsAsFillUp) {
  const LabelledClients skewed = dirichlet_clients(58, 10, 0.5, 20, 200, 3);
  const auto formed = form_groups({.method = "qcid", .min_size = 7}, skewed.input(), {});
  ASSERT_TRUE(formed);
  EXPECT_EQ(formed->grouping.count(), 8u);
  EXPECT_EQ(formed->grouping.idle().size(), 2u);
  for (std::uint32_t g = 0; g < 8; ++g) EXPECT_EQ(formed->grouping.members({g}).size(), 7u);
}

TEST(Qcid, EvensGroupsBeyondRandomOnes) {
  double own = 0, random = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const LabelledClients skewed = dirichlet_clients(100, 10, 0.1, 20, 200, seed);
    const auto cov = [&](const GroupingOptions& options) {
      const auto formed = form_groups(options, skewed.input(), {.seed = seed});
      return judge_groups(group_counts(formed->grouping, skewed.labels)).cov_mean;
    };
    own += cov({.method = "qcid"});
    random += cov({.method = "random", .size = 5});
  }
  EXPECT_LT(own, 0.8 * random);
}

TEST(Qcid, HugeCountsAndPerfectGroupsAreFine) {
  const LabelledClients given = clients_of({{0xffffffff, 0}, {0, 0xffffffff}, {0xffffffff, 0}, {0, 0xffffffff}});
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto formed = form_groups({.method = "qcid", .min_size = 2}, given.input(), {.seed = seed});
    ASSERT_TRUE(formed);
    // A pair of equals is 1e24 times less likely than a perfect one.
    for (std::uint32_t g = 0; g < 2; ++g) {
      const auto members = formed->grouping.members({g});
      EXPECT_NE(members[0].value % 2, members[1].value % 2);
    }
  }
}

TEST(Qcid, NamesBadKeysAndTooFewClients) {
  const LabelledClients skewed = dirichlet_clients(4, 3, 1.0, 20, 200, 1);
  const auto message = [&](const GroupingOptions& options) {
    const auto formed = form_groups(options, skewed.input(), {});
    return formed ? std::string("accepted") : formed.error().message;
  };
  EXPECT_EQ(message({.method = "qcid", .min_size = 0}), "grouping.min-size: 0, want >= 1");
  EXPECT_EQ(message({.method = "qcid", .lambda = -1.0}), "grouping.lambda: -1, want >= 0 and finite");
  EXPECT_EQ(message({.method = "qcid", .lambda = INFINITY}), "grouping.lambda: inf, want >= 0 and finite");
  EXPECT_EQ(message({.method = "qcid"}), "grouping.min-size: 5, but only 4 clients have label counts");
}

TEST(Qcid, KnowsWhoWasSelectedAlsoWhereSomeClientsAreLeftOut) {
  // Client 0 has no samples. All others have been selected a thousand million times but the last, who must come first.
  LabelledClients clients = clients_of(std::vector<Counts>(12, Counts{8, 0}));
  clients.samples[0] = 0;
  Counts selected(12, 1'000'000'000);
  selected[11] = 1;
  GroupingInput input = clients.input();
  input.selected = selected;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto formed =
        form_groups({.method = "qcid", .min_size = 6, .lambda = 1e6}, input, {.seed = seed, .round = 100});
    ASSERT_TRUE(formed);
    ASSERT_EQ(formed->grouping.count(), 1u);
    EXPECT_EQ(formed->grouping.members({0}).back().value, 11u) << seed;
  }
}

}  // namespace
}  // namespace muster
