// Who holds whose shares: everybody everybody's, or in large groups a graph in which everybody has so many neighbours
// (Bell et al. 2020): members on a ring in an order that follows from the sum's terms, each beside the nearest ones on
// either side. Members are meant by their place in the list of members.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "secure/secret_bytes.h"

namespace muster {

class Neighbours {
 public:
  // `each`: neighbours of a member, an even number; 0, or as many as there are others: everybody. `order`: by which the
  // ring is laid.
  Neighbours(std::uint32_t members, std::uint32_t each, const PublicBytes& order);

  // Ascending, without itself.
  [[nodiscard]] std::vector<std::uint32_t> of(std::uint32_t member) const;
  [[nodiscard]] bool are_neighbours(std::uint32_t a, std::uint32_t b) const;
  // Whoever holds shares of a member's secrets: its neighbours and itself.
  [[nodiscard]] std::uint32_t holders() const { return each_ + 1; }

 private:
  std::uint32_t members_;
  std::uint32_t each_;
  std::vector<std::uint32_t> at_;        // who sits at a place of the ring
  std::vector<std::uint32_t> place_of_;  // of each member
};

}  // namespace muster
