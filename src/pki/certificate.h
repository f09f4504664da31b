// What a certificate says, before any of it is believed: bytes of a file or a peer -> Identity. Nothing is verified
// here; trust_store.h does that.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "pki/calendar.h"
#include "pki/identity.h"
#include "pki/openssl_handles.h"

namespace muster {

// The first certificate in PEM, or the only one in DER; at most kLargestCertificateBytes.
inline constexpr std::size_t kLargestCertificateBytes = 256 << 10;
[[nodiscard]] Result<CertificateHandle> parse_certificate(std::string_view pem_or_der);

[[nodiscard]] Result<CertificateHandle> read_certificate(const std::filesystem::path& path);

// Fails if it is no certificate, or names no role or several.
[[nodiscard]] Result<Identity> identity_of(std::string_view pem_or_der);
[[nodiscard]] Result<Identity> identity_of(const X509& certificate);

[[nodiscard]] Result<sys_seconds> time_of(const ASN1_TIME* time);
// In upper-case hexadecimal. Numbers that are negative or longer than the standard allows are refused.
[[nodiscard]] Result<std::string> serial_of(const ASN1_INTEGER* serial);

}  // namespace muster
