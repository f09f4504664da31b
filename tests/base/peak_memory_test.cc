#include "base/peak_memory.h"

#include <gtest/gtest.h>

#include <vector>

namespace muster {
namespace {

TEST(PeakMemory, CountsWhatIsGoneAgain) {
  constexpr std::size_t kBytes = std::size_t{64} << 20;
  const std::uint64_t before = peak_rss_bytes();
  EXPECT_GT(before, 0u);
  { const std::vector<char> large(kBytes, 1); }
  EXPECT_GE(peak_rss_bytes(), kBytes);
  EXPECT_LE(peak_rss_bytes(), before + 3 * kBytes);
}

}  // namespace
}  // namespace muster
