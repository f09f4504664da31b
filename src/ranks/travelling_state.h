// What clients remember, on its way: rank 0 keeps it (and saves it), a unit of work takes copies of its clients' states
// along, and the answer brings back those that changed. So a client may train on any rank, and a checkpoint does not
// know how many there were.
#pragma once

#include <span>
#include <vector>

#include "clients/client_state.h"
#include "base/parcel.h"

namespace muster {

struct StateCopy {
  ClientId client;
  std::uint8_t slot = 0;
  std::vector<float> values;
};

// Copies of what the clients have in the slots; nothing for those that have nothing.
[[nodiscard]] Result<std::vector<StateCopy>> copies_of(ClientStates& states, std::span<const ClientId> clients,
                                                       std::span<const std::uint8_t> slots);
// Stores them.
[[nodiscard]] Status store_copies(ClientStates& states, std::span<const StateCopy> copies);
// What the clients have in the slots that differs from `before`, or was not there; `states` forgets all of it.
[[nodiscard]] Result<std::vector<StateCopy>> take_changed(ClientStates& states, std::span<const ClientId> clients,
                                                          std::span<const std::uint8_t> slots,
                                                          std::span<const StateCopy> before);

void put_copies(std::vector<StateCopy> copies, ParcelWriter& out);
// Fails, as the reader does, where a copy is of another client or has more than `most` values.
[[nodiscard]] std::vector<StateCopy> take_copies(ParcelReader& in, std::span<const ClientId> clients, std::size_t most);

}  // namespace muster
