// How well a client complements a group: what greedy-complement maximises.
#pragma once

#include <cstdint>
#include <span>

namespace muster {

// With q = (a + b) / 2 over F components, and more = better:
//   kKl           1 - sum q ln(q F)   needs probabilities
//   kGini         1 - sum q^2         needs probabilities
//   kCosine       1 - <a, b> / (|a| |b|), 1 if either is zero
//   kWasserstein  earth mover's distance between the components of a and those of b, in whatever order they are
enum class ComplementScore : std::uint8_t { kKl, kGini, kCosine, kWasserstein };

// Precondition: a and b have the same size, at least 1.
[[nodiscard]] double complement(ComplementScore score, std::span<const double> a, std::span<const double> b);

}  // namespace muster
