#include "grouping/sample_quota.h"

#include <algorithm>

namespace muster {
namespace {

struct Open {
  std::vector<std::uint32_t> members;
  std::uint64_t samples = 0;
};

// Deals clients that did not fill a group of their own out to the others.
Status deal(std::vector<Open>& groups, const std::vector<std::uint32_t>& clients, const SampleQuota& quota) {
  std::vector<Open*> turn;
  std::uint64_t room = 0;
  for (Open& group : groups) {
    if (group.members.size() >= quota.max_clients) continue;
    turn.push_back(&group);
    room += quota.max_clients - group.members.size();
  }
  if (room < clients.size()) {
    return usage_error(
        "grouping.max-clients: {}, but the last {} clients have too few samples for a group of their own (min-samples "
        "= "
        "{}) and the other groups have room for {}; raise max-clients or lower min-samples",
        quota.max_clients, clients.size(), quota.min_samples, room);
  }
  std::ranges::stable_sort(turn, {}, [](const Open* group) { return group->samples; });
  for (std::size_t dealt = 0, at = 0; dealt < clients.size(); ++at) {
    std::vector<std::uint32_t>& members = turn[at % turn.size()]->members;
    if (members.size() < quota.max_clients) members.push_back(clients[dealt++]);
  }
  return {};
}

}  // namespace

Result<SampleQuota> chosen_quota(const GroupingOptions& options) {
  SampleQuota quota;
  MUSTER_ASSIGN(quota.min_samples, chosen_number("min-samples", options.min_samples, quota.min_samples));
  MUSTER_ASSIGN(quota.max_clients, chosen_number("max-clients", options.max_clients, quota.max_clients));
  return quota;
}

Result<Draft> fill_groups(const SampleQuota& quota, std::span<const std::uint32_t> samples, const NextClient& next) {
  std::vector<Open> groups;
  Open open;
  for (std::size_t placed = 0; placed < samples.size(); ++placed) {
    const std::uint32_t client = next(open.members);
    open.members.push_back(client);
    open.samples += samples[client];
    if (open.samples < quota.min_samples && open.members.size() < quota.max_clients) continue;
    groups.push_back(std::move(open));
    open = {};
  }
  Draft draft;
  if (groups.empty()) {
    draft.notes.push_back(
        samples.size() == 1
            ? fmt::format("grouping.min-samples: {}, but the only client has {} samples; lower it", quota.min_samples,
                          open.samples)
            : fmt::format("grouping.min-samples: {}, but all {} clients together have {} samples; lower it",
                          quota.min_samples, samples.size(), open.samples));
    return draft;
  }
  if (!open.members.empty()) MUSTER_TRY(deal(groups, open.members, quota));
  for (Open& group : groups) draft.groups.push_back(std::move(group.members));
  return draft;
}

}  // namespace muster
