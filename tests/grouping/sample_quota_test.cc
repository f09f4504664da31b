#include "grouping/sample_quota.h"

namespace muster {
namespace {

using Lists = std::vector<std::vector<std::uint32_t>>;

Draft in_order(const SampleQuota& quota, const std::vector<std::uint32_t>& samples) {
  std::uint32_t next = 0;
  return fill_groups(quota, samples, [&](std::span<const std::uint32_t>) { return next++; });
}

TEST(SampleQuota, AGroupIsCompleteBySamplesOrByClients) {
  const auto draft = in_order({.min_samples = 10, .max_clients = 3}, {4, 6, 12, 1, 2, 3, 9, 1});
  EXPECT_EQ(draft.groups, (Lists{{0, 1}, {2}, {3, 4, 5}, {6, 7}}));
}

TEST(SampleQuota, TellsTheMethodWhoIsInTheOpenGroup) {
  Lists seen;
  std::uint32_t next = 0;
  const std::vector<std::uint32_t> samples{5, 5, 5, 5};
  const auto draft =
      fill_groups({.min_samples = 10, .max_clients = 3}, samples, [&](std::span<const std::uint32_t> members) {
        seen.emplace_back(members.begin(), members.end());
        return next++;
      });
  EXPECT_EQ(seen, (Lists{{}, {0}, {}, {2}}));
}

TEST(SampleQuota, DealsWhoIsLeftToTheGroupsWithTheFewestSamples) {
  // {0 1} has 12, {2} 20, {3 4} 10; of 5, 6 and 7 the first goes to {3 4}, then {0 1}, then {2}.
  const auto draft = in_order({.min_samples = 10, .max_clients = 5}, {6, 6, 20, 5, 5, 1, 1, 1});
  EXPECT_EQ(draft.groups, (Lists{{0, 1, 6}, {2, 7}, {3, 4, 5}}));
}

TEST(SampleQuota, PassesOverGroupsThatAreFull) {
  // {0 1 2} is full with 9 samples; {3} has room for two, and so has {4}.
  const auto draft = in_order({.min_samples = 10, .max_clients = 3}, {3, 3, 3, 11, 12, 2, 2});
  EXPECT_EQ(draft.groups, (Lists{{0, 1, 2}, {3, 5}, {4, 6}}));
  const auto more = in_order({.min_samples = 10, .max_clients = 3}, {5, 5, 12, 2, 2});
  EXPECT_EQ(more.groups, (Lists{{0, 1, 3}, {2, 4}}));
  const auto skips = in_order({.min_samples = 10, .max_clients = 4}, {4, 3, 3, 12, 2, 2, 2});
  EXPECT_EQ(skips.groups, (Lists{{0, 1, 2, 4}, {3, 5, 6}}));
}

// Whether there is room depends on the order in which clients are drawn: nobody could tell before.
TEST(SampleQuota, WhoDoesNotFitIsAGroupOfItsOwn) {
  const auto draft = in_order({.min_samples = 100, .max_clients = 3}, {1, 1, 1, 1, 1, 1, 1, 1});
  EXPECT_EQ(draft.groups, (Lists{{0, 1, 2}, {3, 4, 5}, {6, 7}}));
  ASSERT_EQ(draft.notes.size(), 1u);
  EXPECT_EQ(draft.notes[0],
            "left over: 2 clients with 2 samples, fewer than grouping.min-samples = 100; the other groups have room "
            "for 0 (grouping.max-clients = 3), so these are a group of their own");
  // One fits, two do not.
  const auto mixed = in_order({.min_samples = 100, .max_clients = 3}, {1, 1, 1, 60, 60, 1, 1});
  EXPECT_EQ(mixed.groups, (Lists{{0, 1, 2}, {3, 4}, {5, 6}}));
  ASSERT_EQ(mixed.notes.size(), 1u);
  EXPECT_THAT(mixed.notes[0], testing::HasSubstr("have room for 1"));
}

TEST(SampleQuota, NotesWhenThereIsNotEvenOneGroup) {
  const auto draft = in_order({.min_samples = 100, .max_clients = 3}, {30, 40});
  EXPECT_TRUE(draft.groups.empty());
  ASSERT_EQ(draft.notes.size(), 1u);
  EXPECT_EQ(draft.notes[0], "grouping.min-samples: 100, but all 2 clients together have 70 samples; lower it");
  const auto one = in_order({.min_samples = 100, .max_clients = 3}, {30});
  EXPECT_EQ(one.notes,
            std::vector<std::string>{"grouping.min-samples: 100, but the only client has 30 samples; lower it"});
}

}  // namespace
}  // namespace muster
