#include "engine/merge_watch.h"

#include <algorithm>

namespace muster {
namespace {

constexpr char kSection[] = "filtered";

}  // namespace

void MergeWatch::prepare(RoundTasks&) {
  inside_ = {};
  sent_.clear();
}

void MergeWatch::group(const GroupUpdate& update) {
  if (update.members.empty()) return;
  if (update.fell_back) inside_.fell_back.emplace_back(update.group);
  auto& [group, members] = sent_.emplace_back(update.group, std::vector<ClientId>{});
  for (const MemberReport& member : update.members) {
    members.push_back(member.client);
    inside_.clipped += member.times_clipped > 0 ? 1 : 0;
    if (member.times_filtered == 0) continue;
    inside_.filtered.push_back(
        {.client = member.client, .group = group, .reason = member.filtered, .visits = member.times_filtered});
  }
}

void MergeWatch::end(const Models& models, RoundRecord& record) {
  std::vector<std::uint32_t> left_out;
  for (const FilteredRecord& filtered : inside_.filtered) left_out.push_back(filtered.client->value);
  if (const MergeReport* const across = models.report()) {
    for (const MergeReport::Filtered& filtered : across->filtered) {
      const auto& [group, members] = sent_[filtered.place];
      // A group of one is its client.
      FilteredRecord entry{.group = group, .reason = filtered.reason};
      if (members.size() == 1) entry = {.client = members.front(), .reason = filtered.reason};
      inside_.filtered.push_back(entry);
      for (const ClientId member : members) left_out.push_back(member.value);
    }
    inside_.clipped += static_cast<std::uint32_t>(across->clipped.size());
    if (across->fell_back) inside_.fell_back.emplace_back();
  }
  std::ranges::sort(left_out);
  left_out.erase(std::unique(left_out.begin(), left_out.end()), left_out.end());
  for (const std::uint32_t client : left_out) filtered_times_.add(client);
  record.merge = std::move(inside_);
}

void MergeWatch::save(Checkpoint& checkpoint) const {
  std::vector<double> packed;  // client and times, of those that were ever left out
  for (std::uint32_t k = 0; k < filtered_times_.size(); ++k) {
    if (filtered_times_[k] == 0) continue;
    packed.push_back(k);
    packed.push_back(filtered_times_[k]);
  }
  checkpoint.put_doubles(kSection, packed);
}

Status MergeWatch::restore(const Checkpoint& checkpoint) {
  MUSTER_ASSIGN(const std::vector<double> packed, checkpoint.get_doubles(kSection));
  CompactCounts times(filtered_times_.size());
  const auto whole = [](double value, double most) {
    return value >= 0 && value <= most && value == static_cast<double>(static_cast<std::uint64_t>(value));
  };
  const auto broken = [&] {
    return failure("checkpoint of round {} holds counts of filtered clients of another form", checkpoint.round);
  };
  if (packed.size() % 2 != 0) return broken();
  for (std::size_t at = 0; at < packed.size(); at += 2) {
    if (!whole(packed[at], filtered_times_.size() - 1.0) || !whole(packed[at + 1], checkpoint.round)) return broken();
    times.set(static_cast<std::uint32_t>(packed[at]), static_cast<std::uint32_t>(packed[at + 1]));
  }
  filtered_times_ = std::move(times);
  return {};
}

}  // namespace muster
