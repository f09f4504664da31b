#include "base/compact_counts.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(CompactCounts, CountPastWhatAByteHolds) {
  CompactCounts counts(3);
  for (std::uint32_t i = 1; i <= 1000; ++i) {
    counts.add(1);
    EXPECT_EQ(counts[1], i);
  }
  counts.add(2);
  EXPECT_EQ(counts.size(), 3u);
  EXPECT_EQ(counts[0], 0u);
  EXPECT_EQ(counts[1], 1000u);
  EXPECT_EQ(counts[2], 1u);
}

TEST(CompactCounts, AreWhatTheyWereSetTo) {
  CompactCounts counts(2);
  for (const std::uint32_t count : {0u, 254u, 255u, 256u, 4'000'000'000u, 255u, 254u, 7u}) {
    counts.set(0, count);
    EXPECT_EQ(counts[0], count);
    EXPECT_EQ(counts[1], 0u);
  }
}

}  // namespace
}  // namespace muster
