#include "grouping/label_spread.h"

#include <cmath>
#include <limits>

#include "base/random.h"
#include "compare_fractions.h"
#include "grouping/quality.h"

namespace muster {
namespace {

using Counts = std::vector<std::uint32_t>;

TEST(LabelSpread, KnownCoefficientsOfVariation) {
  const auto cov = [](const Counts& counts) { return cov_of(spread_of(counts), counts.size()); };
  EXPECT_DOUBLE_EQ(cov({6, 2}), 0.5);
  EXPECT_DOUBLE_EQ(cov({10, 0}), 1);
  EXPECT_NEAR(cov({30, 10, 20}), 0.408248, 1e-6);
  EXPECT_DOUBLE_EQ(cov({10, 0, 0, 0, 0, 0, 0, 0, 0, 0}), 3);
  EXPECT_EQ(cov({7, 7, 7}), 0);
  EXPECT_TRUE(std::isinf(cov({0, 0})));
}

TEST(LabelSpread, KnownQcids) {
  const auto qcid = [](const Counts& counts) { return qcid_of(spread_of(counts), counts.size()); };
  EXPECT_DOUBLE_EQ(qcid({6, 2}), 0.125);
  EXPECT_DOUBLE_EQ(qcid({8, 0}), 0.5);
  EXPECT_DOUBLE_EQ(qcid({10, 6}), 0.03125);
  // The coefficient of variation without the factor sqrt(m) is sqrt(QCID).
  EXPECT_NEAR(std::sqrt(qcid({30, 10, 20})), 0.235702, 1e-6);
  EXPECT_NEAR(std::sqrt(qcid({10, 0, 0, 0, 0, 0, 0, 0, 0, 0})), 0.948683, 1e-6);
}

TEST(LabelSpread, AgreesWithTheJudgementOfGroups) {
  Stream stream({.seed = 3});
  for (int repeat = 0; repeat < 100; ++repeat) {
    Counts counts(1 + stream.below(20));
    for (std::uint32_t& count : counts) count = stream.below(1000);
    counts[0] += 1;
    const std::vector<std::uint64_t> sums(counts.begin(), counts.end());
    EXPECT_NEAR(cov_of(spread_of(counts), counts.size()), coefficient_of_variation(sums), 1e-9);
    EXPECT_NEAR(qcid_of(spread_of(counts), counts.size()), class_imbalance(sums), 1e-9);
  }
}

TEST(LabelSpread, GramFormOfAGroup) {
  // QCID = sum over pairs of <h_i, h_j> / n^2 - 1 / m.
  const std::vector<Counts> clients{{6, 2, 0}, {0, 5, 1}, {3, 3, 9}};
  double pairs = 0, total = 0;
  std::vector<std::uint64_t> counts(3);
  LabelSpread spread;
  for (const Counts& a : clients) {
    for (const Counts& b : clients) {
      for (std::size_t y = 0; y < 3; ++y) pairs += a[y] * b[y];
    }
    spread = joined_spread(spread, counts, a);
    for (std::size_t y = 0; y < 3; ++y) {
      counts[y] += a[y];
      total += a[y];
    }
  }
  EXPECT_NEAR(qcid_of(spread, 3), pairs / (total * total) - 1.0 / 3, 1e-15);
}

TEST(LabelSpread, OrdersExactlyAtAnySize) {
  Stream stream({.seed = 4});
  int ties = 0;
  for (int repeat = 0; repeat < 20000; ++repeat) {
    const int bits = 1 + static_cast<int>(stream.below(50));
    const auto draw = [&] {
      LabelSpread spread;
      for (int y = 0; y < 4; ++y) {
        const std::uint64_t count = (stream.next64() >> (64 - bits)) + 1;
        spread.squares += uint128{count} * count;
        spread.total += count;
      }
      return spread;
    };
    LabelSpread a = draw(), b = draw();
    if (repeat % 4 == 0) {  // equal but for the scale, or a hair's breadth apart
      const std::uint64_t factor = 1 + stream.below(7);
      b = {.squares = a.squares * factor * factor, .total = a.total * factor};
      if (repeat % 8 == 0) b.squares += 1;
    }
    const int expected =
        compare_fractions(a.squares, uint128{a.total} * a.total, b.squares, uint128{b.total} * b.total);
    EXPECT_EQ(more_even(a, b), expected < 0);
    EXPECT_EQ(more_even(b, a), expected > 0);
    ties += expected == 0;
  }
  EXPECT_GT(ties, 1000);
  EXPECT_TRUE(more_even({.squares = 4, .total = 2}, {}));
  EXPECT_FALSE(more_even({}, {.squares = 4, .total = 2}));
  EXPECT_FALSE(more_even({}, {}));
}

TEST(LabelSpread, ComparesWithABoundExactly) {
  const auto compare = [](const Counts& counts, double bound) {
    return compare_cov(spread_of(counts), counts.size(), bound);
  };
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(compare({6, 2}, 0.5), 0);
  EXPECT_EQ(compare({6, 2}, std::nextafter(0.5, 1)), -1);
  EXPECT_EQ(compare({6, 2}, std::nextafter(0.5, 0)), 1);
  EXPECT_EQ(compare({5, 5}, 0), 0);
  EXPECT_EQ(compare({5, 5}, 1e-300), -1);
  EXPECT_EQ(compare({5, 6}, 1e-300), 1);
  EXPECT_EQ(compare({5, 6}, 0), 1);
  EXPECT_EQ(compare({5, 6}, kInfinity), -1);
  EXPECT_EQ(compare({0, 0}, 1), 1);
  // 5:3 varies by 1/4 of its mean at any scale; one sample more or less is seen among 2^50.
  const std::uint64_t part = std::uint64_t{1} << 47;
  const auto scaled = [](std::uint64_t a, std::uint64_t b) {
    return LabelSpread{.squares = uint128{a} * a + uint128{b} * b, .total = a + b};
  };
  EXPECT_EQ(compare_cov(scaled(5 * part, 3 * part), 2, 0.25), 0);
  EXPECT_EQ(compare_cov(scaled(5 * part + 1, 3 * part), 2, 0.25), 1);
  EXPECT_EQ(compare_cov(scaled(5 * part - 1, 3 * part), 2, 0.25), -1);
}

TEST(LabelSpread, RefusesMoreThanItCanCount) {
  Rows<std::uint32_t> labels(3, 4);
  std::ranges::fill(labels.values, 0xffffffffu);
  EXPECT_TRUE(check_label_totals(labels).ok());
  Rows<std::uint32_t> many(3000, 1000);
  std::ranges::fill(many.values, 0xffffffffu);
  const Status status = check_label_totals(many);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("want fewer than 9007199254740992"), std::string::npos);
}

}  // namespace
}  // namespace muster
