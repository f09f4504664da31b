#include "engine/participation.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace muster {
namespace {

// The tallies of clients that were asked, as (client, trained, dropped): dormant ones cost a checkpoint nothing.
using TallyEntry = std::array<std::uint32_t, 3>;

}  // namespace

void Participation::prepare(RoundTasks&) {
  participants_ = 0;
  dropped_.clear();
  samples_trained_ = 0;
  loss_sum_ = 0;
  weight_ = 0;
}

void Participation::group(const GroupUpdate& update) {
  for (const MemberReport& member : update.members) {
    ++participants_;
    trained_.add(member.client.value);
    samples_trained_ += member.samples_trained;
    loss_sum_ += member.loss * member.samples;
    weight_ += member.samples;
  }
  dropped_.insert(dropped_.end(), update.dropped.begin(), update.dropped.end());
}

void Participation::end(const Models&, RoundRecord& record) {
  std::vector<ClientId> known;
  for (const Dropped& dropped : record.dropped) known.push_back(dropped.client);
  std::ranges::sort(known);
  for (const Dropped& dropped : dropped_) {
    if (!std::ranges::binary_search(known, dropped.client)) record.dropped.push_back(dropped);
  }
  for (const Dropped& dropped : record.dropped) dropped_times_.add(dropped.client.value);
  record.participants = participants_;
  if (weight_ > 0) record.train_loss = loss_sum_ / weight_;
}

std::vector<std::uint32_t> Participation::times_drawn() const {
  std::vector<std::uint32_t> times;
  for (std::uint32_t k = 0; k < trained_.size(); ++k) {
    const std::uint32_t drawn = trained_[k] + dropped_times_[k];
    if (drawn == 0) continue;
    times.resize(trained_.size());
    times[k] = drawn;
  }
  return times;
}

void Participation::save(Checkpoint& checkpoint) const {
  std::string packed;
  for (std::uint32_t k = 0; k < trained_.size(); ++k) {
    const TallyEntry entry{k, trained_[k], dropped_times_[k]};
    if (entry[1] == 0 && entry[2] == 0) continue;
    packed.append(reinterpret_cast<const char*>(entry.data()), sizeof entry);
  }
  checkpoint.put_uint64("clients", trained_.size());
  checkpoint.put_string("tallies", std::move(packed));
}

Status Participation::restore(const Checkpoint& checkpoint) {
  MUSTER_ASSIGN(const std::uint64_t clients, checkpoint.get_uint64("clients"));
  if (clients != trained_.size()) {
    return failure("checkpoint of round {} holds {} clients, the recipe has {}", checkpoint.round, clients,
                   trained_.size());
  }
  MUSTER_ASSIGN(const std::string packed, checkpoint.get_string("tallies"));
  const auto broken = [&] { return failure("checkpoint of round {} holds tallies of another form", checkpoint.round); };
  if (packed.size() % sizeof(TallyEntry) != 0) return broken();
  CompactCounts trained_times(trained_.size());
  CompactCounts dropped_times(trained_.size());
  for (std::size_t at = 0; at < packed.size(); at += sizeof(TallyEntry)) {
    TallyEntry entry;
    std::memcpy(entry.data(), packed.data() + at, sizeof entry);
    const auto [client, trained, dropped] = entry;
    if (client >= trained_.size()) return broken();
    trained_times.set(client, trained);
    dropped_times.set(client, dropped);
  }
  trained_ = std::move(trained_times);
  dropped_times_ = std::move(dropped_times);
  return {};
}

}  // namespace muster
