// kl-greedy against a direct implementation that recomputes every pair, its ties, and what it gives up.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "dirichlet_clients.h"

namespace muster {
namespace {

using Lists = std::vector<std::vector<std::uint32_t>>;

// Divergence of the members' counts from uniform, a missing class counting as 1.
long double penalised(const LabelledClients& clients, const std::vector<std::uint32_t>& members) {
  const std::size_t classes = clients.labels.width;
  std::vector<long double> counts(classes);
  for (const std::uint32_t member : members) {
    for (std::size_t c = 0; c < classes; ++c) counts[c] += clients.labels.row(member)[c];
  }
  const long double total = std::accumulate(counts.begin(), counts.end(), 0.0L);
  long double sum = 0;
  for (const long double count : counts) {
    sum += count == 0 ? 1 : count / total * std::log(count / total * static_cast<long double>(classes));
  }
  return sum;
}

Lists direct_kl_groups(const LabelledClients& clients, std::uint32_t min_size) {
  const auto count = static_cast<std::uint32_t>(clients.samples.size());
  Lists groups(count / min_size);
  for (std::uint32_t g = 0; g < groups.size(); ++g) groups[g].push_back(g);
  std::vector<std::uint32_t> waiting(count - groups.size());
  std::iota(waiting.begin(), waiting.end(), static_cast<std::uint32_t>(groups.size()));
  while (!waiting.empty()) {
    long double least = std::numeric_limits<long double>::infinity();
    std::size_t best_client = 0;
    std::size_t best_group = 0;
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      for (std::size_t g = 0; g < groups.size(); ++g) {
        std::vector<std::uint32_t> grown = groups[g];
        grown.push_back(waiting[i]);
        const long double change = penalised(clients, grown) - penalised(clients, groups[g]);
        if (change >= least - 1e-11L) continue;
        least = change;
        best_client = i;
        best_group = g;
      }
    }
    groups[best_group].push_back(waiting[best_client]);
    waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(best_client));
  }
  std::erase_if(groups, [&](const auto& group) { return group.size() < min_size; });
  for (auto& group : groups) std::ranges::sort(group);
  std::ranges::sort(groups);
  return groups;
}

Lists kl_groups(const LabelledClients& clients, std::uint32_t min_size) {
  const auto formed = form_groups({.method = "kl-greedy", .min_size = min_size}, clients.input(), {});
  EXPECT_TRUE(formed) << formed.error().message;
  return formed ? member_lists(formed->grouping) : Lists{};
}

TEST(KlGreedy, IsTheDirectGreedy) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const double alpha = seed % 3 == 0 ? 1.0 : 0.1;
    const LabelledClients clients = dirichlet_clients(40, 10, alpha, 20, 200, seed);
    for (const std::uint32_t min_size : {3u, 5u, 13u}) {
      EXPECT_EQ(kl_groups(clients, min_size), direct_kl_groups(clients, min_size))
          << "seed " << seed << " min-size " << min_size;
    }
  }
}

TEST(KlGreedy, IsTheDirectGreedyWhereTiesAbound) {
  // One class per client and few different sizes: most steps are ties.
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const LabelledClients clients = one_class_clients(36, 6, seed);
    EXPECT_EQ(kl_groups(clients, 4), direct_kl_groups(clients, 4)) << "seed " << seed;
  }
}

TEST(KlGreedy, TiesGoToTheLowestClientThenTheLowestGroup) {
  // Clients 0 and 1 open the groups. 2 and 3 fit either group alike: 2 is first and takes group 0, which leaves 3 the
  // other.
  const LabelledClients clients = clients_of(2, {4, 0, 4, 0, 0, 4, 0, 4});
  EXPECT_EQ(kl_groups(clients, 2), (Lists{{0, 2}, {1, 3}}));
}

TEST(KlGreedy, AGroupThatBecomesAsGoodAsAnotherIsPreferredIfItIsLower) {
  // 2 would rather join 1 = (4, 8, 0) than 0 = (4, 0, 0), until 3 makes group 0 the same as group 1.
  const LabelledClients clients = clients_of(3, {4, 0, 0, 4, 8, 0, 4, 0, 0, 0, 8, 0});
  EXPECT_EQ(kl_groups(clients, 2), (Lists{{0, 2, 3}}));
}

TEST(KlGreedy, AMissingClassCountsAsOne) {
  // Group 0 = (9, 1, 0), group 1 = (5, 0, 0). Client 2 = (0, 0, 1) fills one class of either: the change of the
  // divergence decides. Client 3 = (0, 5, 5) fills two of group 1 and one of group 0.
  const LabelledClients clients = clients_of(3, {9, 1, 0, 5, 0, 0, 0, 0, 1, 0, 5, 5});
  EXPECT_EQ(kl_groups(clients, 2), (Lists{{0, 2}, {1, 3}}));
}

TEST(KlGreedy, GivesUpGroupsThatStaySmall) {
  // The groups of 0 and 1 grow with the clients that mix them; nobody improves the even group of client 2.
  const LabelledClients clients = clients_of(2, {8, 0, 6, 0, 5, 5, 0, 4, 0, 3, 0, 4, 0, 3});
  const auto formed = form_groups({.method = "kl-greedy", .min_size = 2}, clients.input(), {});
  ASSERT_TRUE(formed) << formed.error().message;
  ASSERT_EQ(formed->grouping.idle().size(), 1u);
  EXPECT_EQ(formed->grouping.idle()[0].value, 2u);
  for (const auto& group : member_lists(formed->grouping)) EXPECT_GE(group.size(), 2u);
}

TEST(KlGreedy, DoesNotDependOnTheOrderOfTheClientsThatJoin) {
  const LabelledClients clients = dirichlet_clients(60, 10, 0.4, 100, 400, 9);
  const Lists groups = kl_groups(clients, 6);
  std::vector<std::uint32_t> order(60);
  std::iota(order.begin(), order.end(), 0u);
  Stream stream({.seed = 3});
  for (int turn = 0; turn < 5; ++turn) {
    stream.shuffle(std::span(order).subspan(10));  // the first ten open the groups
    EXPECT_EQ(renamed(kl_groups(reordered(clients, order), 6), order), groups);
  }
}

TEST(KlGreedy, SaysWhatIsImpossible) {
  const LabelledClients clients = clients_of(2, {4, 0, 0, 4});
  const auto few = form_groups({.method = "kl-greedy"}, clients.input(), {});
  ASSERT_FALSE(few);
  EXPECT_EQ(few.error().message, "grouping.min-size: 5, but only 2 clients have samples");
  const auto none = form_groups({.method = "kl-greedy", .min_size = 0}, clients.input(), {});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message, "grouping.min-size: 0, want >= 1");
  EXPECT_FALSE(form_groups({.method = "kl-greedy"}, {.samples = clients.samples}, {}));
}

TEST(KlGreedy, TakesClientsWhoseLabelsWereNotCounted) {
  LabelledClients clients = clients_of(2, {4, 0, 0, 0, 0, 4, 0, 0});
  clients.samples = {4, 4, 4, 4};
  EXPECT_EQ(kl_groups(clients, 4), (Lists{{0, 1, 2, 3}}));
  EXPECT_FALSE(kl_groups(clients, 1).empty());
}

}  // namespace
}  // namespace muster
