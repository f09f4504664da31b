#include "ranks/travelling_state.h"

#include <algorithm>
#include <cstring>

namespace muster {
namespace {

constexpr std::size_t kHeadBytes = 5;  // of a copy: client and slot

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

}  // namespace

Result<std::vector<StateCopy>> copies_of(ClientStates& states, std::span<const ClientId> clients,
                                         std::span<const std::uint8_t> slots) {
  std::vector<StateCopy> copies;
  if (states.size() == 0) return copies;
  for (const ClientId client : clients) {
    for (const std::uint8_t slot : slots) {
      const std::optional<std::size_t> size = states.size_of(client, slot);
      if (!size) continue;
      StateCopy copy{.client = client, .slot = slot, .values = std::vector<float>(*size)};
      MUSTER_ASSIGN(const bool present, states.get(client, slot, copy.values));
      if (present) copies.push_back(std::move(copy));
    }
  }
  return copies;
}

Status store_copies(ClientStates& states, std::span<const StateCopy> copies) {
  for (const StateCopy& copy : copies) MUSTER_TRY(states.put(copy.client, copy.slot, copy.values));
  return {};
}

Result<std::vector<StateCopy>> take_changed(ClientStates& states, std::span<const ClientId> clients,
                                            std::span<const std::uint8_t> slots, std::span<const StateCopy> before) {
  MUSTER_ASSIGN(std::vector<StateCopy> after, copies_of(states, clients, slots));
  for (const StateCopy& copy : after) states.forget(copy.client, copy.slot);
  std::erase_if(after, [&](const StateCopy& copy) {
    const auto old = std::ranges::find_if(
        before, [&](const StateCopy& known) { return known.client == copy.client && known.slot == copy.slot; });
    return old != before.end() && same_bits(old->values, copy.values);
  });
  return after;
}

void put_copies(std::vector<StateCopy> copies, ParcelWriter& out) {
  out.put(std::uint64_t{copies.size()});
  for (StateCopy& copy : copies) {
    out.put(copy.client);
    out.put(copy.slot);
    out.put_block(std::move(copy.values));
  }
}

std::vector<StateCopy> take_copies(ParcelReader& in, std::span<const ClientId> clients, std::size_t most) {
  std::vector<StateCopy> copies(in.take_count(kHeadBytes));
  for (StateCopy& copy : copies) {
    copy.client = in.take<ClientId>();
    copy.slot = in.take<std::uint8_t>();
    copy.values = in.take_block(most);
    if (std::ranges::find(clients, copy.client) == clients.end()) in.fail();
  }
  return copies;
}

}  // namespace muster
