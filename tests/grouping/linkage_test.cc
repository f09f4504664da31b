// Agglomerative clustering against a slow search over all pairs of clusters, and the method built on it.
#include "grouping/linkage.h"

#include <limits>

#include "grouping/gram.h"
#include "grouping/vectors.h"

namespace muster {
namespace {

constexpr std::array kLinkages{Linkage::kSingle, Linkage::kComplete, Linkage::kAverage, Linkage::kWard};

// The distance of two clusters by its definition.
double between(const Rows<float>& points, const Rows<double>& distances, const std::vector<std::uint32_t>& a,
               const std::vector<std::uint32_t>& b, Linkage linkage) {
  if (linkage == Linkage::kWard) {
    double squares = 0;
    for (std::size_t c = 0; c < points.width; ++c) {
      double mean_a = 0;
      double mean_b = 0;
      for (const std::uint32_t i : a) mean_a += points.row(i)[c] / static_cast<double>(a.size());
      for (const std::uint32_t j : b) mean_b += points.row(j)[c] / static_cast<double>(b.size());
      squares += (mean_a - mean_b) * (mean_a - mean_b);
    }
    const auto size_a = static_cast<double>(a.size());
    const auto size_b = static_cast<double>(b.size());
    return std::sqrt(2 * size_a * size_b / (size_a + size_b) * squares);
  }
  double sum = 0;
  double least = std::numeric_limits<double>::infinity();
  double most = 0;
  for (const std::uint32_t i : a) {
    for (const std::uint32_t j : b) {
      sum += distances.row(i)[j];
      least = std::min(least, distances.row(i)[j]);
      most = std::max(most, distances.row(i)[j]);
    }
  }
  if (linkage == Linkage::kAverage) return sum / static_cast<double>(a.size() * b.size());
  return linkage == Linkage::kSingle ? least : most;
}

struct Slow {
  std::vector<double> heights;
  std::vector<Lists> clusters;  // after so many merges
};

Slow slow_linkage(const Rows<float>& points, Linkage linkage) {
  const Rows<double> distances = l2_distances(points);
  Lists clusters;
  for (std::uint32_t i = 0; i < points.count(); ++i) clusters.push_back({i});
  Slow slow{.heights = {}, .clusters = {clusters}};
  while (clusters.size() > 1) {
    double nearest = std::numeric_limits<double>::infinity();
    std::size_t first = 0;
    std::size_t second = 0;
    for (std::size_t a = 0; a < clusters.size(); ++a) {
      for (std::size_t b = a + 1; b < clusters.size(); ++b) {
        const double distance = between(points, distances, clusters[a], clusters[b], linkage);
        if (distance >= nearest) continue;
        nearest = distance;
        first = a;
        second = b;
      }
    }
    clusters[first].insert(clusters[first].end(), clusters[second].begin(), clusters[second].end());
    std::ranges::sort(clusters[first]);
    clusters.erase(clusters.begin() + static_cast<std::ptrdiff_t>(second));
    slow.heights.push_back(nearest);
    slow.clusters.push_back(clusters);
  }
  return slow;
}

TEST(Linkage, MergesAsTheDefinitionSays) {
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    for (const Linkage linkage : kLinkages) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", linkage " << static_cast<int>(linkage));
      const Rows<float> points = random_rows(30, 4, seed);
      const Slow slow = slow_linkage(points, linkage);
      const std::vector<Merge> merges = link(l2_distances(points), linkage);
      ASSERT_EQ(merges.size(), 29u);
      for (std::size_t m = 0; m < 29; ++m) EXPECT_NEAR(merges[m].height, slow.heights[m], 1e-6);
      for (std::uint32_t clusters = 1; clusters <= 30; ++clusters) {
        EXPECT_EQ(cut_at_count(merges, 30, clusters), slow.clusters[30 - clusters]);
      }
      const double middle = (slow.heights[14] + slow.heights[15]) / 2;
      EXPECT_EQ(cut_at_height(merges, 30, middle), slow.clusters[15]);
      EXPECT_EQ(cut_at_height(merges, 30, 0), slow.clusters[0]);
      EXPECT_EQ(cut_at_height(merges, 30, std::numeric_limits<double>::infinity()), slow.clusters[29]);
    }
  }
}

TEST(Linkage, HasTheHeightsOfFourPointsOnALine) {
  const Rows<float> points = rows_of({{0}, {2}, {6}, {9}});
  const auto heights = [&](Linkage linkage) {
    std::vector<double> values;
    for (const Merge& merge : link(l2_distances(points), linkage)) values.push_back(merge.height);
    return values;
  };
  EXPECT_THAT(heights(Linkage::kSingle), testing::Pointwise(testing::DoubleEq(), {2.0, 3.0, 4.0}));
  EXPECT_THAT(heights(Linkage::kComplete), testing::Pointwise(testing::DoubleEq(), {2.0, 3.0, 9.0}));
  EXPECT_THAT(heights(Linkage::kAverage), testing::Pointwise(testing::DoubleEq(), {2.0, 3.0, 6.5}));
  // Means 1 and 7.5, two points each: sqrt(2 * 2 * 2 / 4) * 6.5.
  EXPECT_THAT(heights(Linkage::kWard), testing::Pointwise(testing::DoubleNear(1e-9), {2.0, 3.0, 9.192388155425117}));
}

TEST(Linkage, BreaksTiesTheSameWayAndAnswersForFewItems) {
  for (const Linkage linkage : kLinkages) {
    Rows<double> equal(9, 9);
    for (std::uint32_t i = 0; i < 9; ++i) {
      for (std::uint32_t j = 0; j < 9; ++j) equal.row(i)[j] = i == j ? 0.0 : 1.0;
    }
    const std::vector<Merge> merges = link(equal, linkage);
    ASSERT_EQ(merges.size(), 8u);
    EXPECT_EQ(cut_at_count(merges, 9, 3).size(), 3u);
    EXPECT_EQ(cut_at_count(merges, 9, 3), cut_at_count(link(equal, linkage), 9, 3));
    EXPECT_EQ(cut_at_height(link(Rows<double>(9, 9), linkage), 9, 1e-9).size(), 1u);
    EXPECT_TRUE(link(Rows<double>(1, 1), linkage).empty());
    EXPECT_EQ(cut_at_count({}, 1, 1), (Lists{{0}}));
  }
}

TEST(Agglomerative, FindsBundlesByEveryMetricAndLinkage) {
  const Rows<float> rows = bundles(24, 60, 3, 0.2, 4);
  for (const char* const metric : {"l1", "l2", "cosine"}) {
    for (const char* const linkage : {"single", "complete", "average", "ward"}) {
      const GroupingOptions options{.method = "agglomerative", .groups = 3, .metric = metric, .linkage = linkage};
      if (std::string(linkage) == "ward" && std::string(metric) != "l2") {
        EXPECT_EQ(
            complaint(options, rows),
            "grouping.linkage: ward, but ward's linkage is defined for metric = l2 only; want single | complete | "
            "average with metric = " +
                std::string(metric));
      } else {
        EXPECT_EQ(groups_by(options, rows), bundle_lists(24, 3)) << metric << " " << linkage;
      }
    }
  }
}

TEST(Agglomerative, CutsAtAThreshold) {
  const Rows<float> rows = rows_of({{0, 0}, {3, 4}, {30, 40}});
  const auto cut = [&](const char* metric, double threshold) {
    return groups_by({.method = "agglomerative", .metric = metric, .linkage = "single", .threshold = threshold}, rows);
  };
  EXPECT_EQ(cut("l2", 5.0), (Lists{{0}, {1}, {2}}));  // nearer than, not as near as
  EXPECT_EQ(cut("l2", 5.001), (Lists{{0, 1}, {2}}));
  EXPECT_EQ(cut("l1", 6.999), (Lists{{0}, {1}, {2}}));
  EXPECT_EQ(cut("l1", 7.001), (Lists{{0, 1}, {2}}));
  EXPECT_EQ(cut("cosine", 0.5), (Lists{{0}, {1, 2}}));
  EXPECT_EQ(cut("l2", std::numeric_limits<double>::infinity()), (Lists{{0, 1, 2}}));
  EXPECT_EQ(cut("l2", 0), (Lists{{0}, {1}, {2}}));
}

TEST(Agglomerative, WantsEitherAThresholdOrANumber) {
  const Rows<float> rows = random_rows(5, 3, 1);
  EXPECT_EQ(complaint({.method = "agglomerative"}, rows),
            "grouping.threshold: not set, and neither is grouping.groups; want one of the two");
  EXPECT_EQ(complaint({.method = "agglomerative", .groups = 2, .threshold = 1.0}, rows),
            "grouping.threshold: 1, but a number of groups is set too; want one of the two");
  EXPECT_EQ(complaint({.method = "agglomerative", .threshold = -1.0}, rows), "grouping.threshold: -1, want >= 0");
  EXPECT_EQ(complaint({.method = "agglomerative", .metric = "l3", .threshold = 1.0}, rows),
            "grouping.metric: \"l3\", want l1 | l2 | cosine");
}

TEST(Agglomerative, NeverSeparatesEqualVectorsToReachANumber) {
  std::vector<std::string> notes;
  for (const std::size_t width : {3u, 3000u}) {
    const Rows<float> two = random_rows(2, width, 3);
    Rows<float> rows(40, width);
    for (std::uint32_t k = 0; k < 40; ++k) std::ranges::copy(two.row(k % 2), rows.row(k).begin());
    for (const char* const metric : {"l1", "l2", "cosine"}) {
      for (const char* const linkage : {"single", "complete", "average", "ward"}) {
        if (std::string(linkage) == "ward" && std::string(metric) != "l2") continue;
        const GroupingOptions options{.method = "agglomerative", .groups = 5, .metric = metric, .linkage = linkage};
        EXPECT_EQ(groups_by(options, rows, &notes), bundle_lists(40, 2)) << metric << " " << linkage;
        EXPECT_EQ(notes, std::vector<std::string>{fmt::format(
                             "grouping.groups: 5, but the clients have only 2 distinct {}s; 2 groups formed",
                             std::string(metric) == "cosine" ? "direction" : "vector")});
      }
    }
  }
}

TEST(Agglomerative, TakesZeroVectorsAsAlikeByCosine) {
  const GroupingOptions options{.method = "agglomerative", .groups = 3, .metric = "cosine", .linkage = "complete"};
  EXPECT_EQ(groups_by(options, rows_of({{0, 0}, {1, 0}, {0, 0}, {0, 1}, {2, 0}})), (Lists{{0, 2}, {1, 4}, {3}}));
}

TEST(Agglomerative, FollowsClientsThatChangePlaces) {
  const Rows<float> rows = random_rows(40, 6, 9);
  const std::vector<std::uint32_t> order = random_order(40, 3);
  for (const char* const linkage : {"single", "complete", "average", "ward"}) {
    const GroupingOptions options{.method = "agglomerative", .groups = 7, .linkage = linkage};
    EXPECT_EQ(named_by(groups_by(options, permuted(rows, order)), order), groups_by(options, rows)) << linkage;
  }
}

}  // namespace
}  // namespace muster
