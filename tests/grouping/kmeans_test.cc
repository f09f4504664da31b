#include "grouping/kmeans.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace muster {
namespace {

Rows<double> rows_of(std::size_t width, std::vector<double> values) {
  Rows<double> rows;
  rows.width = width;
  rows.values = std::move(values);
  return rows;
}

Rows<double> random_points(std::uint32_t count, std::size_t width, std::uint64_t seed) {
  Rows<double> points(count, width);
  Stream stream({.seed = seed});
  for (double& value : points.values) value = stream.normal();
  return points;
}

double distance2(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t j = 0; j < a.size(); ++j) sum += (a[j] - b[j]) * (a[j] - b[j]);
  return sum;
}

// The least sum of squared distances to cluster means over every way to put the points into `clusters` clusters.
double best_objective(const Rows<double>& points, std::uint32_t clusters) {
  std::vector<std::uint32_t> cluster(points.count());
  double best = std::numeric_limits<double>::infinity();
  while (true) {
    double objective = 0;
    for (std::uint32_t c = 0; c < clusters; ++c) {
      std::vector<double> mean(points.width);
      double size = 0;
      for (std::uint32_t i = 0; i < points.count(); ++i) {
        if (cluster[i] != c) continue;
        for (std::size_t j = 0; j < points.width; ++j) mean[j] += points.row(i)[j];
        ++size;
      }
      for (double& value : mean) value /= size;
      for (std::uint32_t i = 0; i < points.count(); ++i) {
        if (cluster[i] == c) objective += distance2(points.row(i), mean);
      }
    }
    best = std::min(best, objective);
    std::uint32_t digit = 0;
    while (digit < points.count() && ++cluster[digit] == clusters) cluster[digit++] = 0;
    if (digit == points.count()) return best;
  }
}

TEST(KMeans, TwoIterationsByHand) {
  // 0 1 5 with centres 0 and 1: {0} {1 5} -> 0 and 3 -> {0 1} {5} -> 0.5 and 5.
  const Rows<double> points = rows_of(1, {0, 1, 5});
  const Rows<double> start = rows_of(1, {0, 1});
  const KMeansResult none = k_means_from(points, start, 0);
  EXPECT_EQ(none.cluster, (std::vector<std::uint32_t>{0, 1, 1}));
  EXPECT_EQ(none.centres.values, start.values);
  EXPECT_EQ(none.objective, 16);
  const KMeansResult one = k_means_from(points, start, 1);
  EXPECT_EQ(one.centres.values, (std::vector<double>{0, 3}));
  EXPECT_EQ(one.objective, 8);
  const KMeansResult two = k_means_from(points, start, 2);
  EXPECT_EQ(two.cluster, (std::vector<std::uint32_t>{0, 0, 1}));
  EXPECT_EQ(two.centres.values, (std::vector<double>{0.5, 5}));
  EXPECT_EQ(two.objective, 0.5);
}

TEST(KMeans, TiesGoToTheLowestCluster) {
  const KMeansResult result = k_means_from(rows_of(1, {0, 1, 2}), rows_of(1, {0, 2}), 0);
  EXPECT_EQ(result.cluster, (std::vector<std::uint32_t>{0, 0, 1}));
}

TEST(KMeans, FindsTheOptimumOfSmallCases) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Rows<double> points = random_points(8, 2, seed);
    Stream stream({.seed = seed});
    const KMeansResult result = k_means(points, {.clusters = 3, .restarts = 30}, stream);
    EXPECT_NEAR(result.objective, best_objective(points, 3), 1e-9) << "seed " << seed;
  }
}

TEST(KMeans, CentresAreMeansAndNoOtherCentreIsNearer) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const Rows<double> points = random_points(200, 5, seed);
    Stream stream({.seed = seed});
    const KMeansResult result = k_means(points, {.clusters = 7, .max_iterations = 1000, .restarts = 2}, stream);
    Rows<double> sums(7, 5);
    std::vector<std::uint32_t> sizes(7);
    double objective = 0;
    for (std::uint32_t i = 0; i < 200; ++i) {
      const std::uint32_t own = result.cluster[i];
      ASSERT_LT(own, 7u);
      ++sizes[own];
      for (std::size_t j = 0; j < 5; ++j) sums.row(own)[j] += points.row(i)[j];
      const double distance = distance2(points.row(i), result.centres.row(own));
      objective += distance;
      for (std::uint32_t c = 0; c < 7; ++c) {
        EXPECT_GE(distance2(points.row(i), result.centres.row(c)), distance - 1e-12);
      }
    }
    EXPECT_NEAR(result.objective, objective, 1e-9);
    for (std::uint32_t c = 0; c < 7; ++c) {
      ASSERT_GT(sizes[c], 0u);
      for (std::size_t j = 0; j < 5; ++j) EXPECT_NEAR(result.centres.row(c)[j], sums.row(c)[j] / sizes[c], 1e-12);
    }
  }
}

TEST(KMeans, AnEmptyClusterTakesTheFarthestPoint) {
  // Nobody is nearest to the third centre; 4.5 is farthest from its own.
  const KMeansResult result = k_means_from(rows_of(1, {0, 1, 2, 4.5, 10}), rows_of(1, {0, 10, -50}), 1);
  EXPECT_EQ(result.cluster, (std::vector<std::uint32_t>{0, 0, 0, 2, 1}));
  EXPECT_EQ(result.centres.values, (std::vector<double>{1, 10, 4.5}));
}

TEST(KMeans, APointAloneInItsClusterStaysThere) {
  // 20 is farthest from its centre but alone with it: the empty third cluster takes 3.
  const KMeansResult result = k_means_from(rows_of(1, {0, 3, 20}), rows_of(1, {0, 14, -50}), 1);
  EXPECT_EQ(result.cluster, (std::vector<std::uint32_t>{0, 2, 1}));
}

TEST(KMeans, FewerDistinctPointsThanClustersLeaveSomeEmpty) {
  const Rows<double> points = rows_of(2, {1, 1, 1, 1, 5, 5, 5, 5});
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Stream stream({.seed = seed});
    const KMeansResult result = k_means(points, {.clusters = 6}, stream);
    EXPECT_EQ(result.objective, 0);
    EXPECT_EQ(result.cluster[0], result.cluster[1]);
    EXPECT_EQ(result.cluster[2], result.cluster[3]);
    EXPECT_NE(result.cluster[0], result.cluster[2]);
    EXPECT_TRUE(std::ranges::all_of(result.centres.values, [](double value) { return std::isfinite(value); }));
  }
}

TEST(KMeans, FindsPlantedClustersAtOnce) {
  Rows<double> points = random_points(300, 4, 3);
  for (std::uint32_t i = 0; i < 300; ++i) points.row(i)[i % 3] += 40;
  Stream stream({.seed = 8});
  const KMeansResult result = k_means(points, {.clusters = 3, .restarts = 1}, stream);
  for (std::uint32_t i = 3; i < 300; ++i) EXPECT_EQ(result.cluster[i], result.cluster[i % 3]);
  EXPECT_NE(result.cluster[0], result.cluster[1]);
  EXPECT_NE(result.cluster[1], result.cluster[2]);
  EXPECT_NE(result.cluster[0], result.cluster[2]);
}

TEST(KMeans, RepeatsItselfAndMoreRestartsAreNeverWorse) {
  const Rows<double> points = random_points(120, 3, 4);
  double last = std::numeric_limits<double>::infinity();
  for (const std::uint32_t restarts : {1u, 3u, 10u}) {
    Stream one({.seed = 9});
    Stream two({.seed = 9});
    const KMeansOptions options{.clusters = 9, .restarts = restarts};
    const KMeansResult a = k_means(points, options, one);
    const KMeansResult b = k_means(points, options, two);
    EXPECT_EQ(a.cluster, b.cluster);
    EXPECT_EQ(a.centres.values, b.centres.values);
    EXPECT_LE(a.objective, last);
    last = a.objective;
  }
}

TEST(KMeans, EqualPointsStayTogetherHoweverFewIterationsThereAre) {
  // The third cluster is empty and takes the farthest point, 4.5: both of them, also if that was the last iteration.
  const KMeansResult result = k_means_from(rows_of(1, {0, 4.5, 1, 2, 4.5, 10}), rows_of(1, {0, 10, -50}), 1);
  EXPECT_EQ(result.cluster, (std::vector<std::uint32_t>{0, 2, 0, 0, 2, 1}));
  // The two at 20 are farthest, but all that their cluster has.
  const KMeansResult pair = k_means_from(rows_of(1, {0, 3, 20, 20}), rows_of(1, {0, 14, -50}), 1);
  EXPECT_EQ(pair.cluster, (std::vector<std::uint32_t>{0, 2, 1, 1}));
}

TEST(KMeans, DrawsTheBetterOfTwoCandidatesByTheirSquaredDistance) {
  // Of 0, 1 and 3 with centre 0 the candidates are 1 and 3 with odds 1 : 9; 3 leaves less to the others and is taken
  // unless both draws give 1. With centre 1 it is 0 and 3 with odds 1 : 4, and again 3 is better. With centre 3 it is 0
  // and 1 with odds 9 : 4, as good as each other, so the first draw decides. No iteration moves the centres.
  const Rows<double> points = rows_of(1, {0, 1, 3});
  const std::vector<double> expected{(0.01 + 0.04) / 3, (0.99 + 9.0 / 13) / 3, (0.96 + 4.0 / 13) / 3};
  std::vector<int> seen(3);  // pairs {0, 1}, {0, 3}, {1, 3}
  Stream stream({.seed = 21});
  constexpr int kDraws = 20000;
  for (int draw = 0; draw < kDraws; ++draw) {
    KMeansResult result = k_means(points, {.clusters = 2, .max_iterations = 0, .restarts = 1}, stream);
    std::ranges::sort(result.centres.values);
    ++seen[result.centres.values[1] == 1 ? 0 : result.centres.values[0] == 0 ? 1 : 2];
  }
  for (int pair = 0; pair < 3; ++pair) {
    const double deviation = std::sqrt(kDraws * expected[pair] * (1 - expected[pair]));
    EXPECT_NEAR(seen[pair], kDraws * expected[pair], 5 * deviation) << "pair " << pair;
  }
}

// Centres by k-means++ with one candidate each, written down independently.
Rows<double> plain_start(const Rows<double>& points, std::uint32_t clusters, Stream& stream) {
  Rows<double> centres(clusters, points.width);
  std::ranges::copy(points.row(stream.below(points.count())), centres.row(0).begin());
  for (std::uint32_t c = 1; c < clusters; ++c) {
    std::vector<double> sums;
    double sum = 0;
    for (std::uint32_t i = 0; i < points.count(); ++i) {
      double nearest = std::numeric_limits<double>::infinity();
      for (std::uint32_t b = 0; b < c; ++b) nearest = std::min(nearest, distance2(points.row(i), centres.row(b)));
      sums.push_back(sum += nearest);
    }
    const auto drawn = std::ranges::upper_bound(sums, stream.uniform() * sum) - sums.begin();
    std::ranges::copy(points.row(static_cast<std::uint32_t>(drawn)), centres.row(c).begin());
  }
  return centres;
}

TEST(KMeans, EndsLowerThanWithOneCandidateWhereThereAreNoClusters) {
  constexpr std::uint32_t kClusters = 20;
  constexpr int kStarts = 100;
  Rows<double> points(400, 2);
  Stream stream({.seed = 31});
  for (double& value : points.values) value = stream.uniform();
  double ours = 0, plain = 0, lowest = std::numeric_limits<double>::infinity();
  for (int start = 0; start < kStarts; ++start) {
    const double one = k_means(points, {.clusters = kClusters, .max_iterations = 300, .restarts = 1}, stream).objective;
    ours += one / kStarts;
    const double other = k_means_from(points, plain_start(points, kClusters, stream), 300).objective;
    plain += other / kStarts;
    lowest = std::min({lowest, one, other});
  }
  EXPECT_LT(ours - lowest, 0.85 * (plain - lowest)) << "mean " << ours << ", one candidate " << plain;
}

}  // namespace
}  // namespace muster
