// One split of updates that disagree, and when there is none.
#include "grouping/vectors.h"

namespace muster {
namespace {

const Rows<float> kWorkedUpdates = rows_of({{1, 0}, {0.9f, 0.2f}, {-1, 0.1f}, {-0.8f, -0.1f}});

// Thresholds under which every group that is not of one direction is split.
constexpr double kAnyMean = 1e9;
constexpr double kAnyLength = 0;

TEST(Bipartition, SplitsTheWorkedUpdates) {
  for (const char* const linkage : {"", "single", "complete"}) {
    const GroupingOptions options{
        .method = "bipartition", .linkage = linkage, .epsilon_mean = 0.056, .epsilon_max = 1.0};
    EXPECT_EQ(groups_by(options, kWorkedUpdates), (Lists{{0, 1}, {2, 3}})) << linkage;
  }
}

TEST(Bipartition, SaysWhyItDoesNotSplitAndBothLengths) {
  std::vector<std::string> notes;
  EXPECT_EQ(groups_by({.method = "bipartition", .epsilon_mean = 0.05, .epsilon_max = 0.0}, kWorkedUpdates, &notes),
            (Lists{{0, 1, 2, 3}}));
  EXPECT_EQ(notes, std::vector<std::string>{"no split, the mean update is not shorter than epsilon-mean = 0.05 (length "
                                            "of the mean update 0.0559, of the longest 1.005)"});
  EXPECT_EQ(groups_by({.method = "bipartition", .epsilon_max = 1.1}, kWorkedUpdates, &notes), (Lists{{0, 1, 2, 3}}));
  EXPECT_EQ(notes, std::vector<std::string>{"no split, no update is longer than epsilon-max = 1.1 (length of the mean "
                                            "update 0.0559, of the longest 1.005)"});
  const GroupingOptions any{.method = "bipartition", .epsilon_mean = kAnyMean, .epsilon_max = kAnyLength};
  EXPECT_EQ(groups_by(any, rows_of({{1, 0}, {-1, 0}}), &notes), (Lists{{0, 1}}));
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_TRUE(notes[0].starts_with("no split, fewer than 3 clients"));
  EXPECT_EQ(groups_by(any, rows_of({{1, 3}, {2, 6}, {0.1f, 0.3f}}), &notes), (Lists{{0, 1, 2}}));
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_TRUE(notes[0].starts_with("no split, all updates point in the same direction"));
}

TEST(Bipartition, HasTheAuthorsThresholdsUnlessToldOtherwise) {
  const auto splits = [](float mean, float longest) {
    const Rows<float> rows = rows_of({{mean, longest}, {mean, -longest}, {mean, 0}});
    return groups_by({.method = "bipartition"}, rows).size() > 1;
  };
  EXPECT_TRUE(splits(0.3f, 1.7f));
  EXPECT_TRUE(splits(0.39f, 1.7f));
  EXPECT_FALSE(splits(0.41f, 1.7f));
  EXPECT_TRUE(splits(0.01f, 1.61f));
  EXPECT_FALSE(splits(0.01f, 1.59f));
}

TEST(Bipartition, HasTheSmallestLargestCosineAcrossTheCut) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Rows<float> rows = random_rows(9, 4, seed);
    const auto largest_across = [&](std::uint32_t subset) {
      double largest = -1;
      for (std::uint32_t i = 0; i < 9; ++i) {
        for (std::uint32_t j = 0; j < 9; ++j) {
          if ((subset >> i & 1) == 0 || (subset >> j & 1) == 1) continue;
          double product = 0, a = 0, b = 0;
          for (std::size_t c = 0; c < 4; ++c) {
            product += static_cast<double>(rows.row(i)[c]) * rows.row(j)[c];
            a += static_cast<double>(rows.row(i)[c]) * rows.row(i)[c];
            b += static_cast<double>(rows.row(j)[c]) * rows.row(j)[c];
          }
          largest = std::max(largest, product / std::sqrt(a * b));
        }
      }
      return largest;
    };
    double best = 2;
    for (std::uint32_t subset = 1; subset < 511; ++subset) best = std::min(best, largest_across(subset));
    const Lists groups =
        groups_by({.method = "bipartition", .epsilon_mean = kAnyMean, .epsilon_max = kAnyLength}, rows);
    ASSERT_EQ(groups.size(), 2u);
    std::uint32_t subset = 0;
    for (const std::uint32_t client : groups[0]) subset |= 1u << client;
    EXPECT_NEAR(largest_across(subset), best, 1e-12) << seed;
  }
}

TEST(Bipartition, TakesZeroUpdatesAsUnlikeAll) {
  const Rows<float> rows = rows_of({{1, 0}, {1, 0.1f}, {0, 0}, {1, -0.1f}});
  const GroupingOptions any{.method = "bipartition", .epsilon_mean = kAnyMean, .epsilon_max = kAnyLength};
  EXPECT_EQ(groups_by(any, rows), (Lists{{0, 1, 3}, {2}}));
  // Zero updates are alike: both go to the same side.
  EXPECT_EQ(groups_by(any, rows_of({{1, 0}, {0, 0}, {1, 0.1f}, {0, 0}})), (Lists{{0, 2}, {1, 3}}));
}

TEST(Bipartition, RefusesImpossibleKeys) {
  EXPECT_EQ(complaint({.method = "bipartition", .linkage = "ward"}, kWorkedUpdates),
            "grouping.linkage: \"ward\", want single | complete");
  EXPECT_EQ(complaint({.method = "bipartition", .epsilon_mean = -0.1}, kWorkedUpdates),
            "grouping.epsilon-mean: -0.1, want >= 0");
  EXPECT_EQ(complaint({.method = "bipartition", .epsilon_max = std::nan("")}, kWorkedUpdates),
            "grouping.epsilon-max: nan, want >= 0");
}

}  // namespace
}  // namespace muster
