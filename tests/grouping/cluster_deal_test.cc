#include <algorithm>
#include <numeric>

#include "dirichlet_clients.h"

namespace muster {
namespace {

using Lists = std::vector<std::vector<std::uint32_t>>;

Lists dealt_groups(const LabelledClients& clients, std::uint32_t min_size) {
  const auto formed = form_groups({.method = "cluster-deal", .min_size = min_size}, clients.input(), {});
  EXPECT_TRUE(formed) << formed.error().message;
  return formed ? member_lists(formed->grouping) : Lists{};
}

TEST(ClusterDeal, GivesEveryGroupSomeOfEachCluster) {
  // Six clients of two kinds in three groups of two: clusters {0 2 4} and {1 3 5}.
  EXPECT_EQ(dealt_groups(clients_of(2, {9, 0, 0, 9, 8, 0, 0, 8, 9, 1, 1, 9}), 2), (Lists{{0, 1}, {2, 3}, {4, 5}}));
}

TEST(ClusterDeal, LetsItsClustersSettle) {
  // Of class 0 the clients have 0 2 9 9 9 1. From the first two as centres the clusters are {0 5} {1 2 3 4}, whose
  // means 0.5 and 7.25 give {0 1 5} {2 3 4}, which stay.
  EXPECT_EQ(dealt_groups(clients_of(2, {0, 1, 2, 1, 9, 1, 9, 1, 9, 1, 1, 1}), 2), (Lists{{0, 2}, {1, 3}, {4, 5}}));
}

TEST(ClusterDeal, TheTurnGoesOnFromClusterToCluster) {
  // Two groups; clusters {0 2 3} and {1 4}: 0, 3 and 4 go to one group and 2, 1 to the other. Starting each cluster at
  // the first group would give {0 1 3} and {2 4}.
  EXPECT_EQ(dealt_groups(clients_of(2, {9, 0, 0, 9, 8, 0, 9, 1, 0, 8}), 2), (Lists{{0, 3, 4}, {1, 2}}));
}

TEST(ClusterDeal, SizesDifferByOneAtMostAndNobodyIsIdle) {
  for (const std::uint32_t count : {5u, 9u, 33u, 100u, 101u}) {
    for (const std::uint32_t min_size : {1u, 2u, 5u}) {
      const LabelledClients clients = dirichlet_clients(count, 10, 0.2, 100, 200, count);
      const Lists groups = dealt_groups(clients, min_size);
      ASSERT_EQ(groups.size(), count / min_size);
      std::size_t placed = 0;
      for (const auto& group : groups) {
        placed += group.size();
        EXPECT_GE(group.size(), count / groups.size());
        EXPECT_LE(group.size(), count / groups.size() + 1);
      }
      EXPECT_EQ(placed, count);
    }
  }
}

TEST(ClusterDeal, SaysWhatIsImpossible) {
  const LabelledClients clients = clients_of(2, {4, 0, 0, 4});
  const auto few = form_groups({.method = "cluster-deal"}, clients.input(), {});
  ASSERT_FALSE(few);
  EXPECT_EQ(few.error().message, "grouping.min-size: 5, but only 2 clients have samples");
  EXPECT_FALSE(form_groups({.method = "cluster-deal", .min_size = 0}, clients.input(), {}));
}

}  // namespace
}  // namespace muster
