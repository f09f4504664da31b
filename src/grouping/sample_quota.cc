#include "grouping/sample_quota.h"

#include <algorithm>

namespace muster {
namespace {

struct Open {
  std::vector<std::uint32_t> members;
  std::uint64_t samples = 0;
};

std::uint64_t room_in(const std::vector<Open>& groups, const SampleQuota& quota) {
  std::uint64_t room = 0;
  for (const Open& group : groups) {
    if (group.members.size() < quota.max_clients) room += quota.max_clients - group.members.size();
  }
  return room;
}

// Deals clients that did not fill a group of their own out to the others. Precondition: there is room.
void deal(std::vector<Open>& groups, const std::vector<std::uint32_t>& clients, const SampleQuota& quota) {
  std::vector<Open*> turn;
  for (Open& group : groups) {
    if (group.members.size() < quota.max_clients) turn.push_back(&group);
  }
  std::ranges::stable_sort(turn, {}, [](const Open* group) { return group->samples; });
  for (std::size_t dealt = 0, at = 0; dealt < clients.size(); ++at) {
    std::vector<std::uint32_t>& members = turn[at % turn.size()]->members;
    if (members.size() < quota.max_clients) members.push_back(clients[dealt++]);
  }
}

}  // namespace

Result<SampleQuota> chosen_quota(const GroupingOptions& options) {
  SampleQuota quota;
  MUSTER_ASSIGN(quota.min_samples, chosen_number("min-samples", options.min_samples));
  MUSTER_ASSIGN(quota.max_clients, chosen_number("max-clients", options.max_clients));
  return quota;
}

Draft fill_groups(const SampleQuota& quota, std::span<const std::uint32_t> samples, const NextClient& next) {
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
  if (const std::uint64_t room = room_in(groups, quota); room >= open.members.size()) {
    deal(groups, open.members, quota);
  } else {
    draft.notes.push_back(fmt::format(
        "left over: {} clients with {} samples, fewer than grouping.min-samples = {}; the other groups have "
        "room for {} (grouping.max-clients = {}), so these are a group of their own",
        open.members.size(), open.samples, quota.min_samples, room, quota.max_clients));
    groups.push_back(std::move(open));
  }
  for (Open& group : groups) draft.groups.push_back(std::move(group.members));
  return draft;
}

}  // namespace muster
