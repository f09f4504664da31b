#include "base/random.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <vector>

namespace muster {
namespace {

using Block = std::array<std::uint32_t, 4>;

Stream test_stream(std::uint32_t id) {
  return Stream({.seed = 20240501, .purpose = Purpose::kTest, .id = id});
}

// Philox 4x32-10 as Salmon et al. (SC 2011) define it, written apart from the library that Stream uses.
Block philox(Block counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
               static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

// The seed that gives a test stream (part 0) the wanted Philox key: the key derivation, run backwards.
std::uint64_t seed_for(std::array<std::uint32_t, 2> key) {
  const auto unshift = [](std::uint64_t y, int shift) {
    std::uint64_t x = y;
    for (int i = 0; i < 64 / shift; ++i) x = y ^ (x >> shift);
    return x;
  };
  const auto inverse = [](std::uint64_t odd) {
    std::uint64_t x = odd;
    for (int i = 0; i < 6; ++i) x *= 2 - odd * x;
    return x;
  };
  const auto mix = [](std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  };
  std::uint64_t x = ((std::uint64_t{key[1]} << 32) | key[0]) ^ mix(~std::uint64_t{0});
  x = unshift(x, 31) * inverse(0x94d049bb133111ebu);
  x = unshift(x, 27) * inverse(0xbf58476d1ce4e5b9u);
  x = unshift(x, 30);
  return x - 0x9e3779b97f4a7c15u * (1 + static_cast<std::uint64_t>(Purpose::kTest));
}

// Chi-square statistic of counts against equal shares.
double chi_square(const std::vector<std::uint64_t>& counts) {
  const double total = static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}));
  const double expected = total / static_cast<double>(counts.size());
  double sum = 0;
  for (const auto count : counts)
    sum += (static_cast<double>(count) - expected) * (static_cast<double>(count) - expected);
  return sum / expected;
}

// With k degrees of freedom chi-square has mean k and variance 2k: five sigmas either way.
void expect_uniform(const std::vector<std::uint64_t>& counts) {
  const double freedom = static_cast<double>(counts.size() - 1);
  EXPECT_LT(chi_square(counts), freedom + 5 * std::sqrt(2 * freedom) + 5);
  EXPECT_GT(chi_square(counts), freedom - 5 * std::sqrt(2 * freedom));
}

struct Moments {
  double mean = 0;
  double variance = 0;
  double skewness = 0;
  double kurtosis = 0;
};

template <typename Draw>
Moments moments(int n, Draw draw) {
  std::vector<double> values(static_cast<std::size_t>(n));
  for (double& value : values) value = draw();
  Moments m;
  for (const double value : values) m.mean += value / n;
  double third = 0;
  double fourth = 0;
  for (const double value : values) {
    const double d = value - m.mean;
    m.variance += d * d / n;
    third += d * d * d / n;
    fourth += d * d * d * d / n;
  }
  m.skewness = third / std::pow(m.variance, 1.5);
  m.kurtosis = fourth / (m.variance * m.variance);
  return m;
}

// The three vectors that Random123 publishes for philox4x32-10.
TEST(Philox, ReferenceGivesThePublishedAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const std::uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox({ones, ones, ones, ones}, {ones, ones}), (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Stream, IsPhiloxWithTheRoundAndIdInTheCounter) {
  Stream zero({.seed = seed_for({0, 0}), .purpose = Purpose::kTest});
  for (const std::uint32_t word : {0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}) EXPECT_EQ(zero.next(), word);

  const std::array<std::uint32_t, 2> key = {0xa4093822, 0x299f31d0};
  Stream stream({.seed = seed_for(key), .purpose = Purpose::kTest, .round = 0x13198a2e, .id = 0x03707344});
  for (std::uint32_t count = 0; count < 1000; ++count) {
    const Block block = philox({count, 0, 0x13198a2e, 0x03707344}, key);
    for (const std::uint32_t word : block) ASSERT_EQ(stream.next(), word) << count;
  }
}

TEST(Stream, SameKeySameNumbers) {
  const StreamKey key{.seed = 42, .purpose = Purpose::kBatchOrder, .round = 3, .id = 17, .part = 2};
  Stream a(key);
  Stream b(key);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(a.next(), b.next());
}

// Signatures of runs rest on these numbers: a change here changes every one of them.
TEST(Stream, NumbersAreFixed) {
  Stream stream({.seed = 1, .purpose = Purpose::kPartition, .round = 2, .id = 3, .part = 4});
  EXPECT_EQ(stream.next64(), 0xbcfb276dfbad75c8u);
  EXPECT_EQ(stream.below(1000), 25u);
  EXPECT_DOUBLE_EQ(stream.uniform(), 0.27542794747493948);
}

TEST(Stream, EveryPartOfTheKeyMatters) {
  const StreamKey base{.seed = 42, .purpose = Purpose::kSampling, .round = 1, .id = 1, .part = 1};
  std::vector<StreamKey> keys = {base};
  for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{43}, std::uint64_t{42} << 32}) {
    keys.push_back(base);
    keys.back().seed = seed;
  }
  for (int purpose = 1; purpose <= 13; ++purpose) {
    if (static_cast<Purpose>(purpose) == base.purpose) continue;
    keys.push_back(base);
    keys.back().purpose = static_cast<Purpose>(purpose);
  }
  for (const std::uint32_t value : {0u, 2u, 0xffffffffu}) {
    keys.insert(keys.end(), 3, base);
    keys[keys.size() - 3].round = value;
    keys[keys.size() - 2].id = value;
    keys[keys.size() - 1].part = value;
  }
  std::set<std::uint64_t> firsts;
  for (const StreamKey& key : keys) firsts.insert(Stream(key).next64());
  EXPECT_EQ(firsts.size(), keys.size());
}

TEST(Stream, EveryBitOfTheKeyMatters) {
  std::set<std::uint64_t> seen{Stream({.seed = 1}).next64()};
  for (std::uint32_t bit = 0; bit < 32; ++bit) {
    const std::uint32_t flag = 1u << bit;
    EXPECT_TRUE(seen.insert(Stream({.seed = 1, .round = flag}).next64()).second) << "round, bit " << bit;
    EXPECT_TRUE(seen.insert(Stream({.seed = 1, .id = flag}).next64()).second) << "id, bit " << bit;
    EXPECT_TRUE(seen.insert(Stream({.seed = 1, .part = flag}).next64()).second) << "part, bit " << bit;
    EXPECT_TRUE(seen.insert(Stream({.seed = 1 ^ std::uint64_t{flag} << 32}).next64()).second) << "seed, bit " << bit;
  }
}

// 2^32 is 4/3 of this bound: without rejection every third value would come twice as often.
TEST(Stream, BelowRejectsWhatWouldFavourSomeValues) {
  Stream stream({.seed = 4});
  int thirds = 0;
  for (int i = 0; i < 6000; ++i) thirds += stream.below(3u << 30) % 3 == 0 ? 1 : 0;
  EXPECT_NEAR(thirds, 2000, 200);
}

TEST(Stream, NeighbouringStreamsAreUncorrelated) {
  constexpr int kDraws = 20000;
  for (const auto& [first, second] :
       {std::pair{StreamKey{.id = 1}, StreamKey{.id = 2}}, std::pair{StreamKey{.round = 1}, StreamKey{.round = 2}},
        std::pair{StreamKey{.seed = 1}, StreamKey{.seed = 2}}, std::pair{StreamKey{.part = 0}, StreamKey{.part = 1}}}) {
    Stream a(first);
    Stream b(second);
    double sum = 0;
    for (int i = 0; i < kDraws; ++i) sum += (a.uniform() - 0.5) * (b.uniform() - 0.5);
    EXPECT_LT(std::abs(sum / kDraws * 12), 5 / std::sqrt(kDraws));
  }
}

TEST(Stream, UniformHasItsMomentsAndRange) {
  Stream stream = test_stream(1);
  const int n = 200000;
  double lowest = 1;
  double highest = 0;
  std::vector<std::uint64_t> bins(64);
  const Moments m = moments(n, [&] {
    const double u = stream.uniform();
    lowest = std::min(lowest, u);
    highest = std::max(highest, u);
    ++bins[static_cast<std::size_t>(u * 64)];
    return u;
  });
  EXPECT_GE(lowest, 0.0);
  EXPECT_LT(highest, 1.0);
  EXPECT_NEAR(m.mean, 0.5, 5 * std::sqrt(1.0 / 12 / n));
  EXPECT_NEAR(m.variance, 1.0 / 12, 5 * std::sqrt(1.0 / 180 / n));
  expect_uniform(bins);
}

TEST(Stream, NormalHasItsMomentsAndTails) {
  Stream stream = test_stream(2);
  const int n = 400000;
  int beyond_two = 0;
  const Moments m = moments(n, [&] {
    const double x = stream.normal();
    if (std::abs(x) > 2) ++beyond_two;
    return x;
  });
  EXPECT_NEAR(m.mean, 0.0, 5 / std::sqrt(n));
  EXPECT_NEAR(m.variance, 1.0, 5 * std::sqrt(2.0 / n));
  EXPECT_NEAR(m.skewness, 0.0, 5 * std::sqrt(6.0 / n));
  EXPECT_NEAR(m.kurtosis, 3.0, 5 * std::sqrt(24.0 / n));
  EXPECT_NEAR(static_cast<double>(beyond_two) / n, 0.0455003, 5 * std::sqrt(0.0455 / n));
}

TEST(Stream, BelowIsUnbiased) {
  for (const std::uint32_t bound : {1u, 2u, 3u, 10u, 62u, 1000u}) {
    Stream stream = test_stream(100 + bound);
    std::vector<std::uint64_t> counts(bound);
    for (int i = 0; i < 200000; ++i) {
      const std::uint32_t value = stream.below(bound);
      ASSERT_LT(value, bound);
      ++counts[value];
    }
    if (bound > 1) expect_uniform(counts);
  }
}

// Three quarters of 2^32: taking the remainder would give the lowest third twice its share.
TEST(Stream, BelowIsUnbiasedForHugeBounds) {
  const std::uint32_t bound = 3u << 30;
  Stream stream = test_stream(3);
  std::vector<std::uint64_t> thirds(3);
  for (int i = 0; i < 100000; ++i) ++thirds[stream.below(bound) >> 30];
  expect_uniform(thirds);
}

TEST(Stream, LogGammaHasItsMoments) {
  for (const double shape : {0.1, 0.5, 1.0, 2.5, 100.0}) {
    Stream stream = test_stream(static_cast<std::uint32_t>(shape * 10));
    const int n = 200000;
    const Moments m = moments(n, [&] { return std::exp(stream.log_gamma_draw(shape)); });
    EXPECT_NEAR(m.mean, shape, 5 * std::sqrt(shape / n)) << shape;
    // Var(s^2) = (mu4 - sigma^4) / n with mu4 = 3 k^2 + 6 k.
    EXPECT_NEAR(m.variance, shape, 5 * std::sqrt((2 * shape * shape + 6 * shape) / n)) << shape;
  }
}

TEST(Stream, DirichletHasItsMeansAndVariances) {
  const std::vector<double> concentration = {0.2, 0.5, 1.0, 3.0};
  const double sum = 4.7;
  Stream stream = test_stream(4);
  const int n = 100000;
  std::vector<double> p(4);
  std::vector<double> mean(4);
  std::vector<double> square(4);
  for (int i = 0; i < n; ++i) {
    stream.dirichlet(concentration, p);
    for (std::size_t c = 0; c < 4; ++c) {
      mean[c] += p[c] / n;
      square[c] += p[c] * p[c] / n;
    }
  }
  for (std::size_t c = 0; c < 4; ++c) {
    const double share = concentration[c] / sum;
    const double variance = share * (1 - share) / (sum + 1);
    EXPECT_NEAR(mean[c], share, 5 * std::sqrt(variance / n)) << c;
    EXPECT_NEAR(square[c] - mean[c] * mean[c], variance, 0.03 * variance) << c;
  }
}

TEST(Stream, DirichletStaysFiniteForTinyAndHugeConcentrations) {
  for (const double alpha : {5e-324, 1e-300, 1e-10, 0.001, 0.01, 1e6, 1e300}) {
    Stream stream = test_stream(5);
    const std::vector<double> concentration(10, alpha);
    std::vector<double> p(10);
    for (int i = 0; i < 1000; ++i) {
      stream.dirichlet(concentration, p);
      for (const double share : p) {
        ASSERT_TRUE(std::isfinite(share)) << alpha;
        ASSERT_GE(share, 0) << alpha;
      }
      ASSERT_NEAR(std::accumulate(p.begin(), p.end(), 0.0), 1.0, 1e-12) << alpha;
    }
  }
}

TEST(Stream, TinyDirichletPutsAllOnOneEntryEachEquallyOften) {
  for (const double alpha : {5e-324, 1e-10, 0.001}) {
    Stream stream = test_stream(6);
    const std::vector<double> concentration(10, alpha);
    std::vector<double> p(10);
    std::vector<std::uint64_t> largest(10);
    int concentrated = 0;
    for (int i = 0; i < 5000; ++i) {
      stream.dirichlet(concentration, p);
      const auto top = std::max_element(p.begin(), p.end());
      if (*top > 0.99) ++concentrated;
      ++largest[static_cast<std::size_t>(top - p.begin())];
    }
    EXPECT_GT(concentrated, 4500) << alpha;
    expect_uniform(largest);
  }
}

TEST(Stream, DirichletOfOneIsCertainAndOfNoneIsEmpty) {
  Stream stream = test_stream(7);
  std::vector<double> p(1);
  stream.dirichlet(std::vector<double>{0.3}, p);
  EXPECT_EQ(p[0], 1.0);
  stream.dirichlet({}, {});
}

TEST(Stream, ShuffleIsAUniformPermutation) {
  Stream stream = test_stream(8);
  std::map<std::vector<int>, std::uint64_t> seen;
  for (int i = 0; i < 24000; ++i) {
    std::vector<int> items = {0, 1, 2, 3};
    stream.shuffle(std::span(items));
    ++seen[items];
  }
  ASSERT_EQ(seen.size(), 24u);
  std::vector<std::uint64_t> counts;
  for (const auto& [order, count] : seen) counts.push_back(count);
  expect_uniform(counts);
  std::vector<int> none;
  stream.shuffle(std::span(none));
}

TEST(Stream, SampleIsDistinctAscendingAndInRange) {
  Stream stream = test_stream(9);
  for (const auto& [population, count] :
       {std::pair{1u, 1u}, {10u, 0u}, {10u, 10u}, {1000u, 37u}, {0xffffffffu, 1000u}}) {
    const std::vector<std::uint32_t> chosen = stream.sample(population, count);
    ASSERT_EQ(chosen.size(), count);
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      ASSERT_LT(chosen[i], population);
      ASSERT_TRUE(i == 0 || chosen[i - 1] < chosen[i]);
    }
  }
}

TEST(Stream, SampleTakesEverySubsetEquallyOften) {
  Stream stream = test_stream(10);
  std::map<std::vector<std::uint32_t>, std::uint64_t> seen;
  for (int i = 0; i < 20000; ++i) ++seen[stream.sample(6, 3)];
  ASSERT_EQ(seen.size(), 20u);
  std::vector<std::uint64_t> counts;
  for (const auto& [subset, count] : seen) counts.push_back(count);
  expect_uniform(counts);
}

TEST(StreamDeathTest, BrokenPreconditionsAreBugs) {
  Stream stream = test_stream(11);
  EXPECT_DEATH(stream.below(0), "bound 0");
  EXPECT_DEATH(static_cast<void>(stream.sample(3, 4)), "4 of 3");
  EXPECT_DEATH(stream.log_gamma_draw(0), "shape 0");
  EXPECT_DEATH(stream.log_gamma_draw(INFINITY), "shape inf");
  std::vector<double> p(2);
  EXPECT_DEATH(stream.dirichlet(std::vector<double>{1.0}, p), "1 != 2");
}

}  // namespace
}  // namespace muster
