// Certificates of any shape for tests, made in memory by an authority of their own.
#pragma once

#include <gtest/gtest.h>

#include "base/file.h"
#include "pki/authority.h"
#include "pki/signing.h"
#include "scratch_folder.h"

namespace muster {

inline constexpr sys_seconds kNow{std::chrono::seconds(1793577600)};  // 2026-11-02, midnight
inline constexpr auto kDay = std::chrono::days(1);

template <typename T>
T must(Result<T> result) {
  EXPECT_TRUE(result) << (result ? "" : result.error().message);
  return result ? std::move(result).value() : T{};
}

template <typename T>
std::string message_of(const T& result) {
  EXPECT_FALSE(result);
  return result ? "" : result.error().message;
}

inline void expect_ok(const Status& status) {
  EXPECT_TRUE(status) << (status ? "" : status.error().message);
}

// A certificate as a client has it; tests change what they are about.
inline CertificateContent content_of(std::vector<std::string> uris) {
  return {.name = "x", .uris = std::move(uris), .client = true, .not_before = kNow - kDay, .not_after = kNow + kDay};
}

// An authority that signs whatever it is asked to.
class LaxAuthority {
 public:
  explicit LaxAuthority(KeyKind kind = KeyKind::kP256, const std::string& name = "muster")
      : kind_(kind),
        key_(must(make_key(kind))),
        certificate_(must(sign_authority(name, *key_, kNow - 10 * kDay, kNow + 100 * kDay))) {}

  std::string sign(const CertificateContent& content) const {
    const KeyHandle key = must(make_key(kind_));
    return must(to_pem(*must(sign_certificate(content, *key, signer()))));
  }
  std::string revocations(const std::map<std::string, sys_seconds>& revoked, std::uint64_t number) const {
    return must(to_pem(*must(sign_crl(revoked, number, kNow, signer()))));
  }
  std::string pem() const { return must(to_pem(*certificate_)); }
  Signer signer() const { return {*certificate_, *key_}; }

  // A folder to trust it by.
  void write(const std::filesystem::path& folder) const {
    std::filesystem::create_directories(folder);
    expect_ok(write_file(folder / "ca.crt", pem()));
    expect_ok(write_file(folder / "ca.crl", revocations({}, 1)));
  }

 private:
  KeyKind kind_;
  KeyHandle key_;
  CertificateHandle certificate_;
};

}  // namespace muster
