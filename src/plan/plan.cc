#include "plan/plan.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/names.h"
#include "base/random.h"

namespace muster {

std::uint32_t Amount::of(std::uint32_t population) const {
  if (const auto* count = std::get_if<std::uint32_t>(&value)) return std::min(*count, population);
  const double wanted = std::floor(std::get<double>(value) * population + 0.5);
  // Bounded as a double: the integer may not exist. Not a number counts as none.
  const std::uint32_t least = population > 0 ? 1 : 0;
  return wanted > least ? static_cast<std::uint32_t>(std::min<double>(wanted, population)) : least;
}

Status check_plan(const PlanOptions& options) {
  if (options.groups) {
    if (Status status = check_schedule(*options.groups); !status)
      return std::move(status).error().within("plan.groups");
  }
  MUSTER_TRY(check_regroup(options.regroup));
  std::vector<std::string> names;
  for (const CatalogueEntry& entry : samplers()) names.push_back(entry.name);
  if (std::find(names.begin(), names.end(), options.sampling) == names.end()) {
    return Error{ErrorCode::kUsage, "plan.sampling: " + unknown_name("sampler", options.sampling, names)};
  }
  const bool some_clients = options.sample_clients != Amount{1.0};
  if (options.sample_groups && some_clients) {
    return usage_error(
        "plan.sample-groups: does not go with plan.sample-clients, because a round draws either groups or clients; "
        "remove one");
  }
  if (samples_by_cov(options.sampling) && !options.sample_groups) {
    return usage_error("plan.sampling: \"{}\" draws groups; set plan.sample-groups", options.sampling);
  }
  if (options.sampling == "all" && (options.sample_groups || some_clients)) {
    return usage_error("plan.sampling: \"all\" leaves nobody out; remove plan.{}",
                       some_clients ? "sample-clients" : "sample-groups");
  }
  return {};
}

RoundPlan plan_for_clients(std::span<const ClientId> clients, const Grouping& grouping, std::uint32_t round) {
  RoundPlan plan{.round = round};
  std::vector<ClientId> part;
  for (std::uint32_t g = 0; g < grouping.count(); ++g) {
    part.clear();
    for (const ClientId client : grouping.members(GroupId{g})) {
      if (std::binary_search(clients.begin(), clients.end(), client)) part.push_back(client);
    }
    if (part.empty()) continue;
    std::sort(part.begin(), part.end());
    plan.groups.push_back(GroupId{g});
    plan.parts.add(part);
  }
  return plan;
}

RoundPlan over_select(const RoundPlan& plan, const Grouping& grouping, double factor, std::uint64_t seed) {
  // `others`: who was not drawn, of whom some are asked besides. Returns those.
  const auto besides = [&](std::size_t drawn, const auto& others, std::uint32_t id) {
    const double more = std::ceil(factor * static_cast<double>(drawn) - 1e-9) - static_cast<double>(drawn);
    const auto most = static_cast<std::uint32_t>(others.size());
    const auto count = static_cast<std::uint32_t>(std::clamp<double>(more, 0, most));
    Stream stream({.seed = seed, .purpose = Purpose::kSampling, .round = plan.round, .id = id, .part = 1});
    std::remove_cvref_t<decltype(others)> chosen;
    for (const std::uint32_t index : stream.sample(most, count)) chosen.push_back(others[index]);
    return chosen;
  };
  RoundPlan wider{.round = plan.round};
  if (grouping.all_alone()) {
    std::vector<GroupId> others;
    for (std::uint32_t g = 0; g < grouping.count(); ++g) {
      if (!std::binary_search(plan.groups.begin(), plan.groups.end(), GroupId{g})) others.push_back(GroupId{g});
    }
    wider.groups = besides(plan.groups.size(), others, 0);
    if (!wider.groups.empty()) wider.enough_groups = static_cast<std::uint32_t>(plan.groups.size());
    wider.groups.insert(wider.groups.end(), plan.groups.begin(), plan.groups.end());
    std::sort(wider.groups.begin(), wider.groups.end());
    return wider;
  }
  wider.groups = plan.groups;
  for (std::size_t i = 0; i < plan.groups.size(); ++i) {
    const std::span<const ClientId> drawn = plan.members(i, grouping);
    std::vector<ClientId> members(drawn.begin(), drawn.end());
    std::sort(members.begin(), members.end());
    std::vector<ClientId> others;
    for (const ClientId client : grouping.members(plan.groups[i])) {
      if (!std::binary_search(members.begin(), members.end(), client)) others.push_back(client);
    }
    const std::vector<ClientId> more = besides(drawn.size(), others, plan.groups[i].value + 1);
    members.insert(members.end(), more.begin(), more.end());
    std::sort(members.begin(), members.end());
    wider.parts.add(members);
    wider.enough.push_back(more.empty() ? 0 : static_cast<std::uint32_t>(drawn.size()));
  }
  return wider;
}

RoundPlan plan_round(const PlanOptions& options, const Grouping& grouping, std::uint64_t seed, std::uint32_t round,
                     std::span<const double> cov) {
  Stream stream({.seed = seed, .purpose = Purpose::kSampling, .round = round});
  const std::uint32_t groups = grouping.count();
  std::vector<std::uint32_t> drawn;
  std::vector<double> log_weights;  // of all groups, where groups are drawn
  if (options.sampling == "all") {
    drawn = stream.sample(groups, groups);
  } else if (samples_by_cov(options.sampling)) {
    MUSTER_CHECK(cov.size() == groups, "{} coefficients of variation for {} groups", cov.size(), groups);
    log_weights = log_sampling_weights(options.sampling, cov);
    drawn = sample_by_weight(log_weights, options.sample_groups->of(groups), stream);
  } else if (options.sample_groups) {
    log_weights.assign(groups, 0.0);
    drawn = stream.sample(groups, options.sample_groups->of(groups));
  } else {
    const std::uint32_t population = grouping.clients();
    drawn = stream.sample(population, options.sample_clients.of(population));
    if (!grouping.all_alone()) {  // else what is drawn is at once a client and a group
      // In the order of ids, so that the same clients are drawn however they are grouped.
      std::vector<ClientId> clients;
      clients.reserve(population);
      for (std::uint32_t g = 0; g < groups; ++g) {
        const std::span<const ClientId> members = grouping.members(GroupId{g});
        clients.insert(clients.end(), members.begin(), members.end());
      }
      std::sort(clients.begin(), clients.end());
      std::vector<ClientId> chosen;
      chosen.reserve(drawn.size());
      for (const std::uint32_t index : drawn) chosen.push_back(clients[index]);
      return plan_for_clients(chosen, grouping, round);
    }
  }
  RoundPlan plan{.round = round};
  for (const std::uint32_t group : drawn) plan.groups.push_back(GroupId{group});
  if (options.sample_groups) {
    const std::vector<double> log_probabilities = log_sampling_probabilities(log_weights);
    for (const std::uint32_t group : drawn) plan.log_probabilities.push_back(log_probabilities[group]);
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
