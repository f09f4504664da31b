#include <algorithm>
#include <map>

#include "dirichlet_clients.h"

namespace muster {
namespace {

using Lists = std::vector<std::vector<std::uint32_t>>;

// Client k has only class k % classes.
LabelledClients kinds(std::uint32_t clients, std::uint32_t classes) {
  LabelledClients made{.labels = Rows<std::uint32_t>(clients, classes),
                       .samples = std::vector<std::uint32_t>(clients, 10)};
  for (std::uint32_t k = 0; k < clients; ++k) made.labels.row(k)[k % classes] = 10;
  return made;
}

TEST(KMeansDeal, EveryGroupHasOneOfEachKind) {
  const LabelledClients clients = kinds(20, 4);
  const GroupingOptions options{.method = "kmeans-deal", .max_clients = 4};
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const Lists groups = grouped(options, clients.input(), seed);
    ASSERT_EQ(groups.size(), 5u);
    for (const auto& group : groups) {
      std::vector<std::uint32_t> classes;
      for (const std::uint32_t client : group) classes.push_back(client % 4);
      std::ranges::sort(classes);
      EXPECT_EQ(classes, (std::vector<std::uint32_t>{0, 1, 2, 3}));
    }
  }
  EXPECT_NE(grouped(options, clients.input(), 1), grouped(options, clients.input(), 2));
}

TEST(KMeansDeal, TheTurnGoesOnFromGroupToGroup) {
  // Pairs of three kinds in turn: ab ca bc ab ca bc. Were the turn to start anew there would be no c at first.
  const Lists groups = grouped({.method = "kmeans-deal", .max_clients = 2}, kinds(12, 3).input(), 4);
  std::map<std::pair<std::uint32_t, std::uint32_t>, int> pairs;
  for (const auto& group : groups) {
    ASSERT_EQ(group.size(), 2u);
    const auto [low, high] = std::minmax({group[0] % 3, group[1] % 3});
    ++pairs[{low, high}];
  }
  EXPECT_EQ(pairs.size(), 3u);
  for (const auto& [pair, count] : pairs) EXPECT_EQ(count, 2) << pair.first << pair.second;
}

TEST(KMeansDeal, PassesOverClustersThatAreUsedUp) {
  // One client of class 0, one of class 1, six of class 2.
  LabelledClients clients = clients_of(3, {9, 0, 0, 0, 9, 0, 0, 0, 9, 0, 0, 9, 0, 0, 9, 0, 0, 9, 0, 0, 9, 0, 0, 9});
  const Lists groups = grouped({.method = "kmeans-deal", .max_clients = 4}, clients.input(), 2);
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].size(), 4u);
  EXPECT_EQ(groups[0][1], 1u);  // 0 and 1 are both in the first group: three clusters come before the first repeats
  EXPECT_EQ(groups[1].size(), 4u);
}

TEST(KMeansDeal, DrawsMembersAtRandom) {
  // Each of the five clients of a kind is with each of the other kind in about a fifth of the seeds.
  const LabelledClients clients = kinds(10, 2);
  int together = 0;
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    for (const auto& group : grouped({.method = "kmeans-deal", .max_clients = 2}, clients.input(), seed)) {
      together += group == std::vector<std::uint32_t>{0, 1};
    }
  }
  EXPECT_NEAR(together, 100, 5 * 9);
}

TEST(KMeansDeal, ComparesVectorsWhereThereAreAny) {
  // The vectors say that even and odd clients are alike, whatever the labels say.
  LabelledClients clients = kinds(8, 2);
  Rows<float> vectors(8, 1);
  for (std::uint32_t k = 0; k < 8; ++k) vectors.row(k)[0] = k < 4 ? 100.0f : -100.0f;
  GroupingInput input = clients.input();
  input.vectors = vectors;
  for (const auto& group : grouped({.method = "kmeans-deal", .max_clients = 2}, input, 3)) {
    EXPECT_LT(group[0], 4u);
    EXPECT_GE(group[1], 4u);
  }
  input.labels = {};
  const auto unset = form_groups({.method = "kmeans-deal"}, input, {});
  ASSERT_FALSE(unset);
  EXPECT_EQ(unset.error().message,
            "grouping.clusters: not set, want a number: vectors alone do not tell how many classes there are");
  EXPECT_EQ(grouped({.method = "kmeans-deal", .max_clients = 2, .clusters = 2}, input, 3).size(), 4u);
}

TEST(KMeansDeal, TakesMoreClustersThanClients) {
  // As many as a recipe can say: they would not fit into memory.
  EXPECT_EQ(grouped({.method = "kmeans-deal", .max_clients = 3, .clusters = 0xffffffff}, kinds(6, 3).input(), 1),
            grouped({.method = "kmeans-deal", .max_clients = 3, .clusters = 6}, kinds(6, 3).input(), 1));
  EXPECT_EQ(grouped({.method = "kmeans-deal", .max_clients = 3, .clusters = 50}, kinds(6, 3).input(), 1).size(), 2u);
  const auto zero = form_groups({.method = "kmeans-deal", .clusters = 0}, kinds(6, 3).input(), {});
  ASSERT_FALSE(zero);
  EXPECT_EQ(zero.error().message, "grouping.clusters: 0, want >= 1");
}

}  // namespace
}  // namespace muster
