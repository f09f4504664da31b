// What OpenSSL allocates, owned; and its queue of errors. The queue belongs to the thread, and what is left in it
// confuses whoever speaks TLS there next, so every function that calls OpenSSL leaves it as it found it.
#pragma once

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>

#include "base/result.h"

namespace muster {

template <auto kFree>
struct OpensslFree {
  template <typename T>
  void operator()(T* object) const {
    kFree(object);
  }
};

using BioHandle = std::unique_ptr<BIO, OpensslFree<&BIO_free_all>>;
using BignumHandle = std::unique_ptr<BIGNUM, OpensslFree<&BN_free>>;
using CertificateHandle = std::unique_ptr<X509, OpensslFree<&X509_free>>;
using CrlHandle = std::unique_ptr<X509_CRL, OpensslFree<&X509_CRL_free>>;
using RevokedHandle = std::unique_ptr<X509_REVOKED, OpensslFree<&X509_REVOKED_free>>;
// Freeing a key wipes it.
using KeyHandle = std::unique_ptr<EVP_PKEY, OpensslFree<&EVP_PKEY_free>>;
using IntegerHandle = std::unique_ptr<ASN1_INTEGER, OpensslFree<&ASN1_INTEGER_free>>;
using TimeHandle = std::unique_ptr<ASN1_TIME, OpensslFree<&ASN1_TIME_free>>;
using NamesHandle = std::unique_ptr<GENERAL_NAMES, OpensslFree<&GENERAL_NAMES_free>>;
using NameHandle = std::unique_ptr<GENERAL_NAME, OpensslFree<&GENERAL_NAME_free>>;
using ExtensionHandle = std::unique_ptr<X509_EXTENSION, OpensslFree<&X509_EXTENSION_free>>;
using StoreHandle = std::unique_ptr<X509_STORE, OpensslFree<&X509_STORE_free>>;
using StoreContextHandle = std::unique_ptr<X509_STORE_CTX, OpensslFree<&X509_STORE_CTX_free>>;

class ErrorQueueMark {
 public:
  ErrorQueueMark() { ERR_set_mark(); }
  ~ErrorQueueMark() { ERR_pop_to_mark(); }
  ErrorQueueMark(const ErrorQueueMark&) = delete;
  ErrorQueueMark& operator=(const ErrorQueueMark&) = delete;
};

// "cannot sign: REASON", with OpenSSL's own words for the latest error.
[[nodiscard]] inline Error openssl_failure(std::string_view what) {
  const char* const reason = ERR_reason_error_string(ERR_peek_last_error());
  return failure("cannot {}: {}", what, reason ? reason : "OpenSSL does not say why");
}

// For what is read as PEM: OpenSSL would ask at the terminal for the password of a file that claims to have one.
inline int no_password(char*, int, int, void*) {
  return -1;
}

}  // namespace muster
