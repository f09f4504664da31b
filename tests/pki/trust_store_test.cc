// Whom a process believes: every reason to refuse a peer, each in one line.
#include "pki/trust_store.h"

#include <gmock/gmock.h>

#include <array>

#include "pki/certificate.h"
#include "signed_certificates.h"

namespace muster {
namespace {

using testing::HasSubstr;

class Trust : public testing::TestWithParam<KeyKind> {
 protected:
  Trust() : authority_(GetParam()) { authority_.write(folder_.path()); }

  TrustStore store() const {
    Result<TrustStore> loaded = TrustStore::load(folder_.path());
    EXPECT_TRUE(loaded) << loaded.error().message;
    return std::move(*loaded);
  }
  std::string refusal(const std::string& pem, sys_seconds now = kNow) const {
    return message_of(verify_peer(pem, store(), now));
  }
  void write_list(const std::string& pem) const { expect_ok(write_file(folder_ / "ca.crl", pem)); }

  ScratchFolder folder_;
  LaxAuthority authority_;
};

INSTANTIATE_TEST_SUITE_P(Keys, Trust, testing::Values(KeyKind::kP256, KeyKind::kEd25519),
                         [](const auto& key) { return std::string(key_kind_name(key.param)); });

TEST_P(Trust, BelievesWhomTheAuthoritySigned) {
  CertificateContent content = content_of({"muster:client:site-3"});
  EXPECT_EQ(must(verify_peer(authority_.sign(content), store(), kNow)).shown(), "client site-3");
  content = content_of({"muster:cloud:c"});
  content.server = true;
  content.client = false;
  EXPECT_EQ(must(verify_peer(authority_.sign(content), store(), kNow)).shown(), "cloud c");
  content = content_of({"muster:edge:e"});
  content.server = true;
  EXPECT_EQ(must(verify_peer(authority_.sign(content), store(), kNow)).shown(), "edge e");
}

TEST_P(Trust, RefusesBeforeAndAfterItsTime) {
  const std::string pem = authority_.sign(content_of({"muster:client:site-3"}));
  EXPECT_TRUE(verify_peer(pem, store(), kNow + kDay - std::chrono::seconds(1)));
  EXPECT_EQ(refusal(pem, kNow + kDay), "certificate of client site-3 expired on 2026-11-03");
  EXPECT_TRUE(verify_peer(pem, store(), kNow - kDay));
  EXPECT_EQ(refusal(pem, kNow - kDay - std::chrono::seconds(1)),
            "certificate of client site-3 is not valid before 2026-11-01");
  CertificateContent forever = content_of({"muster:client:site-3"});
  forever.not_after = kNow + 1000 * kDay;
  EXPECT_EQ(refusal(authority_.sign(forever), kNow + 100 * kDay),
            "certificate of client site-3 cannot be checked: the authority's own certificate expired on 2027-02-10");
}

TEST_P(Trust, RefusesOtherAuthorities) {
  const CertificateContent content = content_of({"muster:client:site-3"});
  const std::string expected = "certificate of client site-3 was signed by another authority";
  EXPECT_EQ(refusal(LaxAuthority(GetParam(), "other").sign(content)), expected);
  EXPECT_EQ(refusal(LaxAuthority(GetParam(), "muster").sign(content)), expected) << "of the same name";
}

TEST_P(Trust, RefusesWhoSignedItself) {
  const KeyHandle key = must(make_key(GetParam()));
  // Its own issuer: the name is taken from the subject of a certificate of that name.
  const CertificateHandle shell =
      must(sign_certificate(content_of({"muster:client:site-3"}), *key, authority_.signer()));
  const CertificateHandle own =
      must(sign_certificate(content_of({"muster:client:site-3"}), *key, Signer{*shell, *key}));
  EXPECT_EQ(refusal(must(to_pem(*own))),
            "certificate of client site-3 is self-signed, want one of the deployment's authority");
}

TEST_P(Trust, RefusesWhomAClientSigned) {
  const KeyHandle key = must(make_key(GetParam()));
  const CertificateHandle client = must(sign_certificate(content_of({"muster:client:a"}), *key, authority_.signer()));
  CertificateContent content = content_of({"muster:client:b"});
  content.name = "b";
  const CertificateHandle forged = must(sign_certificate(content, *key, Signer{*client, *key}));
  EXPECT_EQ(refusal(must(to_pem(*forged)) + must(to_pem(*client))),
            "certificate of client b was signed by another authority");
}

TEST_P(Trust, RefusesWhatWasChangedAfterwards) {
  std::string der;
  {
    const CertificateHandle signed_one = must(parse_certificate(authority_.sign(content_of({"muster:client:site-3"}))));
    unsigned char* bytes = nullptr;
    const int size = i2d_X509(signed_one.get(), &bytes);
    der.assign(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
    OPENSSL_free(bytes);
  }
  const std::size_t at = der.find("site-3");
  ASSERT_NE(at, std::string::npos);
  der[at + 5] = '4';
  EXPECT_EQ(refusal(der), "certificate of client site-4 was signed by another authority");
}

TEST_P(Trust, RefusesARoleThatTheKeyIsNotMadeFor) {
  for (const char* uri : {"muster:cloud:x", "muster:edge:x"}) {
    EXPECT_THAT(refusal(authority_.sign(content_of({uri}))), HasSubstr("is not made for what its role does"));
  }
  CertificateContent both = content_of({"muster:client:x"});
  both.server = true;
  EXPECT_EQ(refusal(authority_.sign(both)), "certificate of client x is not made for what its role does");
}

TEST_P(Trust, RefusesNoRoleAndGarbage) {
  EXPECT_THAT(refusal(authority_.sign(content_of({}))), HasSubstr("certificate: names no role"));
  EXPECT_THAT(refusal(authority_.pem()), HasSubstr("certificate: names no role")) << "the authority itself";
  EXPECT_THAT(refusal("garbage"), HasSubstr("certificate: no certificate"));
  EXPECT_THAT(refusal(""), HasSubstr("certificate: no certificate"));
}

TEST_P(Trust, NoticesARevocationWhileRunning) {
  TrustStore trust = store();
  const std::string pem = authority_.sign(content_of({"muster:client:site-3"}));
  const Identity identity = must(verify_peer(pem, trust, kNow));
  EXPECT_FALSE(must(trust.reload_if_changed()));
  expect_ok(trust.check_still_valid(identity, kNow));

  write_list(authority_.revocations({{identity.serial, kNow}}, 2));
  expect_ok(trust.check_still_valid(identity, kNow));  // not looked at yet
  EXPECT_TRUE(must(trust.reload_if_changed()));
  EXPECT_FALSE(must(trust.reload_if_changed()));
  const std::string expected = "certificate of client site-3 was revoked on 2026-11-02";
  EXPECT_EQ(message_of(trust.check_still_valid(identity, kNow)), expected);
  EXPECT_EQ(message_of(verify_peer(pem, trust, kNow)), expected);
  EXPECT_TRUE(verify_peer(authority_.sign(content_of({"muster:client:site-4"})), trust, kNow));
  EXPECT_EQ(message_of(trust.check_still_valid({.name = "y", .serial = "7", .not_after = kNow}, kNow)),
            "certificate of client y expired on 2026-11-02");
}

TEST_P(Trust, KeepsItsListWhenANewOneIsNoGood) {
  TrustStore trust = store();
  const std::string pem = authority_.sign(content_of({"muster:client:site-3"}));
  const std::string serial = must(identity_of(pem)).serial;
  const std::string good = authority_.revocations({{serial, kNow}}, 5);
  write_list(good);
  EXPECT_TRUE(must(trust.reload_if_changed()));
  const auto expect_kept = [&](const char* why) {
    EXPECT_THAT(message_of(trust.reload_if_changed()), HasSubstr(why));
    EXPECT_FALSE(must(trust.reload_if_changed())) << "told once";
    EXPECT_THAT(message_of(verify_peer(pem, trust, kNow)), HasSubstr("was revoked"));
  };
  write_list(authority_.revocations({}, 4));
  expect_kept("is list 4, older than list 5");
  write_list(LaxAuthority(GetParam()).revocations({}, 6));
  expect_kept("was signed by another authority than ca.crt");
  write_list(good.substr(0, good.size() / 2));
  expect_kept("no list of revoked certificates, or a broken one");
  std::filesystem::remove(folder_ / "ca.crl");
  expect_kept("cannot open");
  write_list(authority_.revocations({}, 7));
  EXPECT_TRUE(must(trust.reload_if_changed()));
  EXPECT_TRUE(verify_peer(pem, trust, kNow));
}

TEST_P(Trust, NeedsAWholeFolder) {
  const auto refused = [&] { return message_of(TrustStore::load(folder_.path())); };
  std::filesystem::rename(folder_ / "ca.crl", folder_ / "kept");
  EXPECT_THAT(refused(), HasSubstr("ca.crl: cannot open"));
  std::filesystem::rename(folder_ / "kept", folder_ / "ca.crl");
  expect_ok(write_file(folder_ / "ca.crt", authority_.sign(content_of({"muster:cloud:x"}))));
  EXPECT_THAT(refused(), HasSubstr("ca.crt: is not the certificate of an authority"));
  expect_ok(write_file(folder_ / "ca.crt", LaxAuthority(GetParam()).pem()));
  EXPECT_THAT(refused(), HasSubstr("ca.crl: was signed by another authority than ca.crt"));
  expect_ok(write_file(folder_ / "ca.crt", "garbage"));
  EXPECT_THAT(refused(), HasSubstr("ca.crt: no certificate"));
}

TEST(TrustRoles, AreCheckedForEveryCall) {
  const Identity client{.role = Role::kClient, .name = "site-3"};
  expect_ok(check_role(client, std::array{Role::kEdge, Role::kClient}));
  EXPECT_EQ(message_of(check_role(client, std::array{Role::kCloud, Role::kEdge})),
            "certificate of client site-3 is of the wrong role, want cloud or edge");
}

}  // namespace
}  // namespace muster
