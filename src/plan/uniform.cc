#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "plan/plan.h"

namespace muster {

std::uint32_t Amount::of(std::uint32_t population) const {
  if (const auto* count = std::get_if<std::uint32_t>(&value)) return std::min(*count, population);
  const double wanted = std::floor(std::get<double>(value) * population + 0.5);
  return std::clamp<std::uint32_t>(static_cast<std::uint32_t>(wanted), population > 0 ? 1 : 0, population);
}

RoundPlan plan_round(const PlanOptions& options, const Grouping& grouping, std::uint64_t seed, std::uint32_t round) {
  Stream stream({.seed = seed, .purpose = Purpose::kSampling, .round = round});
  RoundPlan plan{.round = round, .groups = {}};
  for (const std::uint32_t group : stream.sample(grouping.count(), options.sample_clients.of(grouping.count()))) {
    plan.groups.push_back(GroupId{group});
  }
  return plan;
}

Fault draw_fault(const FaultOptions& options, std::uint64_t seed, std::uint32_t round, ClientId client) {
  Fault fault;
  if (options.drop <= 0 && options.straggle <= 0 && options.nan <= 0) return fault;
  Stream stream({.seed = seed, .purpose = Purpose::kFault, .round = round, .id = client.value});
  // Every draw is made, whatever the shares are, so that raising one share does not reshuffle the others.
  fault.drop = stream.uniform() < options.drop;
  const bool straggles = stream.uniform() < options.straggle;
  const double share = stream.uniform();
  if (straggles) fault.straggle = share;
  fault.nan = stream.uniform() < options.nan;
  return fault;
}

}  // namespace muster
