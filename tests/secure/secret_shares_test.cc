#include "secure/secret_shares.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "secure/shamir.h"

namespace muster {
namespace {

// Integers modulo 97, in which shares can be checked by hand.
struct SmallField {
  using Element = std::uint32_t;
  static Element of(std::uint32_t number) { return number % 97; }
  static Element add(Element a, Element b) { return (a + b) % 97; }
  static Element subtract(Element a, Element b) { return (a + 97 - b) % 97; }
  static Element multiply(Element a, Element b) { return a * b % 97; }
  static Element invert(Element a) {
    Element power = 1;
    for (int i = 0; i < 95; ++i) power = multiply(power, a);
    return power;
  }
};

TEST(Shamir, SharesOfFortyTwoModulo97) {
  const std::vector<std::uint32_t> coefficients{42, 15};
  const std::vector<std::uint32_t> shares{share_at<SmallField>(coefficients, 1), share_at<SmallField>(coefficients, 2),
                                          share_at<SmallField>(coefficients, 3)};
  EXPECT_THAT(shares, testing::ElementsAre(57, 72, 87));
  for (const auto& [a, b] : {std::pair{0u, 1u}, {0u, 2u}, {1u, 2u}, {2u, 0u}}) {
    const std::vector<std::uint32_t> points{a + 1, b + 1};
    const std::vector<std::uint32_t> two{shares[a], shares[b]};
    EXPECT_EQ(value_at_zero<SmallField>(weights_at_zero<SmallField>(points), two), 42u);
  }
}

TEST(Shamir, AnyThresholdOfSharesGivesTheKeyAndOneFewerDoesNot) {
  SystemKeys keys;
  for (std::uint32_t holders = 2; holders <= 6; ++holders) {
    std::vector<std::uint32_t> points;
    for (std::uint32_t i = 0; i < holders; ++i) points.push_back(1 + 5 * i);
    for (std::uint32_t threshold = 2; threshold <= holders; ++threshold) {
      const SecretKey key = keys.key();
      const std::vector<SecretShare> shares = split_key(key, threshold, points, keys);
      for (std::uint32_t chosen = 1; chosen < (1u << holders); ++chosen) {
        std::vector<std::uint32_t> some;
        std::vector<SecretShare> of;
        for (std::uint32_t i = 0; i < holders; ++i) {
          if ((chosen >> i & 1) == 0) continue;
          some.push_back(points[i]);
          of.push_back(shares[i]);
        }
        const Result<SecretKey> joined = ShareJoiner(some).join(of);
        if (some.size() >= threshold) {
          ASSERT_TRUE(joined);
          EXPECT_TRUE(*joined == key);
        } else {
          EXPECT_FALSE(joined);
        }
      }
    }
  }
}

TEST(Shamir, ARandomShareIsNoticed) {
  SystemKeys keys;
  const std::vector<std::uint32_t> points{1, 2, 3};
  std::vector<SecretShare> shares = split_key(keys.key(), 3, points, keys);
  keys.fill(shares[1].bytes());
  EXPECT_FALSE(ShareJoiner(points).join(shares));
}

TEST(KeySources, SeedsRepeatAndTheSystemDoesNot) {
  EXPECT_TRUE(SeededKeys({.seed = 1, .round = 2}).key() == SeededKeys({.seed = 1, .round = 2}).key());
  EXPECT_FALSE(SeededKeys({.seed = 1, .round = 2}).key() == SeededKeys({.seed = 1, .round = 3}).key());
  EXPECT_FALSE(SeededKeys({.seed = 1, .client = 2}).key() == SeededKeys({.seed = 1, .client = 3}).key());
  SeededKeys one({.seed = 1});
  EXPECT_FALSE(one.key() == one.key());
  SystemKeys keys;
  EXPECT_FALSE(keys.key() == keys.key());
}

TEST(KeySources, SecretsAreWipedWhenTheyMove) {
  SystemKeys keys;
  SecretKey key = keys.key();
  const SecretKey moved = std::move(key);
  EXPECT_TRUE(key == SecretKey());  // NOLINT(bugprone-use-after-move): that nothing is left is the point
  EXPECT_FALSE(moved == SecretKey());
}

}  // namespace
}  // namespace muster
