// `muster pki`, as it is typed.
#include <nlohmann/json.hpp>

#include "command_line.h"

namespace muster {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

class Pki : public CommandLineTest {
 protected:
  std::string folder() const { return (scratch_.path() / "pki").string(); }
  std::string done(const Words& words) const {
    const Finished finished = muster(words);
    EXPECT_EQ(finished.status, 0) << finished.err;
    EXPECT_EQ(finished.err, "");
    return finished.out;
  }
};

TEST_F(Pki, FromAnAuthorityToARevokedCertificate) {
  EXPECT_THAT(done({"pki", "init", folder(), "--name", "clinics", "--days", "30", "--key", "ed25519"}),
              MatchesRegex(".*/pki: authority clinics, valid until 20..-..-..\n"));
  EXPECT_THAT(done({"pki", "issue", folder(), "--role", "cloud", "--name", "main", "--host", "a.example.org,10.0.0.5"}),
              MatchesRegex(".*/pki/cloud-main: cloud main, serial [0-9A-F]+, valid until 20..-..-..\n"));
  done({"pki", "issue", folder(), "--role", "client", "--name", "sim-0", "--clients", "0-49", "--days", "7"});
  EXPECT_THAT(done({"pki", "revoke", folder(), "sim-0"}),
              MatchesRegex("revoked client sim-0, serial .*\ncopy .*ca.crl to.*\n"));

  EXPECT_THAT(done({"pki", "list", folder()}),
              MatchesRegex("authority clinics, ed25519, valid until .*; 2 certificates\n"
                           "  cloud  main .* valid\n  client sim-0 .* revoked 20..-..-.., for clients 0-49\n"));
  const auto listed = nlohmann::json::parse(done({"pki", "list", folder(), "--json"}));
  EXPECT_EQ(listed["authority"]["name"], "clinics");
  ASSERT_EQ(listed["certificates"].size(), 2u);
  const auto& client = listed["certificates"][1];
  EXPECT_EQ(client["name"], "sim-0");
  EXPECT_EQ(client["role"], "client");
  EXPECT_EQ(client["clients"], "0-49");
  EXPECT_EQ(client["expired"], false);
  EXPECT_TRUE(client["revoked"].is_string());
  EXPECT_TRUE(listed["certificates"][0]["revoked"].is_null());
}

TEST_F(Pki, MistakesAreOneLine) {
  expect_error({"pki", "list", folder()}, 1, HasSubstr("ca.crt: cannot open"));
  expect_error({"pki", "issue", folder(), "--role", "client", "--name", "a"}, 1, HasSubstr("holds no authority"));
  expect_error({"pki", "init", folder(), "--key", "rsa"}, 2, HasSubstr("key 'rsa': want p256 or ed25519"));
  expect_error({"pki", "init", folder(), "--days", "0"}, 2, HasSubstr("want 1 to 36500"));
  done({"pki", "init", folder()});
  expect_error({"pki", "init", folder()}, 1, HasSubstr("exists already, and is not overwritten"));
  expect_error({"pki", "issue", folder(), "--role", "boss", "--name", "a"}, 2, HasSubstr("want cloud, edge or client"));
  expect_error({"pki", "issue", folder(), "--role", "client", "--name", "a b"}, 2,
               HasSubstr("name 'a b': want 1 to 64"));
  expect_error({"pki", "issue", folder(), "--role", "client", "--name", "a", "--clients", "9-0"}, 2,
               HasSubstr("want ascending numbers and ranges"));
  expect_error({"pki", "issue", folder(), "--role", "edge", "--name", "a", "--host", "a,,b"}, 2, HasSubstr("host ''"));
  expect_error({"pki", "revoke", folder(), "nobody"}, 1,
               HasSubstr("no certificate has the name or serial number 'nobody'"));
  expect_error({"pki", "revok"}, 2, HasSubstr("did you mean 'revoke'?"));
}

}  // namespace
}  // namespace muster
