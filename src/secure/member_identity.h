// Who a member of a secure sum is, for the other members: they believe a signature, not the server. In a deployment it
// is made with the key of the client's certificate; in a simulation all clients are in one process, and a keyed hash
// that every one of them could make stands for it.
#pragma once

#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"
#include "secure/secret_bytes.h"

namespace muster {

inline constexpr std::size_t kMostSignatureBytes = 512;
inline constexpr std::size_t kMostCredentialBytes = 16384;
// What records count of a signature, however long it is: runs have one record wherever they run.
inline constexpr std::size_t kCountedSignatureBytes = 64;

// Whom a credential must speak for.
struct MemberName {
  ClientId client;
  std::string_view name = {};  // of one with data of its own; "": it is known by its number
};

class MemberSigner {
 public:
  virtual ~MemberSigner() = default;
  [[nodiscard]] virtual Result<std::string> sign(std::string_view message) const = 0;
  // What others verify a signature with: a certificate. Travels with the member's keys.
  [[nodiscard]] virtual std::string credential() const = 0;
};

// Thread-safe.
class MemberVerifier {
 public:
  virtual ~MemberVerifier() = default;
  // Fails unless this credential speaks for this member and made this signature.
  [[nodiscard]] virtual Status verify(const MemberName& member, std::string_view credential, std::string_view message,
                                      std::string_view signature) const = 0;
};

class SimulatedSigner final : public MemberSigner {
 public:
  SimulatedSigner(std::uint64_t seed, ClientId client);
  Result<std::string> sign(std::string_view message) const override;
  std::string credential() const override { return {}; }

 private:
  SecretKey key_;
};

class SimulatedVerifier final : public MemberVerifier {
 public:
  explicit SimulatedVerifier(std::uint64_t seed) : seed_(seed) {}
  Status verify(const MemberName& member, std::string_view credential, std::string_view message,
                std::string_view signature) const override;

 private:
  std::uint64_t seed_;
};

}  // namespace muster
