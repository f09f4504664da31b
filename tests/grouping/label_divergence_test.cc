#include "grouping/label_divergence.h"

#include <cmath>
#include <numeric>

#include "dirichlet_clients.h"

namespace muster {
namespace {

double direct(const std::vector<std::uint64_t>& counts) {
  const auto total = static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}));
  double sum = 0;
  for (const std::uint64_t count : counts) {
    const double share = static_cast<double>(count) / total;
    if (count > 0) sum += share * std::log(share * static_cast<double>(counts.size()));
  }
  return sum;
}

double in_nats(const LabelDivergence& divergence, const std::vector<std::uint64_t>& counts) {
  std::int64_t sum = 0;
  std::uint64_t samples = 0;
  for (const std::uint64_t count : counts) {
    sum += divergence.x_log_x(count);
    samples += count;
  }
  return static_cast<double>(divergence.of(sum, samples)) / static_cast<double>(LabelDivergence::kUnit);
}

TEST(LabelDivergence, IsTheDirectFormula) {
  const LabelledClients clients = dirichlet_clients(200, 10, 0.3, 20, 200, 1);
  const LabelDivergence divergence(clients.labels);
  std::vector<std::uint64_t> counts(10);
  for (std::uint32_t k = 0; k < 200; ++k) {
    for (std::size_t c = 0; c < 10; ++c) counts[c] += clients.labels.row(k)[c];
    EXPECT_NEAR(in_nats(divergence, counts), direct(counts), 2e-11) << k;
  }
}

TEST(LabelDivergence, KnowsItsEnds) {
  const LabelledClients clients = clients_of(4, {8, 0, 0, 0, 0, 0, 5, 0});
  const LabelDivergence divergence(clients.labels);
  EXPECT_EQ(in_nats(divergence, {2, 2, 2, 2}), 0);
  EXPECT_NEAR(in_nats(divergence, {0, 0, 5, 0}), std::log(4.0), 1e-12);
  EXPECT_NEAR(in_nats(divergence, {0, 0, 0, 0}), std::log(4.0), 1e-12);
  EXPECT_NEAR(in_nats(divergence, {0, 4, 4, 0}), std::log(2.0), 1e-12);
}

TEST(LabelDivergence, DoesNotDependOnTheOrderOfClasses) {
  const LabelledClients clients = dirichlet_clients(50, 7, 0.5, 20, 3000, 3);
  const LabelDivergence divergence(clients.labels);
  Stream stream({.seed = 4});
  for (std::uint32_t k = 0; k < 50; ++k) {
    std::vector<std::uint64_t> counts(clients.labels.row(k).begin(), clients.labels.row(k).end());
    const double value = in_nats(divergence, counts);
    for (int turn = 0; turn < 5; ++turn) {
      stream.shuffle(std::span(counts));
      EXPECT_EQ(in_nats(divergence, counts), value);
    }
  }
}

TEST(LabelDivergence, HoldsCountsBeyondItsTableAndTheLargestThereAre) {
  const LabelledClients clients = clients_of(2, {4000000000u, 4000000000u, 4000000000u, 0, 1, 3999999999u});
  const LabelDivergence divergence(clients.labels);
  EXPECT_NEAR(in_nats(divergence, {4000000000u, 4000000000u}), 0, 1e-9);
  EXPECT_NEAR(in_nats(divergence, {8000000001u, 7999999999u}), 0, 1e-9);
  EXPECT_NEAR(in_nats(divergence, {4000000000u, 0}), std::log(2.0), 1e-9);
  EXPECT_NEAR(in_nats(divergence, {3000000000u, 1000000000u}), direct({3000000000u, 1000000000u}), 1e-9);
}

TEST(SparseCounts, ListsWhatIsThere) {
  const LabelledClients clients = clients_of(3, {0, 4, 5, 0, 0, 0, 7, 0, 0});
  const SparseCounts sparse(clients.labels);
  ASSERT_EQ(sparse.row(0).size(), 2u);
  EXPECT_EQ(sparse.row(0)[0].label, 1u);
  EXPECT_EQ(sparse.row(0)[1].count, 5u);
  EXPECT_TRUE(sparse.row(1).empty());
  EXPECT_EQ(sparse.row(2)[0].count, 7u);
  EXPECT_EQ(sparse.samples, (std::vector<std::uint64_t>{9, 0, 7}));
}

}  // namespace
}  // namespace muster
