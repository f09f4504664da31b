#include "pki/message_signature.h"

#include "pki/signing.h"

namespace muster {
namespace {

using DigestHandle = std::unique_ptr<EVP_MD_CTX, OpensslFree<&EVP_MD_CTX_free>>;

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

// Ed25519 brings its own digest.
const EVP_MD* digest_of_key(const EVP_PKEY& key) {
  return kind_of(key) == KeyKind::kEd25519 ? nullptr : EVP_sha256();
}

}  // namespace

Result<std::string> sign_message(EVP_PKEY& key, std::string_view message) {
  const ErrorQueueMark mark;
  const DigestHandle context(EVP_MD_CTX_new());
  std::size_t size = 0;
  if (!context || EVP_DigestSignInit(context.get(), nullptr, digest_of_key(key), nullptr, &key) != 1 ||
      EVP_DigestSign(context.get(), nullptr, &size, bytes_of(message), message.size()) != 1) {
    return openssl_failure("sign a message");
  }
  std::string signature(size, '\0');
  if (EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size, bytes_of(message),
                     message.size()) != 1) {
    return openssl_failure("sign a message");
  }
  signature.resize(size);
  return signature;
}

Status check_signature(const X509& certificate, std::string_view message, std::string_view signature) {
  const ErrorQueueMark mark;
  EVP_PKEY* const key = X509_get0_pubkey(&certificate);
  const DigestHandle context(EVP_MD_CTX_new());
  if (key && context && EVP_DigestVerifyInit(context.get(), nullptr, digest_of_key(*key), nullptr, key) == 1 &&
      EVP_DigestVerify(context.get(), bytes_of(signature), signature.size(), bytes_of(message), message.size()) == 1) {
    return {};
  }
  return failure("a signature that the key of the certificate did not make");
}

Result<std::string> to_der(const X509& certificate) {
  const ErrorQueueMark mark;
  unsigned char* bytes = nullptr;
  const int size = i2d_X509(&certificate, &bytes);
  if (size <= 0) return openssl_failure("write a certificate");
  std::string der(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  OPENSSL_free(bytes);
  return der;
}

}  // namespace muster
