#include "deploy/member_certificate.h"

#include <array>

#include "pki/certificate.h"
#include "pki/message_signature.h"
#include "pki/signing.h"

namespace muster {
namespace {

class CertificateSigner final : public MemberSigner {
 public:
  CertificateSigner(KeyHandle key, std::string certificate)
      : key_(std::move(key)), certificate_(std::move(certificate)) {}
  Result<std::string> sign(std::string_view message) const override { return sign_message(*key_, message); }
  std::string credential() const override { return certificate_; }

 private:
  KeyHandle key_;
  std::string certificate_;  // DER
};

class CertificateVerifier final : public MemberVerifier {
 public:
  explicit CertificateVerifier(std::shared_ptr<TrustStore> trust) : trust_(std::move(trust)) {}

  Status verify(const MemberName& member, std::string_view credential, std::string_view message,
                std::string_view signature) const override {
    (void)trust_->reload_if_changed();  // a list that is broken leaves the one before in force
    MUSTER_ASSIGN(const Identity identity, verify_peer(credential, *trust_, utc_now()));
    MUSTER_TRY(check_role(identity, std::array{Role::kClient}));
    const bool speaks = member.name.empty() ? identity.stands_for(member.client.value) : identity.name == member.name;
    if (!speaks)
      return failure("the certificate of {} does not speak for client {}", identity.shown(), member.client.value);
    MUSTER_ASSIGN(const CertificateHandle certificate, parse_certificate(credential));
    if (check_signature(*certificate, message, signature)) return {};
    return failure("a signature that is not client {}'s", member.client.value);
  }

 private:
  std::shared_ptr<TrustStore> trust_;
};

}  // namespace

std::shared_ptr<const MemberVerifier> make_member_verifier(const Security& security, std::uint64_t seed) {
  if (!security.trust) return std::make_shared<SimulatedVerifier>(seed);
  return std::make_shared<CertificateVerifier>(security.trust);
}

Result<SignerOf> make_member_signer(const Security& security, std::uint64_t seed) {
  if (!security.trust) {
    return SignerOf([seed](ClientId client) { return std::make_shared<SimulatedSigner>(seed, client); });
  }
  MUSTER_ASSIGN(KeyHandle key, parse_key(Secret(security.credentials.key)));
  MUSTER_ASSIGN(const CertificateHandle certificate, parse_certificate(security.credentials.certificate));
  MUSTER_ASSIGN(std::string der, to_der(*certificate));
  if (der.size() > kMostCredentialBytes) {
    return failure(
        "the certificate takes {} bytes, want at most {} for secure sums: let it stand for fewer ranges of clients",
        der.size(), kMostCredentialBytes);
  }
  const auto signer = std::make_shared<CertificateSigner>(std::move(key), std::move(der));
  return SignerOf([signer](ClientId) { return signer; });
}

}  // namespace muster
