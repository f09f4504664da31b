// How clients elect the heads of their groups, from the distances of all pairs of them. Internal to the stage.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/rows.h"

namespace muster {

struct Votes {
  std::vector<double> reach;         // client m's party: everyone within this distance of m, and m
  std::vector<std::uint32_t> head;   // that m's party votes for: its member with most samples, the first of equals
  std::vector<std::uint32_t> heads;  // all that are voted for, ascending
  Rows<double> scores;               // a row per client, a column per entry of `heads`
};

// The party of m ends at the largest gap between consecutive distances from m to the others, if the gap is at least
// `min_gap` of the largest distance; otherwise, or with fewer than three clients, it is everyone. Each member n of m's
// party gives its head a vote of n's share of the party's samples, or of 1 if not `weighted`.
[[nodiscard]] Votes cast_votes(const Rows<double>& distances, std::span<const std::uint32_t> samples, double min_gap,
                               bool weighted);

// Clients connected by "my best head", lowest head on equal scores.
[[nodiscard]] std::vector<std::vector<std::uint32_t>> elect(const Votes& votes);

}  // namespace muster
