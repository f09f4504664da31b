#include "secure/neighbours.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "secure/sum_terms.h"

namespace muster {
namespace {

TEST(Neighbours, EverybodyHasAsManyAndBothKnow) {
  for (const auto& [members, each] : {std::pair{7u, 4u}, {8u, 2u}, {100u, 20u}, {6u, 4u}, {6u, 6u}, {5u, 0u}}) {
    const Neighbours graph(members, each, PublicBytes{1, 2, 3});
    for (std::uint32_t a = 0; a < members; ++a) {
      const std::vector<std::uint32_t> of = graph.of(a);
      EXPECT_EQ(of.size() + 1, graph.holders());
      EXPECT_TRUE(std::ranges::is_sorted(of));
      for (std::uint32_t b = 0; b < members; ++b) {
        EXPECT_EQ(graph.are_neighbours(a, b), std::ranges::count(of, b) == 1);
        EXPECT_EQ(graph.are_neighbours(a, b), graph.are_neighbours(b, a));
      }
    }
  }
}

TEST(Neighbours, TheRingFollowsFromTheTerms) {
  EXPECT_EQ(Neighbours(50, 6, PublicBytes{1}).of(0), Neighbours(50, 6, PublicBytes{1}).of(0));
  EXPECT_NE(Neighbours(50, 6, PublicBytes{1}).of(0), Neighbours(50, 6, PublicBytes{2}).of(0));
}

TEST(Neighbours, AThresholdIsMoreThanHalf) {
  EXPECT_EQ(threshold_for(2.0 / 3, 3), 2u);
  EXPECT_EQ(threshold_for(2.0 / 3, 5), 4u);
  EXPECT_EQ(threshold_for(2.0 / 3, 52), 35u);
  EXPECT_EQ(threshold_for(0.51, 2), 2u);
  EXPECT_EQ(threshold_for(0.51, 4), 3u);
  EXPECT_EQ(threshold_for(1, 4), 4u);
}

}  // namespace
}  // namespace muster
