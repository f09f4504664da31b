// Dense places, their borders, and the clients that are in none.
#include "grouping/vectors.h"

namespace muster {
namespace {

// On a line: five near 0, a border client at 0.9, four near 2, one far away.
const Rows<float> kLine = rows_of({{0}, {0.1f}, {0.2f}, {0.3f}, {0.4f}, {0.9f}, {2}, {2.1f}, {2.2f}, {2.3f}, {9}});

TEST(Dbscan, JoinsCoresAndTheirBordersAndLeavesNoiseAlone) {
  std::vector<std::string> notes;
  EXPECT_EQ(groups_by({.method = "dbscan", .min_size = 4, .threshold = 0.55}, kLine, &notes),
            (Lists{{0, 1, 2, 3, 4, 5}, {6, 7, 8, 9}, {10}}));
  EXPECT_EQ(notes, std::vector<std::string>{"1 of 11 clients are near no dense group and stay alone"});
}

TEST(Dbscan, NoiseMayStayOutOrJoinTheNearest) {
  EXPECT_EQ(groups_by({.method = "dbscan", .min_size = 4, .tail = "discard", .threshold = 0.55}, kLine),
            (Lists{{0, 1, 2, 3, 4, 5}, {6, 7, 8, 9}}));
  EXPECT_EQ(groups_by({.method = "dbscan", .min_size = 4, .tail = "merge", .threshold = 0.55}, kLine),
            (Lists{{0, 1, 2, 3, 4, 5}, {6, 7, 8, 9, 10}}));
}

TEST(Dbscan, ABorderClientJoinsItsNearestCoreInAnyOrder) {
  // The client at 0.45 is near a core of both groups, and nearer to the second's.
  const Rows<float> line = rows_of({{0}, {-0.1f}, {-0.2f}, {-0.3f}, {0.45f}, {0.85f}, {0.95f}, {1.05f}, {1.15f}});
  const Lists found{{0, 1, 2, 3}, {4, 5, 6, 7, 8}};
  const GroupingOptions options{.method = "dbscan", .min_size = 4, .threshold = 0.47};
  EXPECT_EQ(groups_by(options, line), found);
  for (std::uint64_t seed = 1; seed < 6; ++seed) {
    const std::vector<std::uint32_t> order = random_order(9, seed);
    EXPECT_EQ(named_by(groups_by(options, permuted(line, order)), order), found);
  }
  // With three it is a core itself, and connects them.
  EXPECT_EQ(groups_by({.method = "dbscan", .min_size = 3, .threshold = 0.47}, line).size(), 1u);
}

TEST(Dbscan, NobodyInADensePlaceMeansEverybodyAlone) {
  for (const char* tail : {"keep", "merge"}) {
    EXPECT_EQ(groups_by({.method = "dbscan", .min_size = 3, .tail = tail, .threshold = 0.1}, rows_of({{0}, {1}, {2}})),
              (Lists{{0}, {1}, {2}}));
  }
  EXPECT_NE(complaint({.method = "dbscan", .min_size = 3, .tail = "discard", .threshold = 0.1}, rows_of({{0}, {1}})),
            "");
}

TEST(Dbscan, ByItselfFindsHowNearNeighboursAreAtAnyScale) {
  for (const float scale : {1e-4f, 1.0f, 1e4f}) {
    Rows<float> rows = bundles(30, 40, 3, 0.2, 7);
    for (float& value : rows.values) value *= scale;
    EXPECT_EQ(groups_by({.method = "dbscan"}, rows), bundle_lists(30, 3)) << scale;
  }
  EXPECT_EQ(groups_by({.method = "dbscan"}, rows_of({{1}, {1}, {1}, {1}, {1}, {1}})), (Lists{{0, 1, 2, 3, 4, 5}}));
  EXPECT_EQ(complaint({.method = "dbscan", .threshold = -1.0}, kLine), "grouping.threshold: -1, want >= 0");
}

// AutoCFL's Table 4: voting, k-means, agglomerative clustering and DBSCAN all find four blocks of five clients.
TEST(Dbscan, FindsFourBlocksOfFiveLikeTheOthers) {
  const Rows<float> rows = bundles(20, 60, 4, 0.1, 3);
  const Lists blocks = bundle_lists(20, 4);
  for (const GroupingOptions& options :
       {GroupingOptions{.method = "gap-voting"}, GroupingOptions{.method = "nearest-centre", .groups = 4},
        GroupingOptions{.method = "agglomerative", .threshold = 5.0}, GroupingOptions{.method = "dbscan"}}) {
    EXPECT_EQ(groups_by(options, rows), blocks) << options.method;
  }
}

}  // namespace
}  // namespace muster
