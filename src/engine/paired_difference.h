// Two methods seed by seed: how much better one is, how often, and whether that could be chance.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace muster {

struct PairedDifference {
  std::uint32_t pairs = 0;     // of which both have a value
  std::optional<double> mean;  // of a - b; none without pairs
  std::uint32_t better = 0;    // a > b
  std::uint32_t worse = 0;     // a < b
  std::optional<double> p;     // of the two-sided exact sign test; none where all are ties
};

// Entry i of both is of the same seed. Precondition: equal sizes.
[[nodiscard]] PairedDifference paired_difference(std::span<const std::optional<double>> a,
                                                 std::span<const std::optional<double>> b);

// The probability that of `wins + losses` fair coins at least so many fall on one side. Precondition: not both 0.
[[nodiscard]] double sign_test(std::uint32_t wins, std::uint32_t losses);

}  // namespace muster
