// StateVersions: what a client remembers from round to round, kept by the client itself, on its own disk. Whoever asks
// it to train says which version it goes on from, by the visit that made it, and which others a resumed run may go back
// to; all others before it are deleted. So a run that goes back to a checkpoint, or does not use what a client sent, needs no
// further word for the client to go back too.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "clients/client_state.h"

namespace muster {

// The visit that made a state: {0, 0} is the beginning, when there is none.
struct StateVersion {
  std::uint32_t round = 0;
  std::uint32_t part = 0;
  auto operator<=>(const StateVersion&) const = default;
};

struct Memory {
  StateVersion basis;              // what the client goes on from
  std::vector<StateVersion> keep;  // what may be gone back to
};

// One client's calls come one at a time; different clients' may come together.
class StateVersions {
 public:
  // `states` is borrowed and holds the current version of each client. Files are in `folder`, made when first needed;
  // an empty path keeps all versions in memory.
  StateVersions(ClientStates& states, std::span<const std::uint8_t> slots, std::filesystem::path folder);

  // Makes `version` the client's current one. Fails if it is not there, or its file is damaged.
  [[nodiscard]] Status recall(ClientId client, StateVersion version);
  // Deletes those before the memory's basis that are not to be kept. Later ones stay: an ask that was held up on a
  // broken line knows nothing of what has been asked since.
  void prune(ClientId client, const Memory& memory);
  // What the client holds now is `version`; it is on disk when this returns. False: the client remembers nothing.
  [[nodiscard]] Result<bool> keep(ClientId client, StateVersion version);
  // What the client holds is no version: the next recall() loads one.
  void spoil(ClientId client);

 private:
  [[nodiscard]] std::filesystem::path path_of(ClientId client, StateVersion version) const;
  [[nodiscard]] Result<std::string> packed(ClientId client) const;
  [[nodiscard]] Status unpack(ClientId client, std::string_view bytes, const std::string& from);
  [[nodiscard]] Status load(ClientId client, StateVersion version);
  void remove(ClientId client, StateVersion version);
  void forget(ClientId client);
  [[nodiscard]] std::vector<StateVersion> stored(ClientId client) const;

  ClientStates& states_;
  std::vector<std::uint8_t> slots_;
  std::filesystem::path folder_;
  mutable std::mutex mutex_;                                                // of the two below
  std::map<std::uint32_t, StateVersion> current_;                           // of each client whose states are one
  std::map<std::uint32_t, std::map<StateVersion, std::string>> in_memory_;  // where there is no folder
};

}  // namespace muster
