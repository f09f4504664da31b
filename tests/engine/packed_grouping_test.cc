// Groupings as bytes: there and back, and whatever a broken checkpoint may hold.
#include "engine/packed_grouping.h"

#include <cstring>

namespace muster {
namespace {

Grouping grouping_of(const std::vector<std::vector<std::uint32_t>>& groups, const std::vector<std::uint32_t>& idle) {
  Grouping grouping;
  for (const auto& members : groups) {
    std::vector<ClientId> ids;
    for (const std::uint32_t k : members) ids.push_back({k});
    grouping.add(ids);
  }
  for (const std::uint32_t k : idle) grouping.add_idle({k});
  return grouping;
}

void expect_back(const Grouping& grouping, std::uint32_t clients) {
  const auto back = unpack(pack(grouping, clients), clients);
  ASSERT_TRUE(back.ok());
  ASSERT_EQ(back->count(), grouping.count());
  for (std::uint32_t g = 0; g < grouping.count(); ++g) {
    EXPECT_TRUE(std::ranges::equal(back->members({g}), grouping.members({g})));
  }
  EXPECT_TRUE(std::ranges::equal(back->idle(), grouping.idle()));
}

std::string words(const std::vector<std::uint32_t>& values) {
  std::string packed(1, 'g');
  packed.append(reinterpret_cast<const char*>(values.data()), values.size() * 4);
  return packed;
}

TEST(PackedGrouping, ComesBack) {
  expect_back(grouping_of({{0, 2}, {1, 4, 5}}, {3}), 6);
  expect_back(grouping_of({{0}, {2}, {8}}, {1, 3, 4, 5, 6, 7}), 9);
  expect_back(grouping_of({{2}, {0}}, {1}), 3);
  expect_back(grouping_of({}, {0, 1, 2}), 3);
  expect_back(grouping_of({}, {}), 0);
}

TEST(PackedGrouping, GroupsOfOneTakeABitEach) {
  std::vector<std::vector<std::uint32_t>> alone;
  for (std::uint32_t k = 0; k < 1000; ++k) alone.push_back({k});
  EXPECT_LE(pack(grouping_of(alone, {}), 1000).size(), 126u);
}

TEST(PackedGrouping, RefusesWhatIsNoGrouping) {
  EXPECT_TRUE(unpack(words({2, 2, 1, 0, 2, 1}), 3).ok());
  EXPECT_TRUE(unpack(words({2, 3, 0, 0, 1, 2}), 3).ok());  // an empty group
  const std::vector<std::string> broken{"",
                                        "x",
                                        "g",
                                        "a",
                                        std::string("a\0\0", 3),
                                        words({2, 2, 1, 0, 2}),               // too few
                                        words({2, 2, 1, 0, 2, 1, 1}),         // too many
                                        words({2, 2, 1, 0, 2, 3}),            // a stranger
                                        words({2, 2, 1, 0, 2, 2}),            // twice
                                        words({2, 2, 1, 2, 0, 1}),            // not in order
                                        words({2, 2, 9, 0, 1, 2}),            // a group beyond the end
                                        words({0xffffffffu, 2, 1, 0, 2, 1}),  // groups beyond the end
                                        words({1, 0xffffffffu, 0, 1, 2}),
                                        words({2, 2, 1, 0, 2, 1}).substr(0, 20)};
  for (std::size_t i = 0; i < broken.size(); ++i) EXPECT_FALSE(unpack(broken[i], 3).ok()) << i;
}

}  // namespace
}  // namespace muster
