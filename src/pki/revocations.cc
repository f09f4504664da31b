#include "pki/revocations.h"

#include <openssl/pem.h>

#include "base/file.h"
#include "pki/certificate.h"

namespace muster {
namespace {

constexpr std::uint64_t kLargestBytes = 64 << 20;

}  // namespace

Result<Revocations> parse_revocations(std::string_view pem, const X509& authority) {
  const ErrorQueueMark mark;
  const BioHandle bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  const CrlHandle crl(bio ? PEM_read_bio_X509_CRL(bio.get(), nullptr, no_password, nullptr) : nullptr);
  if (!crl) return failure("no list of revoked certificates, or a broken one");
  EVP_PKEY* const key = X509_get0_pubkey(&authority);
  if (X509_NAME_cmp(X509_CRL_get_issuer(crl.get()), X509_get_subject_name(&authority)) != 0 || !key ||
      X509_CRL_verify(crl.get(), key) != 1) {
    return failure("was signed by another authority than ca.crt");
  }
  Revocations revocations;
  const IntegerHandle number(
      static_cast<ASN1_INTEGER*>(X509_CRL_get_ext_d2i(crl.get(), NID_crl_number, nullptr, nullptr)));
  if (!number || ASN1_INTEGER_get_uint64(&revocations.number, number.get()) != 1) return failure("has no number");
  STACK_OF(X509_REVOKED)* const entries = X509_CRL_get_REVOKED(crl.get());
  const int count = entries ? sk_X509_REVOKED_num(entries) : 0;
  for (int i = 0; i < count; ++i) {
    const X509_REVOKED* const entry = sk_X509_REVOKED_value(entries, i);
    MUSTER_ASSIGN(const std::string serial, serial_of(X509_REVOKED_get0_serialNumber(entry)));
    MUSTER_ASSIGN(revocations.by_serial[serial], time_of(X509_REVOKED_get0_revocationDate(entry)));
  }
  return revocations;
}

Result<Revocations> read_revocations(const std::filesystem::path& path, const X509& authority) {
  MUSTER_ASSIGN(const std::vector<std::uint8_t> bytes, read_file(path, kLargestBytes));
  Result<Revocations> revocations =
      parse_revocations({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, authority);
  if (!revocations) return std::move(revocations).error().within(path.string());
  return revocations;
}

}  // namespace muster
