#include "pki/signing.h"

#include <openssl/pem.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>

#include "data/shown_text.h"
#include "pki/certificate.h"

namespace muster {
namespace {

constexpr std::size_t kSerialBytes = 16;
constexpr std::size_t kLongestHost = 253;

// Ed25519 brings its own digest.
const EVP_MD* digest_for(const EVP_PKEY& key) {
  return kind_of(key) == KeyKind::kEd25519 ? nullptr : EVP_sha256();
}

bool set_serial(X509& certificate) {
  std::array<unsigned char, kSerialBytes> bytes{};
  if (RAND_bytes(bytes.data(), kSerialBytes) != 1) return false;
  bytes[0] = (bytes[0] & 0x7f) | 0x40;  // positive, and always of the same length
  const BignumHandle number(BN_bin2bn(bytes.data(), kSerialBytes, nullptr));
  return number && BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(&certificate)) != nullptr;
}

bool set_time(ASN1_TIME* target, sys_seconds time) {
  return target && ASN1_TIME_set(target, time.time_since_epoch().count()) != nullptr;
}

bool set_subject(X509& certificate, const std::string& name) {
  X509_NAME* const subject = X509_get_subject_name(&certificate);
  const auto add = [&](const char* field, const std::string& text) {
    return X509_NAME_add_entry_by_txt(subject, field, MBSTRING_UTF8,
                                      reinterpret_cast<const unsigned char*>(text.data()),
                                      static_cast<int>(text.size()), -1, 0) == 1;
  };
  return add("O", "Muster") && add("CN", name);
}

// `value` is OpenSSL's own notation; nothing of a user's may be in it.
bool add_extension(X509& certificate, const X509* issuer, int kind, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, const_cast<X509*>(issuer), &certificate, nullptr, nullptr, 0);
  const ExtensionHandle extension(X509V3_EXT_conf_nid(nullptr, &context, kind, value));
  return extension && X509_add_ext(&certificate, extension.get(), -1) == 1;
}

NameHandle text_name(int type, const std::string& text) {
  NameHandle name(GENERAL_NAME_new());
  ASN1_IA5STRING* const value = ASN1_IA5STRING_new();
  if (!name || !value || ASN1_STRING_set(value, text.data(), static_cast<int>(text.size())) != 1) {
    ASN1_IA5STRING_free(value);
    return nullptr;
  }
  GENERAL_NAME_set0_value(name.get(), type, value);
  return name;
}

NameHandle host_name(const std::string& host) {
  ASN1_OCTET_STRING* const address = a2i_IPADDRESS(host.c_str());
  if (!address) return text_name(GEN_DNS, host);
  NameHandle name(GENERAL_NAME_new());
  if (!name) {
    ASN1_OCTET_STRING_free(address);
    return nullptr;
  }
  GENERAL_NAME_set0_value(name.get(), GEN_IPADD, address);
  return name;
}

bool add_names(X509& certificate, const CertificateContent& content) {
  const NamesHandle names(GENERAL_NAMES_new());
  const auto add = [&](NameHandle name) {
    if (!names || !name || sk_GENERAL_NAME_push(names.get(), name.get()) == 0) return false;
    (void)name.release();
    return true;
  };
  for (const std::string& uri : content.uris) {
    if (!add(text_name(GEN_URI, uri))) return false;
  }
  for (const std::string& host : content.hosts) {
    if (!add(host_name(host))) return false;
  }
  if (!names || sk_GENERAL_NAME_num(names.get()) == 0) return true;
  return X509_add1_ext_i2d(&certificate, NID_subject_alt_name, names.get(), 0, 0) == 1;
}

const char* key_usage(const CertificateContent& content) {
  if (content.server && content.client) return "serverAuth,clientAuth";
  return content.server ? "serverAuth" : "clientAuth";
}

// What both kinds of certificate begin with; null if OpenSSL fails.
CertificateHandle begin_certificate(const std::string& name, EVP_PKEY& key, sys_seconds not_before,
                                    sys_seconds not_after) {
  CertificateHandle certificate(X509_new());
  if (!certificate || X509_set_version(certificate.get(), X509_VERSION_3) != 1 || !set_serial(*certificate) ||
      !set_time(X509_getm_notBefore(certificate.get()), not_before) ||
      !set_time(X509_getm_notAfter(certificate.get()), not_after) || !set_subject(*certificate, name) ||
      X509_set_pubkey(certificate.get(), &key) != 1) {
    return nullptr;
  }
  return certificate;
}

bool add_revoked(X509_CRL& crl, const std::string& serial, sys_seconds time) {
  BIGNUM* parsed = nullptr;
  if (BN_hex2bn(&parsed, serial.c_str()) == 0) return false;
  const BignumHandle number(parsed);
  const IntegerHandle integer(BN_to_ASN1_INTEGER(number.get(), nullptr));
  const TimeHandle date(ASN1_TIME_new());
  RevokedHandle revoked(X509_REVOKED_new());
  if (!integer || !revoked || !set_time(date.get(), time) ||
      X509_REVOKED_set_serialNumber(revoked.get(), integer.get()) != 1 ||
      X509_REVOKED_set_revocationDate(revoked.get(), date.get()) != 1 ||
      X509_CRL_add0_revoked(&crl, revoked.get()) != 1) {
    return false;
  }
  (void)revoked.release();
  return true;
}

bool add_crl_extensions(X509_CRL& crl, std::uint64_t number, const Signer& signer) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, const_cast<X509*>(&signer.certificate), nullptr, nullptr, &crl, 0);
  const ExtensionHandle issuer(X509V3_EXT_conf_nid(nullptr, &context, NID_authority_key_identifier, "keyid:always"));
  const IntegerHandle integer(ASN1_INTEGER_new());
  return issuer && X509_CRL_add_ext(&crl, issuer.get(), -1) == 1 && integer &&
         ASN1_INTEGER_set_uint64(integer.get(), number) == 1 &&
         X509_CRL_add1_ext_i2d(&crl, NID_crl_number, integer.get(), 0, 0) == 1;
}

// What `write` writes.
template <typename Text, typename Write>
Result<Text> written(const char* what, const Write& write) {
  const ErrorQueueMark mark;
  const BioHandle bio(BIO_new(BIO_s_mem()));  // freeing it wipes it
  char* bytes = nullptr;
  if (!bio || write(bio.get()) != 1) return openssl_failure(what);
  const long size = BIO_get_mem_data(bio.get(), &bytes);
  return Text(std::string_view(bytes, static_cast<std::size_t>(size)));
}

}  // namespace

Result<KeyKind> parse_key_kind(std::string_view text) {
  for (const KeyKind kind : {KeyKind::kP256, KeyKind::kEd25519}) {
    if (text == key_kind_name(kind)) return kind;
  }
  return usage_error("key '{}': want p256 or ed25519", shown_text(text));
}

std::string_view key_kind_name(KeyKind kind) {
  return kind == KeyKind::kP256 ? "p256" : "ed25519";
}

KeyKind kind_of(const EVP_PKEY& key) {
  return EVP_PKEY_is_a(&key, "ED25519") == 1 ? KeyKind::kEd25519 : KeyKind::kP256;
}

Result<KeyHandle> make_key(KeyKind kind) {
  const ErrorQueueMark mark;
  KeyHandle key(kind == KeyKind::kEd25519 ? EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519")
                                          : EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256"));
  if (!key) return openssl_failure("make a key");
  return key;
}

Status check_host(const std::string& host) {
  const ErrorQueueMark mark;
  ASN1_OCTET_STRING* const address = a2i_IPADDRESS(host.c_str());
  ASN1_OCTET_STRING_free(address);
  if (address && host.find('\0') == std::string::npos) return {};
  const std::string_view name = std::string_view(host).substr(host.starts_with("*.") ? 2 : 0);
  const bool sane =
      !name.empty() && host.size() <= kLongestHost && name.front() != '.' && name.front() != '-' &&
      name.find("..") == std::string_view::npos && std::ranges::all_of(name, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-';
      });
  if (sane) return {};
  return usage_error("host '{}': want a DNS name or an IP address", shown_text(host));
}

Result<CertificateHandle> sign_authority(const std::string& name, EVP_PKEY& key, sys_seconds not_before,
                                         sys_seconds not_after) {
  const ErrorQueueMark mark;
  CertificateHandle certificate = begin_certificate(name, key, not_before, not_after);
  X509* const made = certificate.get();
  if (!made || X509_set_issuer_name(made, X509_get_subject_name(made)) != 1 ||
      !add_extension(*made, made, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") ||
      !add_extension(*made, made, NID_key_usage, "critical,keyCertSign,cRLSign") ||
      !add_extension(*made, made, NID_subject_key_identifier, "hash") || X509_sign(made, &key, digest_for(key)) == 0) {
    return openssl_failure("make the authority's certificate");
  }
  return certificate;
}

Result<CertificateHandle> sign_certificate(const CertificateContent& content, EVP_PKEY& key, const Signer& signer) {
  const ErrorQueueMark mark;
  CertificateHandle certificate = begin_certificate(content.name, key, content.not_before, content.not_after);
  X509* const made = certificate.get();
  const X509* const issuer = &signer.certificate;
  if (!made || X509_set_issuer_name(made, X509_get_subject_name(issuer)) != 1 ||
      !add_extension(*made, issuer, NID_basic_constraints, "critical,CA:FALSE") ||
      !add_extension(*made, issuer, NID_key_usage, "critical,digitalSignature") ||
      !add_extension(*made, issuer, NID_ext_key_usage, key_usage(content)) ||
      !add_extension(*made, issuer, NID_subject_key_identifier, "hash") ||
      !add_extension(*made, issuer, NID_authority_key_identifier, "keyid:always") || !add_names(*made, content) ||
      X509_sign(made, &signer.key, digest_for(signer.key)) == 0) {
    return openssl_failure("make a certificate");
  }
  return certificate;
}

Result<CrlHandle> sign_crl(const std::map<std::string, sys_seconds>& revoked, std::uint64_t number, sys_seconds now,
                           const Signer& signer) {
  const ErrorQueueMark mark;
  CrlHandle crl(X509_CRL_new());
  const TimeHandle written_at(ASN1_TIME_new());
  bool done = crl && set_time(written_at.get(), now) && X509_CRL_set_version(crl.get(), X509_CRL_VERSION_2) == 1 &&
              X509_CRL_set_issuer_name(crl.get(), X509_get_subject_name(&signer.certificate)) == 1 &&
              X509_CRL_set1_lastUpdate(crl.get(), written_at.get()) == 1 &&
              X509_CRL_set1_nextUpdate(crl.get(), X509_get0_notAfter(&signer.certificate)) == 1;
  for (const auto& [serial, time] : revoked) done = done && add_revoked(*crl, serial, time);
  done = done && X509_CRL_sort(crl.get()) == 1 && add_crl_extensions(*crl, number, signer) &&
         X509_CRL_sign(crl.get(), &signer.key, digest_for(signer.key)) != 0;
  if (!done) return openssl_failure("sign the list of revoked certificates");
  return crl;
}

Result<std::string> to_pem(const X509& certificate) {
  return written<std::string>("write a certificate", [&](BIO* out) { return PEM_write_bio_X509(out, &certificate); });
}

Result<std::string> to_pem(const X509_CRL& crl) {
  return written<std::string>("write the list of revoked certificates",
                              [&](BIO* out) { return PEM_write_bio_X509_CRL(out, &crl); });
}

Result<Secret> to_pem(const EVP_PKEY& key) {
  return written<Secret>("write a key", [&](BIO* out) {
    return PEM_write_bio_PKCS8PrivateKey(out, &key, nullptr, nullptr, 0, nullptr, nullptr);
  });
}

Result<KeyHandle> parse_key(const Secret& pem) {
  const ErrorQueueMark mark;
  const BioHandle bio(BIO_new_mem_buf(pem.text().data(), static_cast<int>(pem.text().size())));
  KeyHandle key(bio ? PEM_read_bio_PrivateKey(bio.get(), nullptr, no_password, nullptr) : nullptr);
  if (!key) return failure("no private key, a broken one, or one with a password");
  return key;
}

}  // namespace muster
