// Clients believe each other's certificates: the right authority, role, number and key, and nothing that was revoked.
#include "deploy/member_certificate.h"

#include <gtest/gtest.h>

#include "pki/authority.h"
#include "scratch_folder.h"

namespace muster {
namespace {

class MemberCertificate : public testing::TestWithParam<KeyKind> {
 protected:
  void SetUp() override { ASSERT_TRUE(make_authority(pki(), {.key = GetParam()}, utc_now()).ok()); }

  [[nodiscard]] std::filesystem::path pki() const { return folder_.path() / "pki"; }
  static Security issue(const std::filesystem::path& authority, const IssueRequest& request) {
    auto opened = Authority::open(authority, utc_now());
    EXPECT_TRUE(opened.ok()) << opened.error().message;
    auto bundle = opened->issue(request, utc_now());
    EXPECT_TRUE(bundle.ok()) << bundle.error().message;
    auto security = load_security(bundle->folder, false, request.role, {});
    EXPECT_TRUE(security.ok()) << security.error().message;
    return std::move(security).value();
  }
  // What the second thinks of what the first signs.
  static Status judged(const Security& by, const Security& of, const MemberName& member) {
    const auto signer = signer_of(of, member.client);
    const auto signature = signer->sign("a key");
    EXPECT_TRUE(signature.ok());
    return make_member_verifier(by, 1)->verify(member, signer->credential(), "a key", *signature);
  }
  static std::shared_ptr<const MemberSigner> signer_of(const Security& security, ClientId client) {
    const auto made = make_member_signer(security, 1);
    EXPECT_TRUE(made.ok()) << made.error().message;
    return (*made)(client);
  }

  ScratchFolder folder_;
};

TEST_P(MemberCertificate, VouchForTheClientsOfTheCertificate) {
  const Security one = issue(pki(), {.role = Role::kClient, .name = "one", .clients = {{0, 4}}});
  const Security two = issue(pki(), {.role = Role::kClient, .name = "two", .clients = {{5, 9}}});
  EXPECT_TRUE(judged(one, two, {{7}}).ok());
  const Status other = judged(one, two, {{4}});
  ASSERT_FALSE(other.ok());
  EXPECT_NE(other.error().message.find("does not speak for client 4"), std::string::npos) << other.error().message;
  EXPECT_TRUE(judged(one, two, {{4}, "two"}).ok()) << "a number that the cloud gave it";
  EXPECT_FALSE(judged(one, two, {{4}, "one"}).ok());
}

TEST_P(MemberCertificate, RefuseOtherRolesAuthoritiesKeysAndWhatWasRevoked) {
  const Security one = issue(pki(), {.role = Role::kClient, .name = "one", .clients = {{0, 4}}});
  EXPECT_FALSE(judged(one, issue(pki(), {.role = Role::kCloud, .name = "cloud"}), {{4}, "cloud"}).ok());
  const std::filesystem::path foreign = folder_.path() / "foreign";
  ASSERT_TRUE(make_authority(foreign, {.key = GetParam()}, utc_now()).ok());
  const IssueRequest two_asks{.role = Role::kClient, .name = "two", .clients = {{5, 9}}};
  EXPECT_FALSE(judged(one, issue(foreign, two_asks), {{7}}).ok());

  const Security two = issue(pki(), two_asks);
  const auto signer = signer_of(two, {7});
  const auto verifier = make_member_verifier(one, 1);
  std::string signature = *signer->sign("a key");
  EXPECT_FALSE(verifier->verify({{7}}, signer->credential(), "another key", signature).ok());
  EXPECT_FALSE(verifier->verify({{7}}, one.credentials.certificate, "a key", signature).ok());
  EXPECT_FALSE(verifier->verify({{7}}, "", "a key", signature).ok());
  EXPECT_FALSE(verifier->verify({{7}}, signer->credential(), "a key", "").ok());
  signature[10] = static_cast<char>(signature[10] ^ 1);
  EXPECT_FALSE(verifier->verify({{7}}, signer->credential(), "a key", signature).ok());

  EXPECT_TRUE(judged(one, two, {{7}}).ok());
  auto authority = Authority::open(pki(), utc_now());
  ASSERT_TRUE(authority.ok());
  ASSERT_TRUE(authority->revoke("two", utc_now()).ok());
  const auto late = load_security(pki() / "client-one", false, Role::kClient, {});
  ASSERT_TRUE(late.ok()) << late.error().message;
  std::filesystem::copy_file(pki() / "ca.crl", pki() / "client-one" / "ca.crl",
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_FALSE(judged(*late, two, {{7}}).ok()) << "it was revoked";
}

INSTANTIATE_TEST_SUITE_P(Keys, MemberCertificate, testing::Values(KeyKind::kP256, KeyKind::kEd25519),
                         [](const auto& tested) { return std::string(key_kind_name(tested.param)); });

}  // namespace
}  // namespace muster
