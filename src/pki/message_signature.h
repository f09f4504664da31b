// Signatures of messages with the key of a certificate. TLS signs with the same key: its texts begin with 64 spaces,
// and whoever signs here begins a text with what it is for, so neither can be taken for the other.
#pragma once

#include <string>
#include <string_view>

#include "pki/openssl_handles.h"

namespace muster {

[[nodiscard]] Result<std::string> sign_message(EVP_PKEY& key, std::string_view message);
// Fails unless the key of the certificate made the signature. Whether the certificate is to be believed is another
// question (trust_store.h).
[[nodiscard]] Status check_signature(const X509& certificate, std::string_view message, std::string_view signature);

// The certificate as DER, which is shorter than PEM.
[[nodiscard]] Result<std::string> to_der(const X509& certificate);

}  // namespace muster
