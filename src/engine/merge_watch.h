// MergeWatch: whom rules that see all models left out, shortened, or could not judge, in their groups and across them,
// for the record and for each client's tally.
#pragma once

#include <utility>

#include "base/compact_counts.h"
#include "engine/round_observer.h"

namespace muster {

class MergeWatch final : public RoundObserver {
 public:
  explicit MergeWatch(std::uint32_t clients) : filtered_times_(clients) {}

  void prepare(RoundTasks&) override;
  void group(const GroupUpdate& update) override;
  void end(const Models& models, RoundRecord& record) override;

  // In how many rounds the client, or its group, was left out.
  [[nodiscard]] std::uint32_t filtered(ClientId client) const { return filtered_times_[client.value]; }

  void save(Checkpoint& checkpoint) const override;
  [[nodiscard]] Status restore(const Checkpoint& checkpoint) override;

 private:
  CompactCounts filtered_times_;
  // Of this round: what groups did, and whose members each is that sent something, in the order of the groups.
  MergeRecord inside_;
  std::vector<std::pair<GroupId, std::vector<ClientId>>> sent_;
};

}  // namespace muster
