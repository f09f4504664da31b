#include "train/update_check.h"

#include <algorithm>
#include <cmath>

#include "base/finite.h"

namespace muster {

std::optional<DropReason> fault_of(const GroupUpdate& update, GroupId group, std::span<const ClientId> members,
                                   const Roster& roster, const Network& network, bool own_models) {
  if (update.group != group || update.members.size() + update.dropped.size() != members.size()) {
    return DropReason::kMalformed;
  }
  // Reports may come in the order of a chain, so the ids are compared as sets.
  std::vector<ClientId> told;
  std::uint64_t samples = 0;
  for (const MemberReport& report : update.members) {
    told.push_back(report.client);
    samples += report.samples;
  }
  for (const Dropped& dropped : update.dropped) told.push_back(dropped.client);
  std::ranges::sort(told);
  std::vector<ClientId> asked(members.begin(), members.end());
  std::ranges::sort(asked);
  if (told != asked) return DropReason::kMalformed;
  for (const MemberReport& report : update.members) {
    const bool known = roster.hides_samples() ? report.samples > 0 && roster.train_samples(report.client) > 0
                                              : report.samples == roster.train_samples(report.client);
    if (!known || report.visits == 0) return DropReason::kMalformed;
  }
  for (std::size_t i = 0; i < update.secure.lost.size(); ++i) {
    const LostMember& lost = update.secure.lost[i];
    const auto same = [&](const LostMember& other) { return other.client == lost.client; };
    const auto before = update.secure.lost.begin() + static_cast<std::ptrdiff_t>(i);
    if (lost.phase >= SumPhase::kDone || !std::ranges::binary_search(asked, lost.client) ||
        std::any_of(update.secure.lost.begin(), before, same)) {
      return DropReason::kMalformed;
    }
  }
  if (update.secure.abandoned > update.secure.sums) return DropReason::kMalformed;
  if (update.members.empty()) return std::nullopt;
  const std::size_t payload = update.payload.size();
  if (samples != update.samples || update.model.size() != (own_models ? 0 : network.size()) ||
      (payload != 0 && payload != network.parameters())) {
    return DropReason::kMalformed;
  }
  const auto broken = [](const MemberReport& report) {
    return !std::isfinite(report.loss) || (report.loss_after && !std::isfinite(*report.loss_after));
  };
  if (!all_finite(update.model) || !all_finite(update.payload) || std::ranges::any_of(update.members, broken)) {
    return DropReason::kNonFinite;
  }
  return std::nullopt;
}

void drop_all(GroupId group, std::span<const ClientId> members, DropReason reason, GroupUpdate& update) {
  update.group = group;
  update.samples = 0;
  update.members.clear();
  update.dropped.clear();
  update.payload.clear();
  for (const ClientId client : members) update.dropped.push_back({client, reason});
}

}  // namespace muster
