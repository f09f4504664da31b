#include "pki/certificate.h"

#include <openssl/pem.h>

#include <ctime>

#include "base/file.h"

namespace muster {
namespace {

constexpr int kLongestSerialBytes = 20;  // RFC 5280, 4.1.2.2

Result<std::vector<std::string>> uris_of(const X509& certificate) {
  int found = 0;
  const NamesHandle names(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(&certificate, NID_subject_alt_name, &found, nullptr)));
  if (found == -2) return failure("has two lists of alternative names");
  if (!names && found != -1) return failure("has a broken list of alternative names");
  std::vector<std::string> uris;
  const int count = names ? sk_GENERAL_NAME_num(names.get()) : 0;
  for (int i = 0; i < count; ++i) {
    const GENERAL_NAME* const name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type != GEN_URI) continue;
    const ASN1_IA5STRING* const uri = name->d.uniformResourceIdentifier;
    uris.emplace_back(reinterpret_cast<const char*>(ASN1_STRING_get0_data(uri)),
                      static_cast<std::size_t>(ASN1_STRING_length(uri)));
  }
  return uris;
}

Result<Identity> read_identity(const X509& certificate) {
  MUSTER_ASSIGN(const std::vector<std::string> uris, uris_of(certificate));
  MUSTER_ASSIGN(Identity identity, identity_from_uris(uris));
  MUSTER_ASSIGN(identity.serial, serial_of(X509_get0_serialNumber(&certificate)));
  MUSTER_ASSIGN(identity.not_after, time_of(X509_get0_notAfter(&certificate)));
  return identity;
}

}  // namespace

Result<CertificateHandle> parse_certificate(std::string_view pem_or_der) {
  const ErrorQueueMark mark;
  if (pem_or_der.size() > kLargestCertificateBytes) {
    return failure("{} bytes, want a certificate of at most {}", pem_or_der.size(), kLargestCertificateBytes);
  }
  CertificateHandle certificate;
  if (pem_or_der.find("-----BEGIN") != std::string_view::npos) {
    const BioHandle bio(BIO_new_mem_buf(pem_or_der.data(), static_cast<int>(pem_or_der.size())));
    if (bio) certificate.reset(PEM_read_bio_X509(bio.get(), nullptr, no_password, nullptr));
  } else {
    const auto* at = reinterpret_cast<const unsigned char*>(pem_or_der.data());
    certificate.reset(d2i_X509(nullptr, &at, static_cast<long>(pem_or_der.size())));
    if (certificate && at != reinterpret_cast<const unsigned char*>(pem_or_der.data()) + pem_or_der.size()) {
      return failure("more bytes than a certificate");
    }
  }
  if (!certificate) return failure("no certificate, or a broken one");
  return certificate;
}

Result<CertificateHandle> read_certificate(const std::filesystem::path& path) {
  MUSTER_ASSIGN(const std::vector<std::uint8_t> bytes, read_file(path, kLargestCertificateBytes));
  Result<CertificateHandle> certificate =
      parse_certificate({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (!certificate) return std::move(certificate).error().within(path.string());
  return certificate;
}

Result<Identity> identity_of(const X509& certificate) {
  const ErrorQueueMark mark;
  Result<Identity> identity = read_identity(certificate);
  // What a peer sends is not bad usage.
  if (!identity) return failure("certificate: {}", identity.error().message);
  return identity;
}

Result<Identity> identity_of(std::string_view pem_or_der) {
  Result<CertificateHandle> certificate = parse_certificate(pem_or_der);
  if (!certificate) return std::move(certificate).error().within("certificate");
  return identity_of(**certificate);
}

Result<sys_seconds> time_of(const ASN1_TIME* time) {
  std::tm parts{};
  if (!time || ASN1_TIME_to_tm(time, &parts) != 1) return failure("has a broken date");
  return sys_seconds(std::chrono::seconds(::timegm(&parts)));
}

Result<std::string> serial_of(const ASN1_INTEGER* serial) {
  const BignumHandle number(ASN1_INTEGER_to_BN(serial, nullptr));
  if (!number || BN_is_negative(number.get()) || BN_num_bytes(number.get()) > kLongestSerialBytes) {
    return failure("has a serial number that is negative or too long");
  }
  char* const text = BN_bn2hex(number.get());
  if (!text) return failure("has a broken serial number");
  std::string hexadecimal(text);
  OPENSSL_free(text);
  return hexadecimal;
}

}  // namespace muster
