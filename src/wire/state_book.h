// StateBook: which of its states each client goes on from, for whoever hosts its group. A state counts from when the
// answer that told of it was used. What save() gave is what a resumed run goes back to, so clients are told to keep the
// states of the last few.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "clients/state_versions.h"

namespace muster {

// Thread-safe.
class StateBook {
 public:
  // Of a book that begins with what another one says.
  void begin(ClientId client, const Memory& memory);
  [[nodiscard]] Memory memory_of(ClientId client) const;
  void used(ClientId client, StateVersion version);

  // A run that is resumed goes back to one of the last three of these.
  [[nodiscard]] std::string save();
  // Fails, and leaves the book as it was, if it is not what save() gave or names a client that is not below `clients`.
  [[nodiscard]] Status restore(std::string_view saved, std::uint32_t clients);

 private:
  using Versions = std::map<std::uint32_t, StateVersion>;

  mutable std::mutex mutex_;
  Versions current_;
  std::map<std::uint32_t, std::vector<StateVersion>> kept_;  // as another book said
  std::deque<Versions> saved_;
};

}  // namespace muster
