// Identity: who a process of a deployment is, as its certificate says. A certificate carries it as URIs among its
// alternative names: exactly one "muster:ROLE:NAME", and for a process that stands for clients of a simulated partition
// "muster:clients:0-49,60" besides. What makes a certificate trustworthy is decided in trust_store.h.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster {

enum class Role { kCloud, kEdge, kClient };

// "cloud", "edge", "client".
[[nodiscard]] std::string_view role_name(Role role);
[[nodiscard]] Result<Role> parse_role(std::string_view text);

// Clients of a simulated partition, by number; both ends are in it.
struct ClientRange {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  bool operator==(const ClientRange&) const = default;
};

// "0-49,60": ascending, without overlap, at most kMostRanges. And back.
inline constexpr std::size_t kMostRanges = 1000;
[[nodiscard]] Result<std::vector<ClientRange>> parse_client_ranges(std::string_view text);
[[nodiscard]] std::string to_string(const std::vector<ClientRange>& ranges);

struct Identity {
  Role role = Role::kClient;
  std::string name;
  std::vector<ClientRange> clients = {};  // empty: it stands for itself alone
  std::string serial = {};                // of its certificate, in upper-case hexadecimal
  std::chrono::sys_seconds not_after = {};

  // Whether it may speak for this client of a simulated partition.
  [[nodiscard]] bool stands_for(std::uint32_t client) const;
  // "client site-3", for messages.
  [[nodiscard]] std::string shown() const;
};

// Of processes and authorities: 1 to 64 of A-Z a-z 0-9 . _ -, beginning with a letter or a digit, so that a name is
// also a file name and can be shown as it is.
[[nodiscard]] Status check_name(std::string_view name);

// The URIs that say who somebody is, and what they say. Reading leaves serial and not_after empty; URIs of others than
// Muster are passed over.
[[nodiscard]] std::vector<std::string> identity_uris(const Identity& identity);
[[nodiscard]] Result<Identity> identity_from_uris(const std::vector<std::string>& uris);

}  // namespace muster
