#include "pki/credentials.h"

#include "pki/certificate.h"
#include "pki/signing.h"
#include "pki/trust_store.h"

namespace muster {
Result<Credentials> Credentials::load(const std::filesystem::path& folder, sys_seconds now) {
  const ErrorQueueMark mark;
  const std::string certificate_path = (folder / "own.crt").string();
  const std::string key_path = (folder / "own.key").string();
  Credentials credentials;
  MUSTER_ASSIGN(const CertificateHandle authority, read_certificate(folder / "ca.crt"));
  MUSTER_ASSIGN(credentials.authority, to_pem(*authority));
  MUSTER_ASSIGN(const CertificateHandle certificate, read_certificate(certificate_path));
  MUSTER_ASSIGN(credentials.certificate, to_pem(*certificate));
  MUSTER_ASSIGN(credentials.key, read_secret(key_path));

  MUSTER_ASSIGN(const TrustStore trust, TrustStore::load(folder));
  Result<Identity> identity = verify_peer(credentials.certificate, trust, now);
  if (!identity) return std::move(identity).error().within(certificate_path);
  credentials.identity = std::move(*identity);

  Result<KeyHandle> key = parse_key(credentials.key);
  if (!key) return std::move(key).error().within(key_path);
  if (X509_check_private_key(certificate.get(), key->get()) != 1) {
    return failure("{}: is not the key of {}", key_path, certificate_path);
  }
  return credentials;
}

}  // namespace muster
