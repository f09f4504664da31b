// Voting by gaps: the worked election, how many clusters it sees in data with and without any, and broken models.
#include "grouping/gap_voting.h"

#include <limits>

#include "grouping/gram.h"
#include "grouping/vectors.h"

namespace muster {
namespace {

const Rows<float> kWorkedPoints = rows_of({{0}, {0.2f}, {0.5f}, {3}, {3.4f}});
const std::vector<std::uint32_t> kSamples{300, 100, 200, 400, 50};

Lists voted(const Rows<float>& vectors, const std::vector<std::uint32_t>& samples, const GroupingOptions& keys = {}) {
  GroupingOptions options = keys;
  options.method = "gap-voting";
  const auto formed = form_groups(options, {.samples = samples, .vectors = vectors}, {});
  EXPECT_TRUE(formed) << formed.error().message;
  return formed ? group_lists(formed->grouping) : Lists{};
}

TEST(GapVoting, HoldsTheWorkedElection) {
  const Votes votes = cast_votes(l2_distances(kWorkedPoints), kSamples, 0.15, true);
  EXPECT_EQ(votes.head, (std::vector<std::uint32_t>{0, 0, 0, 3, 3}));
  ASSERT_EQ(votes.heads, (std::vector<std::uint32_t>{0, 3}));
  const double wanted[5][2] = {{1.5, 0}, {0.5, 0}, {1, 0}, {0, 16.0 / 9}, {0, 2.0 / 9}};
  for (std::uint32_t n = 0; n < 5; ++n) {
    for (std::size_t h = 0; h < 2; ++h) EXPECT_NEAR(votes.scores.row(n)[h], wanted[n][h], 1e-12) << n << " " << h;
  }
  EXPECT_EQ(elect(votes), (Lists{{0, 1, 2}, {3, 4}}));
  EXPECT_EQ(voted(kWorkedPoints, kSamples), (Lists{{0, 1, 2}, {3, 4}}));
}

TEST(GapVoting, ElectsTheLowestClientOfEqualSize) {
  const Votes votes = cast_votes(l2_distances(kWorkedPoints), std::vector<std::uint32_t>(5, 100), 0.15, true);
  EXPECT_EQ(votes.head, (std::vector<std::uint32_t>{0, 0, 0, 3, 3}));
}

TEST(GapVoting, AcceptsAGapOfExactlyTheLeastShare) {
  // From 0 the others are at 1 and 2: a gap of half the largest distance.
  const Rows<double> distances = l2_distances(rows_of({{0}, {1}, {2}}));
  const std::vector<std::uint32_t> samples(3, 1);
  EXPECT_EQ(cast_votes(distances, samples, 0.5, true).reach[0], 1);
  EXPECT_EQ(cast_votes(distances, samples, 0.51, true).reach[0], std::numeric_limits<double>::infinity());
}

TEST(GapVoting, ABrokenModelChangesNothingForTheOthers) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const Rows<float> rows = random_rows(12, 2, seed);
    Rows<float> broken(13, 2);
    std::ranges::copy(rows.values, broken.values.begin() + 2);
    broken.row(0)[1] = std::numeric_limits<float>::quiet_NaN();
    Stream stream({.seed = seed});
    std::vector<std::uint32_t> samples(13);
    for (std::uint32_t& own : samples) own = 1 + stream.below(1000);
    Lists wanted = voted(rows, {samples.begin() + 1, samples.end()});
    for (auto& group : wanted) {
      for (std::uint32_t& client : group) ++client;
    }
    wanted.insert(wanted.begin(), {0});
    EXPECT_EQ(voted(broken, samples), wanted) << seed;
  }
}

TEST(GapVoting, CountsEveryVoteAlikeIfNotWeighted) {
  const Votes votes = cast_votes(l2_distances(kWorkedPoints), kSamples, 0.15, false);
  const double wanted[5][2] = {{3, 0}, {3, 0}, {3, 0}, {0, 2}, {0, 2}};
  for (std::uint32_t n = 0; n < 5; ++n) {
    for (std::size_t h = 0; h < 2; ++h) EXPECT_EQ(votes.scores.row(n)[h], wanted[n][h]) << n << " " << h;
  }
  EXPECT_EQ(voted(kWorkedPoints, kSamples, {.weighted = false}), (Lists{{0, 1, 2}, {3, 4}}));
}

TEST(GapVoting, ConnectsHeadsThatFollowOtherHeads) {
  // 0's best head is 1, and 1's is 2: one group, though nobody but 1 is for 2.
  Votes votes;
  votes.heads = {1, 2};
  votes.scores = Rows<double>(4, 2);
  votes.scores.values = {1, 0, 0.5, 0.75, 0, 1, 0.5, 0.5};
  EXPECT_EQ(elect(votes), (Lists{{0, 1, 2, 3}}));
  votes.scores.values = {1, 0, 0.75, 0.5, 0, 1, 0.5, 0.5};  // the last: equal scores, the lower head
  EXPECT_EQ(elect(votes), (Lists{{0, 1, 3}, {2}}));
}

TEST(GapVoting, DoesNotSeeTheScale) {
  const Rows<float> rows = random_rows(30, 20, 4);
  const std::vector<std::uint32_t> samples(30, 7);
  Rows<float> scaled = rows;
  for (float& value : scaled.values) value *= 1024;
  for (const double gap : {0.0, 0.02, 0.15}) {
    EXPECT_EQ(voted(scaled, samples, {.min_gap = gap}), voted(rows, samples, {.min_gap = gap})) << gap;
  }
  EXPECT_GT(voted(rows, samples, {.min_gap = 0.0}).size(), 1u);
}

TEST(GapVoting, FindsFourPlantedClustersExactly) {
  Stream stream({.seed = 2});
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    for (const std::size_t width : {150u, 400u}) {
      std::vector<std::uint32_t> samples(20);
      for (std::uint32_t& count : samples) count = 100 + stream.below(1500);
      EXPECT_EQ(voted(bundles(20, width, 4, 0.6, seed), samples), bundle_lists(20, 4)) << seed << " " << width;
    }
  }
}

TEST(GapVoting, LeavesModelsThatDifferByChanceTogether) {
  for (const std::size_t width : {150u, 800u}) {
    int together = 0;
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      together += voted(random_rows(20, width, seed), std::vector<std::uint32_t>(20, 1500)).size() == 1;
    }
    EXPECT_EQ(together, 100) << width;
  }
}

TEST(GapVoting, FollowsClientsThatChangePlaces) {
  const Rows<float> rows = random_rows(40, 3, 6);
  std::vector<std::uint32_t> samples(40);
  for (std::uint32_t k = 0; k < 40; ++k) samples[k] = 100 + k * k;
  const std::vector<std::uint32_t> order = random_order(40, 2);
  std::vector<std::uint32_t> moved(40);
  for (std::uint32_t k = 0; k < 40; ++k) moved[k] = samples[order[k]];
  const Lists groups = voted(rows, samples, {.min_gap = 0.0});
  EXPECT_GT(groups.size(), 1u);
  EXPECT_EQ(named_by(voted(permuted(rows, order), moved, {.min_gap = 0.0}), order), groups);
}

TEST(GapVoting, LeavesBrokenModelsAlone) {
  Rows<float> rows(7, 1);
  const float inf = std::numeric_limits<float>::infinity();
  rows.values = {0, std::numeric_limits<float>::quiet_NaN(), 0.2f, 0.5f, 3, 3.4f, -inf};
  const std::vector<std::uint32_t> samples{300, 9999, 100, 200, 400, 50, 9999};
  const auto formed = form_groups({.method = "gap-voting"}, {.samples = samples, .vectors = rows}, {});
  ASSERT_TRUE(formed) << formed.error().message;
  EXPECT_EQ(group_lists(formed->grouping), (Lists{{0, 2, 3}, {1}, {4, 5}, {6}}));
  EXPECT_EQ(formed->notes, (std::vector<std::string>{"client 1 forms a group of its own: its vector is not finite",
                                                     "client 6 forms a group of its own: its vector is not finite"}));
  rows.values.assign(7, inf);
  EXPECT_EQ(voted(rows, samples).size(), 7u);
}

TEST(GapVoting, SeesNoGapInFewOrEqualModels) {
  EXPECT_EQ(voted(rows_of({{0}, {9}}), {5, 6}), (Lists{{0, 1}}));
  EXPECT_EQ(voted(rows_of({{4}}), {5}), (Lists{{0}}));
  EXPECT_EQ(voted(Rows<float>(6, 3), std::vector<std::uint32_t>(6, 1), {.min_gap = 0.0}).size(), 1u);
  EXPECT_EQ(complaint({.method = "gap-voting", .min_gap = 1.5}, kWorkedPoints),
            "grouping.min-gap: 1.5, want a number >= 0 and < 1");
  EXPECT_EQ(complaint({.method = "gap-voting", .min_gap = std::nan("")}, kWorkedPoints),
            "grouping.min-gap: nan, want a number >= 0 and < 1");
}

}  // namespace
}  // namespace muster
