#include "base/huge_pages.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>

namespace muster {
namespace {

TEST(HugePages, HoldWhatWasThereAndAsMuchAsWasAskedFor) {
  for (const std::size_t count : {std::size_t{0}, std::size_t{10}, std::size_t{5000}, std::size_t{3'000'001}}) {
    std::vector<std::uint32_t> values(1000);
    std::iota(values.begin(), values.end(), 0u);
    const std::vector<std::uint32_t> before = values;
    reserve_huge(values, count);
    EXPECT_EQ(values, before);
    EXPECT_GE(values.capacity(), count);
    const std::uint32_t* data = values.data();
    values.resize(std::max(count, values.size()), 7u);
    EXPECT_EQ(values.data(), data);
    EXPECT_EQ(std::vector(values.begin(), values.begin() + 1000), before);
  }
}

}  // namespace
}  // namespace muster
