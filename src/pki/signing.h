// What an authority signs: its own certificate, those of processes, and the list of those it takes back. All in memory;
// where they are kept, and in which order they are written, is decided in authority.h.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/secret.h"
#include "pki/calendar.h"
#include "pki/openssl_handles.h"

namespace muster {

enum class KeyKind { kP256, kEd25519 };

// "p256", "ed25519".
[[nodiscard]] Result<KeyKind> parse_key_kind(std::string_view text);
[[nodiscard]] std::string_view key_kind_name(KeyKind kind);
[[nodiscard]] KeyKind kind_of(const EVP_PKEY& key);
[[nodiscard]] Result<KeyHandle> make_key(KeyKind kind);

struct CertificateContent {
  std::string name;               // for people
  std::vector<std::string> uris;  // who it is, as identity_uris() writes it
  std::vector<std::string> hosts = {};
  bool server = false;  // may be called
  bool client = false;  // may call
  sys_seconds not_before;
  sys_seconds not_after;
};

// A DNS name (also *.example.org) or an IP address.
[[nodiscard]] Status check_host(const std::string& host);

struct Signer {
  const X509& certificate;
  EVP_PKEY& key;
};

// Every certificate has a serial number of 128 random bits.
[[nodiscard]] Result<CertificateHandle> sign_authority(const std::string& name, EVP_PKEY& key, sys_seconds not_before,
                                                       sys_seconds not_after);
[[nodiscard]] Result<CertificateHandle> sign_certificate(const CertificateContent& content, EVP_PKEY& key,
                                                         const Signer& signer);
// `revoked`: serial numbers and when. The list holds until the signer's own certificate ends: it is the newest there
// is, for as long as no newer one arrives.
[[nodiscard]] Result<CrlHandle> sign_crl(const std::map<std::string, sys_seconds>& revoked, std::uint64_t number,
                                         sys_seconds now, const Signer& signer);

[[nodiscard]] Result<std::string> to_pem(const X509& certificate);
[[nodiscard]] Result<std::string> to_pem(const X509_CRL& crl);
[[nodiscard]] Result<Secret> to_pem(const EVP_PKEY& key);
[[nodiscard]] Result<KeyHandle> parse_key(const Secret& pem);

}  // namespace muster
