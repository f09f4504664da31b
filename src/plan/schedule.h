// GroupSchedule: how many groups a round wants. From the round alone -> a number, never more than there are clients.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/catalogue_entry.h"
#include "base/result.h"

namespace muster {

// `plan.groups` of a recipe: a number is a constant schedule, a table a growing one.
struct GroupSchedule {
  std::string growth = "constant";  // see growths()
  double alpha = 2;                 // how fast it grows, >= 0; not used by constant
  std::uint32_t beta = 10;          // groups of the first round, >= 1; constant: of every round
  bool operator==(const GroupSchedule&) const = default;
};

// Every growth, in the order of the documentation.
[[nodiscard]] std::vector<CatalogueEntry> growths();

// Fails if the growth is unknown or a number is out of range; errors do not name the key.
[[nodiscard]] Status check_schedule(const GroupSchedule& schedule);

// The number of groups that round `round` (from 1) wants, at most `clients`. Precondition: check_schedule() passes.
[[nodiscard]] std::uint32_t scheduled_groups(const GroupSchedule& schedule, std::uint32_t round, std::uint32_t clients);

}  // namespace muster
