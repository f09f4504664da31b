// The lines of groups.jsonl: each grouping that was formed, and where newcomers went.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/client_distances.h"
#include "engine/oracle.h"
#include "grouping/newcomers.h"
#include "profile/profile.h"

namespace muster {

struct FormedGrouping {
  std::uint32_t round = 0;  // the first that uses it, or the round whose event formed it
  std::string_view method;
  std::string_view why;
  const Grouping& grouping;
  const ProfileKind* profile = nullptr;  // what clients told for it; null: nothing
  std::uint64_t bytes_up = 0;            // of profiles
  std::uint64_t bytes_down = 0;
  const ClientDistances* distances = nullptr;  // of what clients told; null: not recorded
  const std::vector<std::string>& notes;
};
// `oracle` may be null: then nothing is said of labels and planted clusters.
[[nodiscard]] std::string grouping_line(const FormedGrouping& formed, const Oracle* oracle);

struct PlacedClient {
  ClientId client;
  Placement placement;
};
// `truth`: how far all groups are the planted clusters afterwards, where that is known.
[[nodiscard]] std::string newcomers_line(std::uint32_t round, std::string_view method,
                                         const std::vector<PlacedClient>& placed,
                                         const std::optional<Agreement>& truth = {});

}  // namespace muster
