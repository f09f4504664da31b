// mediator against a direct implementation, its ties and its last group.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "dirichlet_clients.h"

namespace muster {
namespace {

using Lists = std::vector<std::vector<std::uint32_t>>;

Lists direct_mediators(const LabelledClients& clients, std::uint32_t size) {
  const std::size_t classes = clients.labels.width;
  std::vector<std::uint32_t> waiting(clients.samples.size());
  std::iota(waiting.begin(), waiting.end(), 0u);
  Lists groups;
  while (!waiting.empty()) {
    std::vector<std::uint32_t> group;
    std::vector<long double> counts(classes);
    while (group.size() < size && !waiting.empty()) {
      long double least = std::numeric_limits<long double>::infinity();
      std::size_t best = 0;
      for (std::size_t i = 0; i < waiting.size(); ++i) {
        long double total = 0;
        for (std::size_t c = 0; c < classes; ++c) total += counts[c] + clients.labels.row(waiting[i])[c];
        long double sum = 0;
        for (std::size_t c = 0; c < classes; ++c) {
          const long double share = (counts[c] + clients.labels.row(waiting[i])[c]) / total;
          if (share > 0) sum += share * std::log(share * static_cast<long double>(classes));
        }
        if (sum >= least - 1e-11L) continue;
        least = sum;
        best = i;
      }
      for (std::size_t c = 0; c < classes; ++c) counts[c] += clients.labels.row(waiting[best])[c];
      group.push_back(waiting[best]);
      waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(best));
    }
    std::ranges::sort(group);
    groups.push_back(group);
  }
  std::ranges::sort(groups);
  return groups;
}

Lists mediators(const LabelledClients& clients, std::uint32_t size) {
  const auto formed = form_groups({.method = "mediator", .size = size}, clients.input(), {});
  EXPECT_TRUE(formed) << formed.error().message;
  return formed ? member_lists(formed->grouping) : Lists{};
}

TEST(Mediator, IsTheDirectGreedy) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const LabelledClients clients = dirichlet_clients(53, 10, seed % 2 == 0 ? 0.1 : 1.0, 20, 200, seed);
    EXPECT_EQ(mediators(clients, 5), direct_mediators(clients, 5)) << "seed " << seed;
  }
}

TEST(Mediator, IsTheDirectGreedyWhereTiesAbound) {
  // One class per client and few different sizes: most picks are ties.
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const LabelledClients clients = one_class_clients(37, 6, seed);
    EXPECT_EQ(mediators(clients, 4), direct_mediators(clients, 4)) << "seed " << seed;
  }
}

TEST(Mediator, TiesGoToTheLowestClient) {
  // Everyone has one class, so 0 opens; 2 evens it out.
  EXPECT_EQ(mediators(clients_of(2, {5, 0, 5, 0, 0, 5}), 2), (Lists{{0, 2}, {1}}));
  // 2 and 3 even it out alike, so 2 comes.
  EXPECT_EQ(mediators(clients_of(2, {5, 0, 5, 0, 0, 5, 0, 5, 0, 5}), 2), (Lists{{0, 2}, {1, 3}, {4}}));
}

TEST(Mediator, OpensWithTheMostEvenClient) {
  EXPECT_EQ(mediators(clients_of(2, {9, 1, 1, 9, 6, 4, 4, 6}), 2), (Lists{{0, 1}, {2, 3}}));
}

TEST(Mediator, TheLastGroupMayBeSmaller) {
  const Lists groups = mediators(dirichlet_clients(23, 5, 0.5, 50, 60, 4), 5);
  ASSERT_EQ(groups.size(), 5u);
  std::vector<std::size_t> sizes;
  for (const auto& group : groups) sizes.push_back(group.size());
  std::ranges::sort(sizes);
  EXPECT_EQ(sizes, (std::vector<std::size_t>{3, 5, 5, 5, 5}));
  EXPECT_EQ(mediators(dirichlet_clients(3, 5, 0.5, 50, 60, 4), 5).size(), 1u);
}

TEST(Mediator, DoesNotDependOnTheOrderOfClients) {
  const LabelledClients clients = dirichlet_clients(60, 10, 0.4, 100, 400, 9);
  const Lists groups = mediators(clients, 6);
  std::vector<std::uint32_t> order(60);
  std::iota(order.begin(), order.end(), 0u);
  Stream stream({.seed = 3});
  for (int turn = 0; turn < 5; ++turn) {
    stream.shuffle(std::span(order));
    EXPECT_EQ(renamed(mediators(reordered(clients, order), 6), order), groups);
  }
}

TEST(Mediator, RefusesSizeZero) {
  const auto formed = form_groups({.method = "mediator", .size = 0}, clients_of(1, {4, 4}).input(), {});
  ASSERT_FALSE(formed);
  EXPECT_EQ(formed.error().message, "grouping.size: 0, want >= 1");
}

}  // namespace
}  // namespace muster
