#include "secure/fixed_point.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace muster {
namespace {

std::int32_t at(const Words& words, std::size_t i) {
  return static_cast<std::int32_t>(std::get<0>(words)[i]);
}

TEST(FixedPoint, ValuesAreRoundedClippedAndWeighted) {
  const FixedPoint format{.bits = 32, .fraction_bits = 16, .most_weight = 7};
  const std::vector<float> values{1.25f, -0.5f, 100.0f, -100.0f, 1.0f / 131072};
  Words words = *encode_input(format, values, 3);
  ASSERT_TRUE(add_counts(std::vector<std::uint64_t>{700}, 5, words));
  ASSERT_EQ(count_of(words), 7u);
  EXPECT_EQ(at(words, 0), 3 * 81920);
  EXPECT_EQ(at(words, 1), -3 * 32768);
  EXPECT_EQ(at(words, 2), 3 * 1048576);
  EXPECT_EQ(at(words, 3), -3 * 1048576);
  EXPECT_EQ(at(words, 4), 0);  // half a step: to the even neighbour
  EXPECT_EQ(at(words, 5), 3) << "the weight";
  EXPECT_EQ(at(words, 6), 700) << "what it counts, as it is";
}

TEST(FixedPoint, WhatCannotBeSummedIsRefused) {
  const FixedPoint format{.bits = 32, .fraction_bits = 16, .most_weight = 7};
  const std::vector<float> values{1.0f};
  EXPECT_FALSE(encode_input(format, values, 0));
  EXPECT_FALSE(encode_input(format, values, 8));
  EXPECT_FALSE(encode_input(format, std::vector{std::numeric_limits<float>::quiet_NaN()}, 1));
  EXPECT_FALSE(encode_input(format, std::vector{std::numeric_limits<float>::infinity()}, 1));
  Words words = *encode_input(format, values, 1);
  EXPECT_FALSE(add_values(std::vector{std::numeric_limits<float>::quiet_NaN()}, 5, words));
  const std::vector<std::uint64_t> most{(std::uint64_t{1} << 31) / 5 - 1};
  EXPECT_TRUE(add_counts(most, 5, words));
  EXPECT_FALSE(add_counts(std::vector{most[0] + 1}, 5, words)) << "five of them could reach half of the range";
  EXPECT_FALSE(add_counts(most, 6, words));
  EXPECT_FALSE(check_fixed_point({.bits = 48, .fraction_bits = 8, .most_weight = 1}, 2));
  EXPECT_FALSE(check_fixed_point({.bits = 32, .fraction_bits = 33, .most_weight = 1}, 2));
}

// The largest vectors of all members never reach half of the range, and one more bit of fraction could.
TEST(FixedPoint, NoSumOverflowsAndNoBitIsWasted) {
  for (const std::uint32_t bits : {32u, 64u}) {
    for (const std::uint32_t members : {2u, 3u, 5u, 52u, 127u, 1000u, 65535u}) {
      for (const std::uint64_t weight : {1ull, 7ull, 200ull, 1000ull}) {
        const Result<FixedPoint> format = choose_fixed_point(bits, members, weight);
        const auto largest = [&](std::uint32_t fraction) {
          return std::ldexp(16.0 * members * static_cast<double>(weight), static_cast<int>(fraction));
        };
        const double half = std::ldexp(1.0, static_cast<int>(bits) - 1);
        if (!format) {
          EXPECT_GE(largest(kCoarsest), half);
          continue;
        }
        EXPECT_LT(largest(format->fraction_bits), half);
        EXPECT_TRUE(check_fixed_point(*format, members));
        if (format->fraction_bits < kMostFractionBits) {
          EXPECT_GE(largest(format->fraction_bits + 1), half);
          FixedPoint finer = *format;
          ++finer.fraction_bits;
          EXPECT_FALSE(check_fixed_point(finer, members));
        }
      }
    }
  }
}

TEST(FixedPoint, WordsAreAsWideAsTheyMustBe) {
  EXPECT_EQ(choose_fixed_point({}, 8, 200)->bits, 32u);
  EXPECT_EQ(choose_fixed_point({}, 52, 1000)->bits, 64u);
  EXPECT_THAT(choose_fixed_point(32, 1000, 10000).error().message, testing::HasSubstr("secure.bits: 32"));
}

TEST(FixedPoint, TheMeanComesBack) {
  for (const std::uint32_t bits : {32u, 64u}) {
    const FixedPoint format = *choose_fixed_point(bits, 3, 5);
    Words sum = *encode_input(format, std::vector{1.25f, -3.0f}, 1);
    Words other = *encode_input(format, std::vector{-0.75f, 2.0f}, 3);
    ASSERT_TRUE(add_counts(std::vector<std::uint64_t>{40, 7}, 3, sum));
    ASSERT_TRUE(add_counts(std::vector<std::uint64_t>{2, 0}, 3, other));
    ASSERT_TRUE(add_values(std::vector{0.5f, -100.0f, 1.0f / (1 << 20)}, 3, sum));
    ASSERT_TRUE(add_values(std::vector{0.25f, 1.0f, 1.0f / (1 << 20)}, 3, other));
    add_words(sum, other);
    const Result<DecodedSum> decoded = decode_sum(format, sum, {.weighted = 2, .counts = 2, .values = 3}, 3);
    ASSERT_TRUE(decoded);
    EXPECT_EQ(decoded->weight, 4u);
    EXPECT_THAT(decoded->mean, testing::ElementsAre(-0.25, 0.75));
    EXPECT_THAT(decoded->counts, testing::ElementsAre(42u, 7u));
    // Clipped, not weighted, and finer than what is.
    EXPECT_THAT(decoded->values, testing::ElementsAre(0.75, -15.0, std::ldexp(1.0, -19)));
    EXPECT_FALSE(decode_sum(format, zero_words(bits, 3), {.weighted = 2}, 3)) << "a weight of 0";
  }
}

}  // namespace
}  // namespace muster
