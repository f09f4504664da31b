// Clusters that are merged into their means, up to a size.
#include <numeric>

#include "grouping/vectors.h"

namespace muster {
namespace {

TEST(MergeMeans, MergesWhatIsAlikeAndLeavesOutWhoIsAlone) {
  // Two directions of two clients each, one client against all.
  const Rows<float> rows = rows_of({{1, 0}, {0, 1}, {5, 0.1f}, {0.1f, 3}, {-1, -1}});
  EXPECT_EQ(groups_by({.method = "merge-means", .threshold = 0.5}, rows), (Lists{{0, 2}, {1, 3}}));
  EXPECT_EQ(groups_by({.method = "merge-means", .tail = "keep", .threshold = 0.5}, rows), (Lists{{0, 2}, {1, 3}, {4}}));
  EXPECT_EQ(groups_by({.method = "merge-means", .max_clients = 2, .tail = "merge", .threshold = 0.5},
                      rows_of({{1, 0}, {0, 1}, {5, 0.1f}, {0.1f, 3}, {-1, -0.5f}})),
            (Lists{{0, 2}, {1, 3, 4}}));
  // At 1 - cosine of about 0.94 the two means go together, too.
  EXPECT_EQ(groups_by({.method = "merge-means", .threshold = 0.98}, rows), (Lists{{0, 1, 2, 3}}));
}

// A merged cluster is compared by its mean, in which long vectors count more: worked by hand. (1, 0) and (0.9, 0.5)
// merge first, at 0.126; the mean of both has a cosine of 0.254 / 1.017 with (0, 1), the nearer of them one of 0.486.
TEST(MergeMeans, AClusterIsItsMean) {
  const Rows<float> rows = rows_of({{1, 0}, {0.9f, 0.5f}, {0, 1}});
  EXPECT_EQ(groups_by({.method = "merge-means", .threshold = 0.6}, rows), (Lists{{0, 1}}));
  EXPECT_EQ(groups_by({.method = "merge-means", .threshold = 0.75}, rows), (Lists{{0, 1, 2}}));
  EXPECT_EQ(groups_by({.method = "merge-means", .threshold = 0.74}, rows), (Lists{{0, 1}}));
}

TEST(MergeMeans, NoClusterOutgrowsItsLimit) {
  const Rows<float> rows = bundles(24, 30, 2, 0.2, 5);
  for (const std::uint32_t most : {2u, 3u, 5u, 12u}) {
    const Lists lists =
        groups_by({.method = "merge-means", .max_clients = most, .tail = "keep", .threshold = 0.5}, rows);
    std::size_t members = 0;
    for (const auto& list : lists) {
      EXPECT_LE(list.size(), most);
      members += list.size();
      for (const std::uint32_t client : list) EXPECT_EQ(client % 2, list[0] % 2);
    }
    EXPECT_EQ(members, 24u);
    EXPECT_EQ(lists == bundle_lists(24, 2), most == 12);
  }
}

// Every merge is the nearest pair that there is, tried by looking at all of them.
TEST(MergeMeans, MergesTheNearestPairsFirst) {
  const Rows<float> rows = random_rows(12, 4, 9);
  std::vector<std::vector<std::uint32_t>> clusters(12);
  for (std::uint32_t k = 0; k < 12; ++k) clusters[k] = {k};
  const auto distance = [&](const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& b) {
    std::vector<double> x(4), y(4);
    for (std::size_t c = 0; c < 4; ++c) {
      for (const std::uint32_t k : a) x[c] += rows.row(k)[c];
      for (const std::uint32_t k : b) y[c] += rows.row(k)[c];
    }
    const auto dot = [](const auto& p, const auto& q) {
      return std::inner_product(p.begin(), p.end(), q.begin(), 0.0);
    };
    return 1 - dot(x, y) / std::sqrt(dot(x, x) * dot(y, y));
  };
  while (true) {
    double nearest = 0.6;
    std::size_t first = 0, second = 0;
    for (std::size_t a = 0; a < clusters.size(); ++a) {
      for (std::size_t b = a + 1; b < clusters.size(); ++b) {
        if (clusters[a].size() + clusters[b].size() > 5) continue;
        if (const double d = distance(clusters[a], clusters[b]); d < nearest) nearest = d, first = a, second = b;
      }
    }
    if (second == 0) break;
    clusters[first].insert(clusters[first].end(), clusters[second].begin(), clusters[second].end());
    clusters.erase(clusters.begin() + static_cast<std::ptrdiff_t>(second));
  }
  std::vector<std::uint32_t> same(12);
  std::iota(same.begin(), same.end(), 0u);
  EXPECT_EQ(groups_by({.method = "merge-means", .max_clients = 5, .tail = "keep", .threshold = 0.6}, rows),
            named_by(clusters, same));
}

TEST(MergeMeans, SaysWhatIsWrong) {
  EXPECT_EQ(complaint({.method = "merge-means", .max_clients = 1}, random_rows(4, 3, 1)),
            "grouping.max-clients: 1, want >= 2, or nobody can be merged");
  EXPECT_EQ(complaint({.method = "merge-means", .threshold = 0.1}, rows_of({{1, 0}, {-1, 0}})),
            "no two of 2 clients are alike enough for grouping.threshold = 0.1");
}

}  // namespace
}  // namespace muster
