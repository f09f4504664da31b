// Edges: which edge server a client belongs to. Contiguous blocks of clients, equal to within one.
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "base/result.h"

namespace muster {

[[nodiscard]] inline Status check_edges(std::uint32_t edges, std::uint32_t clients) {
  if (edges < 1 || edges > clients) return usage_error("data.edges: {}, want 1..{} (the clients)", edges, clients);
  return {};
}

[[nodiscard]] inline std::uint32_t edge_of(ClientId client, std::uint32_t clients, std::uint32_t edges) {
  return static_cast<std::uint32_t>(std::uint64_t{client.value} * edges / clients);
}

}  // namespace muster
