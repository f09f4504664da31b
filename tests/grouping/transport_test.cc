#include "grouping/transport.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/random.h"

namespace muster {
namespace {

using Gains = Rows<std::int64_t>;

Gains random_gains(Stream& stream, std::uint32_t places, std::uint32_t capacity, std::uint32_t bound) {
  Gains gains(places * capacity, places);
  for (std::int64_t& gain : gains.values) gain = static_cast<std::int64_t>(stream.below(bound)) - bound / 2;
  return gains;
}

std::int64_t best_by_trying_all(const Gains& gains, std::uint32_t capacity) {
  std::vector<std::uint32_t> place;
  for (std::uint32_t l = 0; l < gains.width; ++l) place.insert(place.end(), capacity, l);
  std::int64_t best = std::numeric_limits<std::int64_t>::min();
  do {
    std::int64_t gain = 0;
    for (std::uint32_t k = 0; k < place.size(); ++k) gain += gains.row(k)[place[k]];
    best = std::max(best, gain);
  } while (std::ranges::next_permutation(place).found);
  return best;
}

// The Hungarian method, row by row with potentials, on one column per seat of a place.
std::int64_t best_by_hungarian(const Gains& gains, std::uint32_t capacity) {
  const std::size_t n = gains.count();
  const auto cost = [&](std::size_t row, std::size_t column) {
    return -gains.row(static_cast<std::uint32_t>(row - 1))[(column - 1) / capacity];
  };
  constexpr std::int64_t kInfinite = std::numeric_limits<std::int64_t>::max() / 4;
  std::vector<std::int64_t> u(n + 1), v(n + 1);
  std::vector<std::size_t> row_of(n + 1), way(n + 1);
  for (std::size_t row = 1; row <= n; ++row) {
    row_of[0] = row;
    std::size_t column = 0;
    std::vector<std::int64_t> slack(n + 1, kInfinite);
    std::vector<bool> used(n + 1);
    do {
      used[column] = true;
      const std::size_t current = row_of[column];
      std::int64_t delta = kInfinite;
      std::size_t next = 0;
      for (std::size_t j = 1; j <= n; ++j) {
        if (used[j]) continue;
        const std::int64_t reduced = cost(current, j) - u[current] - v[j];
        if (reduced < slack[j]) {
          slack[j] = reduced;
          way[j] = column;
        }
        if (slack[j] < delta) {
          delta = slack[j];
          next = j;
        }
      }
      for (std::size_t j = 0; j <= n; ++j) {
        if (used[j]) {
          u[row_of[j]] += delta;
          v[j] -= delta;
        } else {
          slack[j] -= delta;
        }
      }
      column = next;
    } while (row_of[column] != 0);
    for (; column != 0; column = way[column]) row_of[column] = row_of[way[column]];
  }
  std::int64_t gain = 0;
  for (std::size_t j = 1; j <= n; ++j) gain -= cost(row_of[j], j);
  return gain;
}

void expect_valid(const Transport& result, const Gains& gains, std::uint32_t capacity,
                  const std::vector<std::int64_t>& prices) {
  std::vector<std::uint32_t> filled(gains.width);
  std::int64_t gain = 0;
  for (std::uint32_t k = 0; k < gains.count(); ++k) {
    ++filled[result.place[k]];
    gain += gains.row(k)[result.place[k]];
    // Optimality by duality: at the final prices nobody prefers another place.
    for (std::uint32_t l = 0; l < gains.width; ++l) {
      ASSERT_GE(gains.row(k)[result.place[k]] - prices[result.place[k]], gains.row(k)[l] - prices[l]);
    }
  }
  EXPECT_EQ(gain, result.gain);
  for (const std::uint32_t clients : filled) EXPECT_EQ(clients, capacity);
}

TEST(Transport, EqualsTryingAllAssignments) {
  Stream stream({.seed = 1});
  for (const auto& [places, capacity] :
       {std::pair{2u, 4u}, {4u, 2u}, {2u, 3u}, {3u, 2u}, {8u, 1u}, {1u, 5u}, {7u, 1u}}) {
    for (int repeat = 0; repeat < 20; ++repeat) {
      // Few values make many ties, many values make none.
      const Gains gains = random_gains(stream, places, capacity, repeat % 2 == 0 ? 3 : 1000);
      std::vector<std::int64_t> prices(places);
      const Transport result = transport(gains, capacity, prices);
      expect_valid(result, gains, capacity, prices);
      EXPECT_EQ(result.gain, best_by_trying_all(gains, capacity));
    }
  }
}

TEST(Transport, EqualsTheHungarianMethod) {
  Stream stream({.seed = 2});
  for (const auto& [places, capacity] :
       {std::pair{2u, 30u}, {3u, 20u}, {6u, 10u}, {7u, 8u}, {12u, 5u}, {30u, 2u}, {60u, 1u}}) {
    for (const std::uint32_t bound : {2u, 50u, 1u << 30}) {
      const Gains gains = random_gains(stream, places, capacity, bound);
      const std::int64_t expected = best_by_hungarian(gains, capacity);
      // Wherever the search starts.
      for (const std::uint32_t spread : {1u, 40u, 1u << 29}) {
        std::vector<std::int64_t> prices(places);
        for (std::int64_t& price : prices) price = stream.below(spread);
        const Transport result = transport(gains, capacity, prices);
        expect_valid(result, gains, capacity, prices);
        EXPECT_EQ(result.gain, expected) << places << " places of " << capacity;
      }
    }
  }
}

TEST(Transport, RepeatsItselfWhenEverythingTies) {
  const Gains gains(35, 5);
  std::vector<std::int64_t> prices(5), again(5);
  const Transport one = transport(gains, 7, prices);
  const Transport two = transport(gains, 7, again);
  EXPECT_EQ(one.place, two.place);
  expect_valid(one, gains, 7, prices);
}

}  // namespace
}  // namespace muster
