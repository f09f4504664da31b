#include "secure/member_identity.h"

#include "secure/key_source.h"

namespace muster {
namespace {

constexpr std::size_t kSimulatedBytes = kCountedSignatureBytes;  // those of an Ed25519 signature

}  // namespace

SimulatedSigner::SimulatedSigner(std::uint64_t seed, ClientId client)
    : key_(SeededKeys({.seed = seed, .client = client.value}).key()) {}

Result<std::string> SimulatedSigner::sign(std::string_view message) const {
  std::string signature(kSimulatedBytes, '\0');
  crypto_generichash(reinterpret_cast<std::uint8_t*>(signature.data()), signature.size(),
                     reinterpret_cast<const std::uint8_t*>(message.data()), message.size(), key_.data(), key_.size());
  return signature;
}

Status SimulatedVerifier::verify(const MemberName& member, std::string_view credential, std::string_view message,
                                 std::string_view signature) const {
  MUSTER_ASSIGN(const std::string own, SimulatedSigner(seed_, member.client).sign(message));
  if (credential.empty() && signature == own) return {};
  return failure("a signature that is not client {}'s", member.client.value);
}

}  // namespace muster
