// ClientStates: what an algorithm remembers about each client between rounds (control variates, dynamic gradients,
// momentum). (client, slot) -> vector of floats; a client that never took part costs nothing. Past a memory limit the
// least recently used states move to an append-only log on disk; which ones do never changes a value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"

namespace muster {

struct ClientStateOptions {
  std::filesystem::path folder;  // of the log, created when first written to; empty: states stay in memory, no limit
  std::uint64_t memory_limit_bytes = std::uint64_t{512} << 20;
  std::uint64_t log_file_bytes = std::uint64_t{128} << 20;  // a log file that has reached this size gets a successor
};

// Thread-safe. One instance owns the folder at a time.
//
// The log survives a kill at any moment: a file is never changed once written, records carry their length and a
// checksum, and a file goes away only when neither the states held now nor the last three manifests need it. Three,
// because the newest is not yet in a durable checkpoint when save() returns it: call save() again only after the
// checkpoint with the manifest before is written.
class ClientStates {
 public:
  explicit ClientStates(const ClientStateOptions& options);
  ~ClientStates();
  ClientStates(const ClientStates&) = delete;
  ClientStates& operator=(const ClientStates&) = delete;

  // Copies the state into `out` and returns true. Returns false and leaves `out` alone if none is stored.
  // Fails if the stored size differs from out.size(), or if the record on disk cannot be read or is corrupt (`out` is
  // then unspecified).
  [[nodiscard]] Result<bool> get(ClientId client, std::uint8_t slot, std::span<float> out);

  // Stores or replaces. Fails if the memory limit forces a write to disk and that fails; the state then stays in
  // memory.
  [[nodiscard]] Status put(ClientId client, std::uint8_t slot, std::span<const float> values);

  // How many values are stored; nothing if no state is.
  [[nodiscard]] std::optional<std::size_t> size_of(ClientId client, std::uint8_t slot) const;
  // Forgets the state, if one is stored.
  void forget(ClientId client, std::uint8_t slot);

  [[nodiscard]] std::size_t size() const;             // states stored, in memory or on disk
  [[nodiscard]] std::uint64_t memory_bytes() const;   // values held in memory
  [[nodiscard]] std::uint64_t spilled_bytes() const;  // values held on disk only

  // Makes every state durable and returns what restore() needs to find them. With a folder the manifest is an index
  // into the log (24 bytes per state), without one it carries the values.
  [[nodiscard]] Result<std::string> save();

  // Replaces all states by those of the manifest, having verified each record's checksum. On failure, which names the
  // file and what is wrong with it, the states are as they were. What was appended to the log after the manifest is
  // ignored; nothing on disk is changed.
  [[nodiscard]] Status restore(std::string_view manifest);

 private:
  class Store;
  std::unique_ptr<Store> store_;
};

}  // namespace muster
