#include <algorithm>
#include <numeric>

#include "dirichlet_clients.h"
#include "grouping/balanced_clusters.h"
#include "grouping/groupers.h"
#include "grouping/quality.h"

namespace muster {
namespace {

using Counts = std::vector<std::uint32_t>;

Counts everyone(std::uint32_t clients) {
  Counts ids(clients);
  std::iota(ids.begin(), ids.end(), 0u);
  return ids;
}

// Twice the sum of squared distances to the centroids times the cluster size, an integer.
std::int64_t scaled_objective(const Rows<std::uint32_t>& labels, const Counts& cluster, std::uint32_t clusters) {
  const std::int64_t capacity = labels.count() / clusters;
  std::int64_t sum = 0;
  for (std::uint32_t l = 0; l < clusters; ++l) {
    for (std::size_t y = 0; y < labels.width; ++y) {
      std::int64_t total = 0, squares = 0;
      for (std::uint32_t k = 0; k < labels.count(); ++k) {
        if (cluster[k] != l) continue;
        total += labels.row(k)[y];
        squares += std::int64_t{labels.row(k)[y]} * labels.row(k)[y];
      }
      sum += capacity * squares - total * total;
    }
  }
  return sum;
}

TEST(BalancedClusters, WorkedExample) {
  const LabelledClients given = clients_of({{8, 0}, {7, 1}, {1, 7}, {0, 8}});
  for (const Counts& first : {Counts{0, 1}, Counts{0, 2}, Counts{1, 3}, Counts{2, 3}}) {
    const auto found = balanced_clusters(given.labels, everyone(4), first, 10);
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(found->cluster[0], found->cluster[1]);
    EXPECT_EQ(found->cluster[2], found->cluster[3]);
    EXPECT_NE(found->cluster[0], found->cluster[2]);
    EXPECT_EQ(found->gains.back(), 452u);
    EXPECT_EQ(scaled_objective(given.labels, found->cluster, 2), 2 * 2);  // 2 c times 1.0
  }
}

TEST(BalancedClusters, GainOnlyRisesAndClustersHaveOneSize) {
  std::size_t longest = 0;
  for (const auto& [clients, clusters] : {std::pair{364u, 7u}, {360u, 36u}, {100u, 2u}, {60u, 30u}}) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      const LabelledClients skewed = dirichlet_clients(clients, 10, 0.3, 20, 200, seed);
      Stream stream({.seed = seed});
      const Counts first = stream.sample(clients, clusters);
      std::vector<std::uint64_t> gains;
      for (std::uint32_t iterations = 1; iterations <= 12; ++iterations) {
        const auto found = balanced_clusters(skewed.labels, everyone(clients), first, iterations);
        ASSERT_TRUE(found);
        Counts sizes(clusters);
        for (const std::uint32_t cluster : found->cluster) ++sizes[cluster];
        EXPECT_EQ(sizes, Counts(clusters, clients / clusters));
        EXPECT_LE(found->gains.size(), iterations);
        gains = found->gains;
        // The gain and the objective are one thing: c sum |V|^2 - gain.
        std::int64_t squares = 0;
        for (const std::uint32_t count : skewed.labels.values) squares += std::int64_t{count} * count;
        EXPECT_EQ(clients / clusters * squares - static_cast<std::int64_t>(gains.back()),
                  scaled_objective(skewed.labels, found->cluster, clusters));
      }
      EXPECT_TRUE(std::ranges::is_sorted(gains));
      longest = std::max(longest, gains.size());
    }
  }
  EXPECT_GT(longest, 5u);  // some of these take their time, so that rising means something
}

TEST(BalancedClusters, FollowClientsIntoAnotherOrder) {
  const LabelledClients clients = dirichlet_clients(90, 8, 0.3, 100, 900, 2);
  Stream stream({.seed = 3});
  Counts order = everyone(90);
  stream.shuffle(std::span(order));
  Counts back(90);
  for (std::uint32_t i = 0; i < 90; ++i) back[order[i]] = i;
  const Counts first{4, 17, 33, 58, 71, 88};
  Counts moved;
  for (const std::uint32_t client : first) moved.push_back(back[client]);
  const auto one = balanced_clusters(clients.labels, everyone(90), first, 10);
  const auto two = balanced_clusters(reordered(clients, order).labels, everyone(90), moved, 10);
  ASSERT_TRUE(one && two);
  EXPECT_EQ(one->gains, two->gains);
  for (std::uint32_t i = 0; i < 90; ++i) EXPECT_EQ(two->cluster[i], one->cluster[order[i]]);
}

TEST(BalancedClusters, LargeCountsAreExactOrRefused) {
  // Too large for products in double, small enough for 64 bits.
  const std::uint32_t big = 100'000'000;
  const LabelledClients large = clients_of({{8 * big, 0}, {8 * big - 1, 1}, {1, 8 * big - 1}, {0, 8 * big}});
  const auto found = balanced_clusters(large.labels, everyone(4), Counts{0, 2}, 10);
  ASSERT_FALSE(found);
  EXPECT_NE(found.error().message.find("labels: 3200000000 samples in all, 800000000 of them on one client"),
            std::string::npos)
      << found.error().message;
  const LabelledClients fits = clients_of({{big, 0}, {big - 1, 1}, {1, big - 1}, {0, big}});
  const auto exact = balanced_clusters(fits.labels, everyone(4), Counts{0, 2}, 10);
  ASSERT_TRUE(exact) << exact.error().message;
  EXPECT_EQ(exact->gains.back(), 2 * (std::uint64_t{2 * big - 1} * (2 * big - 1) + 1));
}

TEST(InterCluster, WorkedExampleGroupsAreMixed) {
  const LabelledClients given = clients_of({{8, 0}, {7, 1}, {1, 7}, {0, 8}});
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto formed = form_groups({.method = "inter-cluster", .groups = 2}, given.input(), {.seed = seed});
    ASSERT_TRUE(formed) << formed.error().message;
    ASSERT_EQ(formed->grouping.count(), 2u);
    for (std::uint32_t g = 0; g < 2; ++g) {
      const auto members = formed->grouping.members({g});
      ASSERT_EQ(members.size(), 2u);
      EXPECT_LT(members[0].value, 2u);
      EXPECT_GE(members[1].value, 2u);
      const std::uint32_t zeros = given.labels.row(members[0].value)[0] + given.labels.row(members[1].value)[0];
      EXPECT_TRUE(zeros >= 7 && zeros <= 9) << zeros;
    }
  }
}

TEST(InterCluster, NumberOfGroups) {
  struct Case {
    std::uint32_t clients, groups, size, all;
  };
  // FedGSP's schedule on 368 clients, and the ends of the range.
  for (const Case& c : {Case{368, 50, 7, 52},
                        {368, 80, 4, 92},
                        {368, 130, 2, 184},
                        {368, 10, 36, 10},
                        {20, 1, 20, 1},
                        {20, 11, 1, 20},
                        {20, 20, 1, 20},
                        {20, 10, 2, 10},
                        {7, 3, 2, 3},
                        {1, 1, 1, 1}}) {
    const LabelledClients skewed = dirichlet_clients(c.clients, 10, 1.0, 100, 200, 3);
    for (const char* rows : {"all", "exact"}) {
      const auto formed =
          form_groups({.method = "inter-cluster", .groups = c.groups, .rows = rows}, skewed.input(), {});
      ASSERT_TRUE(formed) << formed.error().message;
      const std::uint32_t expected = rows == std::string("all") ? c.all : c.groups;
      EXPECT_EQ(formed->grouping.count(), expected) << c.clients << " " << c.groups << " " << rows;
      for (std::uint32_t g = 0; g < formed->grouping.count(); ++g) {
        EXPECT_EQ(formed->grouping.members({g}).size(), c.size);
      }
      EXPECT_EQ(formed->grouping.count() * c.size + formed->grouping.idle().size(), c.clients);
    }
  }
}

TEST(InterCluster, EveryGroupHasOneOfEveryCluster) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const LabelledClients skewed = dirichlet_clients(66, 5, 0.5, 100, 200, seed);
    const GroupingCall call{.seed = seed, .round = 4};
    const auto formed = form_groups({.method = "inter-cluster", .groups = 11}, skewed.input(), call);
    ASSERT_TRUE(formed);
    // The same draws and clusters once more: 66 / 11 = 6 clusters.
    Stream stream = grouping_stream(call);
    const Counts sitting = stream.sample(66, 66);
    const auto found = balanced_clusters(skewed.labels, sitting, stream.sample(66, 6), 10);
    ASSERT_TRUE(found);
    for (std::uint32_t g = 0; g < formed->grouping.count(); ++g) {
      Counts clusters;
      for (const ClientId client : formed->grouping.members({g})) clusters.push_back(found->cluster[client.value]);
      std::ranges::sort(clusters);
      EXPECT_EQ(clusters, (Counts{0, 1, 2, 3, 4, 5}));
    }
  }
}

TEST(InterCluster, GroupsTogetherAreTheClientsUsed) {
  const LabelledClients skewed = dirichlet_clients(100, 6, 0.5, 20, 200, 8);
  const auto formed = form_groups({.method = "inter-cluster", .groups = 9}, skewed.input(), {});
  ASSERT_TRUE(formed);
  std::vector<std::uint64_t> total(6), used(6);
  const Rows<std::uint64_t> sums = group_counts(formed->grouping, skewed.labels);
  for (std::uint32_t g = 0; g < sums.count(); ++g) {
    for (std::size_t y = 0; y < 6; ++y) total[y] += sums.row(g)[y];
  }
  for (std::uint32_t k = 0; k < 100; ++k) {
    for (std::size_t y = 0; y < 6; ++y) used[y] += skewed.labels.row(k)[y];
  }
  for (const ClientId client : formed->grouping.idle()) {
    for (std::size_t y = 0; y < 6; ++y) used[y] -= skewed.labels.row(client.value)[y];
  }
  EXPECT_EQ(total, used);
}

TEST(InterCluster, DrawsWhichMembersOfTheClustersMeet) {
  // Clusters {0, 1} and {2, 3}: either of the two pairings in about half of the draws.
  const LabelledClients given = clients_of({{8, 0}, {7, 1}, {1, 7}, {0, 8}});
  int straight = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const auto formed = form_groups({.method = "inter-cluster", .groups = 2}, given.input(), {.seed = seed});
    ASSERT_TRUE(formed);
    straight += formed->grouping.members({0})[1].value == 2 ? 1 : 0;
  }
  EXPECT_NEAR(straight, 50, 25);
}

TEST(InterCluster, OneClassIsRandomGrouping) {
  const LabelledClients given = clients_of(std::vector<Counts>(12, Counts{5}));
  const auto one = form_groups({.method = "inter-cluster", .groups = 4}, given.input(), {.round = 1});
  const auto two = form_groups({.method = "inter-cluster", .groups = 4}, given.input(), {.round = 2});
  ASSERT_TRUE(one);
  ASSERT_TRUE(two);
  EXPECT_EQ(one->grouping.count(), 4u);
  EXPECT_NE(one->grouping.members({0})[1].value * 100 + one->grouping.members({0})[2].value,
            two->grouping.members({0})[1].value * 100 + two->grouping.members({0})[2].value);
}

TEST(InterCluster, EvensGroupsFarBeyondRandomOnes) {
  // Ten Dirichlet classes: the median distance between groups is at most 0.65 of random groups' of the same size.
  double own = 0, random = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const LabelledClients skewed = dirichlet_clients(368, 10, 0.1, 20, 200, seed);
    const auto formed = form_groups({.method = "inter-cluster", .groups = 50}, skewed.input(), {.seed = seed});
    const auto drawn = form_groups({.method = "random", .size = 7}, skewed.input(), {.seed = seed});
    ASSERT_TRUE(formed);
    ASSERT_TRUE(drawn);
    ASSERT_EQ(formed->grouping.count(), 52u);
    own += judge_groups(group_counts(formed->grouping, skewed.labels)).cpd_median;
    random += judge_groups(group_counts(drawn->grouping, skewed.labels)).cpd_median;
  }
  EXPECT_LE(own / random, 0.65);
  RecordProperty("ratio", std::to_string(own / random));
}

TEST(InterCluster, RefusesMoreClustersThanFitMemory) {
  Rows<std::uint32_t> labels(40'000, 2);
  std::ranges::fill(labels.values, 3u);
  const Counts samples(40'000, 6);
  const auto formed = form_groups({.method = "inter-cluster", .groups = 5}, {.samples = samples, .labels = labels}, {});
  ASSERT_FALSE(formed);
  EXPECT_EQ(formed.error().message,
            "grouping.groups: 5 for 40000 clients, want 12 or more: fewer need more clusters than fit into memory");
}

TEST(InterCluster, SaysWhenThereAreOtherThanTheWantedGroups) {
  const LabelledClients given = dirichlet_clients(100, 5, 0.5, 20, 200, 3);
  const auto notes = [&](std::uint32_t groups, const char* rows) {
    const auto formed = form_groups({.method = "inter-cluster", .groups = groups, .rows = rows}, given.input(), {});
    EXPECT_TRUE(formed);
    return formed ? formed->notes : std::vector<std::string>();
  };
  EXPECT_EQ(notes(60, ""),
            std::vector<std::string>{"60 groups wanted, 100 formed: 100 clients make 100 groups of 1; rows = exact "
                                     "forms 60 and leaves 40 clients idle"});
  EXPECT_EQ(notes(30, "all"),
            std::vector<std::string>{"30 groups wanted, 33 formed: 100 clients make 33 groups of 3; rows = exact forms "
                                     "30 and leaves 10 clients idle"});
  EXPECT_TRUE(notes(60, "exact").empty());
  EXPECT_TRUE(notes(20, "all").empty());
  EXPECT_TRUE(notes(100, "all").empty());
}

TEST(InterCluster, NamesBadKeys) {
  const LabelledClients skewed = dirichlet_clients(12, 3, 1.0, 20, 200, 1);
  const auto message = [&](const GroupingOptions& options) {
    const auto formed = form_groups(options, skewed.input(), {});
    return formed ? std::string("accepted") : formed.error().message;
  };
  EXPECT_EQ(message({.method = "inter-cluster"}),
            "grouping.groups: not set, but inter-cluster has to be told how many groups to form");
  EXPECT_EQ(message({.method = "inter-cluster", .groups = 3, .max_iterations = 0}),
            "grouping.max-iterations: 0, want >= 1");
  EXPECT_EQ(message({.method = "inter-cluster", .groups = 3, .rows = "some"}),
            "grouping.rows: \"some\", want all | exact");
  EXPECT_EQ(message({.method = "inter-cluster", .groups = 13}),
            "grouping.groups: 13, want 1 to 12, the number of clients with samples");
}

}  // namespace
}  // namespace muster
