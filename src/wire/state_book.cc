#include "wire/state_book.h"

#include <algorithm>
#include <cstring>

namespace muster {
namespace {

constexpr std::size_t kSaves = 3;  // checkpoints that are kept, and so may be resumed from

struct Entry {
  std::uint32_t client = 0;
  std::uint32_t round = 0;
  std::uint32_t part = 0;
};

}  // namespace

void StateBook::begin(ClientId client, const Memory& memory) {
  const std::lock_guard lock(mutex_);
  if (memory.basis != StateVersion{}) current_[client.value] = memory.basis;
  // The basis itself may be gone back to, until the whole group has been answered for.
  kept_[client.value] = memory.keep;
  kept_[client.value].push_back(memory.basis);
}

Memory StateBook::memory_of(ClientId client) const {
  const std::lock_guard lock(mutex_);
  Memory memory;
  if (const auto known = current_.find(client.value); known != current_.end()) memory.basis = known->second;
  if (const auto known = kept_.find(client.value); known != kept_.end()) memory.keep = known->second;
  for (const Versions& versions : saved_) {
    const auto known = versions.find(client.value);
    if (known == versions.end() || known->second == memory.basis) continue;
    if (std::ranges::find(memory.keep, known->second) == memory.keep.end()) memory.keep.push_back(known->second);
  }
  return memory;
}

void StateBook::used(ClientId client, StateVersion version) {
  const std::lock_guard lock(mutex_);
  current_[client.value] = version;
}

std::string StateBook::save() {
  const std::lock_guard lock(mutex_);
  saved_.push_back(current_);
  if (saved_.size() > kSaves) saved_.pop_front();
  std::string out;
  for (const auto& [client, version] : current_) {
    const Entry entry{client, version.round, version.part};
    out.append(reinterpret_cast<const char*>(&entry), sizeof entry);
  }
  return out;
}

Status StateBook::restore(std::string_view saved, std::uint32_t clients) {
  if (saved.size() % sizeof(Entry) != 0) return failure("the clients' states are not whole");
  Versions versions;
  for (std::size_t at = 0; at < saved.size(); at += sizeof(Entry)) {
    Entry entry;
    std::memcpy(&entry, saved.data() + at, sizeof entry);
    if (entry.client >= clients || entry.round == 0)
      return failure("the states of client {} are not known", entry.client);
    versions[entry.client] = {entry.round, entry.part};
  }
  const std::lock_guard lock(mutex_);
  current_ = versions;
  saved_ = {std::move(versions)};
  return {};
}

}  // namespace muster
