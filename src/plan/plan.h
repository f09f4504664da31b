// RoundPlan: who takes part in a round, and what is going to go wrong on purpose. Decided before any training, from the
// run's seed and the round alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "grouping/grouping.h"

namespace muster {

// How many: an integer is a count, a fraction a share.
struct Amount {
  std::variant<std::uint32_t, double> value = 1.0;

  // A count of at most `population`: shares are rounded half up, and are never less than 1 of a non-empty population.
  [[nodiscard]] std::uint32_t of(std::uint32_t population) const;
  bool operator==(const Amount&) const = default;
};

// The [plan] section of a recipe.
struct PlanOptions {
  Amount sample_clients{1.0};
  std::string sampling = "uniform";  // uniform: without replacement
};

// The [faults] section: shares of the sampled clients, drawn independently for every client and round.
struct FaultOptions {
  double drop = 0;         // vanish before training
  double straggle = 0;     // run out of time
  double nan = 0;          // send a broken update
  std::string stragglers;  // drop | partial; "" = partial for the proximal objective, else drop
};

struct RoundPlan {
  std::uint32_t round = 0;
  std::vector<GroupId> groups;  // ascending
};

// Samples groups uniformly without replacement.
[[nodiscard]] RoundPlan plan_round(const PlanOptions& options, const Grouping& grouping, std::uint64_t seed,
                                   std::uint32_t round);

// What befalls one client in one round.
struct Fault {
  bool drop = false;
  bool nan = false;
  // Set for stragglers: the uniform draw in [0, 1) that decides how much of its work is done.
  std::optional<double> straggle;
};
[[nodiscard]] Fault draw_fault(const FaultOptions& options, std::uint64_t seed, std::uint32_t round, ClientId client);

}  // namespace muster
