// Who a certificate says that it is, and that nothing else passes for one.
#include "pki/certificate.h"

#include <gmock/gmock.h>

#include "signed_certificates.h"

namespace muster {
namespace {

using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::string der_of(const std::string& pem) {
  const CertificateHandle parsed = must(parse_certificate(pem));
  unsigned char* bytes = nullptr;
  const int size = i2d_X509(parsed.get(), &bytes);
  std::string der(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  OPENSSL_free(bytes);
  return der;
}

TEST(Certificate, SaysWhoItIsInPemAndDer) {
  for (const KeyKind kind : {KeyKind::kP256, KeyKind::kEd25519}) {
    const std::string pem = LaxAuthority(kind).sign(content_of({"muster:client:sim-0", "muster:clients:0-49"}));
    for (const std::string& text : {pem, der_of(pem), "a comment\n" + pem}) {
      const Identity identity = must(identity_of(text));
      EXPECT_EQ(identity.shown(), "client sim-0");
      EXPECT_THAT(identity.clients, ElementsAre(ClientRange{0, 49}));
      EXPECT_EQ(identity.serial.size(), 32u);
      EXPECT_EQ(identity.not_after, kNow + kDay);
    }
  }
}

TEST(Certificate, NeedsExactlyOneRole) {
  const LaxAuthority authority;
  const auto refusal = [&](std::vector<std::string> uris) {
    return message_of(identity_of(authority.sign(content_of(std::move(uris)))));
  };
  EXPECT_THAT(refusal({}), HasSubstr("certificate: names no role"));
  EXPECT_THAT(refusal({"https://example.org"}), HasSubstr("certificate: names no role"));
  EXPECT_THAT(refusal({"muster:client:a", "muster:edge:a"}), HasSubstr("more than one role"));
  EXPECT_THAT(refusal({"muster:client:a\nb"}), HasSubstr("name 'a\\nb': want 1 to 64"));
  EXPECT_THAT(refusal({std::string("muster:cloud:a\0.b", 17)}), HasSubstr("name 'a\\x00.b': want 1 to 64"));
  EXPECT_EQ(identity_of(authority.pem()).error().code, ErrorCode::kFailed);
  EXPECT_THAT(message_of(identity_of(authority.pem())), HasSubstr("names no role")) << "the authority is nobody";
}

TEST(Certificate, NamesItselfInOnePlace) {
  const CertificateHandle twice = must(parse_certificate(LaxAuthority().sign(content_of({"muster:client:a"}))));
  const NamesHandle names(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(twice.get(), NID_subject_alt_name, nullptr, nullptr)));
  ASSERT_EQ(X509_add1_ext_i2d(twice.get(), NID_subject_alt_name, names.get(), 0, X509V3_ADD_APPEND), 1);
  EXPECT_EQ(message_of(identity_of(*twice)), "certificate: has two lists of alternative names");
}

TEST(Certificate, NothingElsePassesForOne) {
  const std::string pem = LaxAuthority().sign(content_of({"muster:client:a"}));
  const std::string der = der_of(pem);
  for (std::size_t size = 0; size < pem.size() - 1; size += 7) {
    EXPECT_FALSE(identity_of(pem.substr(0, size))) << size;
  }
  for (std::size_t size = 0; size < der.size(); ++size) EXPECT_FALSE(identity_of(der.substr(0, size))) << size;
  EXPECT_THAT(message_of(identity_of(der + "x")), HasSubstr("more bytes than a certificate"));
  EXPECT_THAT(message_of(identity_of("garbage")), HasSubstr("certificate: no certificate, or a broken one"));
  EXPECT_THAT(message_of(identity_of(std::string(kLargestCertificateBytes + 1, 'x'))), HasSubstr("at most 262144"));
  EXPECT_FALSE(
      identity_of("-----BEGIN CERTIFICATE-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,"
                  "00112233445566778899AABBCCDDEEFF\n\nAAAA\n-----END CERTIFICATE-----\n"))
      << "and asks for no password";
}

TEST(Certificate, LeavesNoErrorForOthersToFind) {
  ERR_clear_error();
  EXPECT_FALSE(identity_of("garbage"));
  EXPECT_FALSE(identity_of("-----BEGIN CERTIFICATE-----\ngarbage\n"));
  EXPECT_EQ(ERR_peek_error(), 0u);
}

TEST(Calendar, TimesAreReadAsTheyAreWritten) {
  EXPECT_EQ(date_text(sys_seconds{}), "1970-01-01");
  EXPECT_EQ(time_text(kNow), "2026-11-02T00:00:00Z");
  EXPECT_EQ(must(parse_time("2026-11-02T00:00:00Z")), kNow);
  for (const char* text : {"", "2026-11-02", "2026-11-02T00:00:00", "2026-13-02T00:00:00Z", "2026-11-02T00:00:00Zx"}) {
    EXPECT_FALSE(parse_time(text)) << text;
  }
}

}  // namespace
}  // namespace muster
