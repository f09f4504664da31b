// TrustStore: whom a process believes. A peer's certificate, the authority's own (ca.crt) and its list of revoked ones
// (ca.crl) -> the peer's Identity, or one line that says why it is refused.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "pki/calendar.h"
#include "pki/identity.h"

namespace muster {

// Its functions may be called from several threads at once.
class TrustStore {
 public:
  // Reads ca.crt and ca.crl of the folder; fails if either is missing or broken, or the list is another authority's.
  [[nodiscard]] static Result<TrustStore> load(const std::filesystem::path& folder);
  ~TrustStore();
  TrustStore(TrustStore&& other) noexcept;
  TrustStore& operator=(TrustStore&& other) noexcept;

  // Reads ca.crl again if the file changed since it was last looked at; whether it did. A list that is gone, broken,
  // foreign or older than the present one is an error, told once, and the present one stays in force.
  [[nodiscard]] Result<bool> reload_if_changed();

  // Whether somebody who was verified before may go on: not expired, not revoked meanwhile.
  [[nodiscard]] Status check_still_valid(const Identity& identity, sys_seconds now) const;

 private:
  friend Result<Identity> verify_peer(std::string_view pem, const TrustStore& trust, sys_seconds now);
  struct State;
  explicit TrustStore(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Who a peer is, if its certificate (PEM or DER) names one role, was signed by the authority for that role's use, is
// valid now and was not revoked.
[[nodiscard]] Result<Identity> verify_peer(std::string_view pem, const TrustStore& trust, sys_seconds now);

// Fails with "certificate of client site-3 is of the wrong role, want cloud or edge" unless the peer has one of these.
[[nodiscard]] Status check_role(const Identity& identity, std::span<const Role> accepted);

}  // namespace muster
