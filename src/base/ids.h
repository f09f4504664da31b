// Strong ids: a group id cannot index clients. Both are dense indices from 0.
#pragma once

#include <compare>
#include <cstdint>

namespace muster {

struct ClientId {
  std::uint32_t value = 0;
  auto operator<=>(const ClientId&) const = default;
};

struct GroupId {
  std::uint32_t value = 0;
  auto operator<=>(const GroupId&) const = default;
};

}  // namespace muster
