// Authority: a folder that certificates come from. It holds ca.key and ca.crt, the index of what was issued
// (index.json), the list of what was revoked (ca.crl), and a folder per process that certificates were issued to.
// Everything is written whole or not at all and in such an order that a kill at any moment leaves nothing that cannot
// be revoked.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pki/issued_index.h"
#include "pki/signing.h"

namespace muster {

inline constexpr std::uint32_t kAuthorityDays = 3650;
inline constexpr std::uint32_t kCertificateDays = 365;

struct AuthorityOptions {
  std::string name = "muster";
  std::uint32_t days = kAuthorityDays;
  KeyKind key = KeyKind::kP256;
};

// Fails if the folder exists and is not empty.
[[nodiscard]] Status make_authority(const std::filesystem::path& folder, const AuthorityOptions& options,
                                    sys_seconds now);

struct IssueRequest {
  Role role = Role::kClient;
  std::string name;
  std::vector<ClientRange> clients = {};  // only of a client that stands for these
  std::vector<std::string> hosts = {};    // only of cloud and edge; none: this machine
  std::optional<std::uint32_t> days =
      {};                          // not beyond the authority's own; by default kCertificateDays or what is left
  std::filesystem::path out = {};  // folder to make; by default FOLDER/ROLE-NAME
  bool renew = false;              // although the name has a valid certificate already
};

struct IssuedBundle {
  IssuedCertificate certificate;
  std::filesystem::path folder;  // with ca.crt, ca.crl, own.crt and own.key: all that a process needs
};

class Authority {
 public:
  // Locks the folder: another process that opens it waits, and fails after `patience`.
  [[nodiscard]] static Result<Authority> open(const std::filesystem::path& folder, sys_seconds now,
                                              std::chrono::milliseconds patience = std::chrono::seconds(30));
  ~Authority();
  Authority(Authority&& other) noexcept;
  Authority& operator=(Authority&& other) noexcept;

  [[nodiscard]] Result<IssuedBundle> issue(const IssueRequest& request, sys_seconds now);
  // Every certificate of this name, or the one of this serial number, that is not revoked yet. The new list is written
  // here and to the folders of processes below here.
  [[nodiscard]] Result<std::vector<IssuedCertificate>> revoke(const std::string& name_or_serial, sys_seconds now);

 private:
  struct State;
  explicit Authority(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

struct AuthorityListing {
  std::string name;
  KeyKind key = KeyKind::kP256;
  sys_seconds not_after = {};
  std::vector<IssuedCertificate> certificates;
};

// Needs no lock, nor the key.
[[nodiscard]] Result<AuthorityListing> list_issued(const std::filesystem::path& folder);

}  // namespace muster
