#include "web/gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scratch_folder.h"
#include "web/wrong_tokens.h"

namespace muster {
namespace {

using testing::HasSubstr;

constexpr const char* kToken = "correct-horse-battery";

WebRequest asking(const std::string& host, const std::string& authorization = "", const std::string& cookie = "") {
  WebRequest request;
  request.path = "/api/runs";
  request.peer = "192.0.2.7";
  request.host = host;
  request.authorization = authorization;
  request.cookie = cookie;
  return request;
}

class GateWithToken : public testing::Test {
 protected:
  GateWithToken() { gate_.set_port(7450); }
  int status_of(const std::string& token, double now_s) {
    const auto refused = gate_.refuse_data(asking("here", "Bearer " + token), now_s);
    return refused ? refused->status : 200;
  }
  Gate gate_{kToken, "the-secret", false};
};

TEST(Gate, AnswersOnLoopbackOnlyToNamesOfLoopback) {
  Gate gate("", "secret", true);
  gate.set_port(7450);
  for (const char* host : {"127.0.0.1:7450", "localhost:7450", "LOCALHOST", "[::1]:7450", "127.9.9.9"}) {
    EXPECT_FALSE(gate.turn_away(asking(host))) << host;
  }
  for (const char* host : {"evil.example", "evil.example:7450", "localhost.evil.example:7450", "192.0.2.1:7450", "",
                           "127.0.0.1.evil.example", "[::2]:7450", "127.0.0.1:7450@evil.example"}) {
    const auto away = gate.turn_away(asking(host));
    ASSERT_TRUE(away) << host;
    EXPECT_EQ(away->status, 421) << host;
  }
}

TEST(Gate, IsClosedToScriptsOfOtherSites) {
  Gate gate("", "secret", true);
  gate.set_port(7450);
  WebRequest request = asking("localhost:7450");
  request.fetch_site = "cross-site";
  request.fetch_mode = "no-cors";
  ASSERT_TRUE(gate.turn_away(request));
  EXPECT_EQ(gate.turn_away(request)->status, 403);
  request.fetch_mode = "navigate";  // a link
  EXPECT_FALSE(gate.turn_away(request));
}

TEST_F(GateWithToken, WantsTheTokenOrTheCookie) {
  EXPECT_EQ(gate_.refuse_data(asking("here"), 0)->status, 401);
  EXPECT_EQ(status_of("wrong-horse-battery!!", 0), 401);
  EXPECT_EQ(status_of(std::string(kToken) + "x", 0), 401);
  EXPECT_EQ(status_of(kToken, 0), 200);
  EXPECT_EQ(gate_.refuse_data(asking("here", "", "muster-7450=no"), 0)->status, 401);
  EXPECT_EQ(gate_.refuse_data(asking("here", "", "muster-1=the-secret"), 0)->status, 401) << "another port's";
  EXPECT_FALSE(gate_.refuse_data(asking("here", "", "a=b; muster-7450=the-secret"), 0));
}

TEST_F(GateWithToken, GivesACookieThatScriptsAndOtherSitesCannotUse) {
  EXPECT_EQ(gate_.sign_in(asking("here"), 0).status, 401);
  EXPECT_EQ(gate_.sign_in(asking("here", "Bearer no"), 0).status, 401);
  const WebAnswer answer = gate_.sign_in(asking("here", std::string("Bearer ") + kToken), 0);
  EXPECT_EQ(answer.status, 204);
  const std::string cookie = answer.headers.at("Set-Cookie");
  EXPECT_THAT(cookie, HasSubstr("HttpOnly"));
  EXPECT_THAT(cookie, HasSubstr("SameSite=Strict"));
  EXPECT_THAT(cookie, testing::Not(HasSubstr(kToken)));
  EXPECT_FALSE(gate_.refuse_data(asking("here", "", cookie.substr(0, cookie.find(';'))), 0));
}

TEST_F(GateWithToken, MakesThoseWaitWhoGuess) {
  for (std::uint32_t i = 0; i < WrongTokens::kFree; ++i)
    EXPECT_EQ(status_of("guess-number-" + std::to_string(i), 10), 401);
  const auto refused = gate_.refuse_data(asking("here", std::string("Bearer ") + kToken), 10);
  ASSERT_TRUE(refused) << "the right token is not looked at either: else guessing could go on";
  EXPECT_EQ(refused->status, 429);
  EXPECT_EQ(refused->headers.at("Retry-After"), "1");
  EXPECT_FALSE(gate_.refuse_data(asking("here", "", "muster-7450=the-secret"), 10)) << "a cookie goes on working";
  EXPECT_EQ(status_of(kToken, 12), 200);
  EXPECT_EQ(status_of("guess", 12), 401) << "and all is forgiven";
}

TEST(WrongTokensOfPeers, WaitLongerEachTimeAndAreForgotten) {
  WrongTokens wrong;
  double now = 0;
  std::vector<std::uint32_t> waits;
  for (int i = 0; i < 20; ++i) {
    wrong.add_wrong("192.0.2.1", now);
    waits.push_back(wrong.wait_s("192.0.2.1", now));
    now += waits.back();
  }
  EXPECT_THAT(std::vector(waits.begin(), waits.begin() + 8), testing::ElementsAre(0, 0, 0, 0, 1, 2, 4, 8));
  EXPECT_EQ(waits.back(), WrongTokens::kLongestWaitS);
  EXPECT_EQ(wrong.wait_s("192.0.2.2", now), 0u) << "others need not wait";
  now += WrongTokens::kForgottenS + 1;
  wrong.add_wrong("192.0.2.1", now);
  EXPECT_EQ(wrong.wait_s("192.0.2.1", now), 0u);
}

TEST(WrongTokensOfPeers, AreBoundedHoweverManyAddressesThereAre) {
  WrongTokens wrong;
  for (int i = 0; i < 5000; ++i) wrong.add_wrong(fmt::format("10.{}.{}.1", i / 250, i % 250), 0.001 * i);
  EXPECT_LE(wrong.peers(), WrongTokens::kMostPeers);
  EXPECT_GT(wrong.wait_s("203.0.113.5", 5), 0u) << "all of them together are too many";
  EXPECT_EQ(wrong.wait_s("203.0.113.5", 70), 0u);
}

TEST(WrongTokensOfPeers, TakeANetworkOfIpv6ForOne) {
  EXPECT_EQ(network_of("2001:db8:1:2:aaaa::1"), network_of("2001:db8:1:2::ffff"));
  EXPECT_NE(network_of("2001:db8:1:2::1"), network_of("2001:db8:1:3::1"));
  EXPECT_EQ(network_of("192.0.2.1"), "192.0.2.1");
  EXPECT_NE(network_of("::ffff:192.0.2.1"), network_of("::ffff:192.0.2.2"));
}

TEST(Tokens, AreReadFromAFileOrTheEnvironment) {
  const ScratchFolder scratch;
  const auto file = scratch.write("token", std::string(kToken) + "\n");
  EXPECT_EQ(*read_token(file.string(), "another-one-of-length"), kToken);
  EXPECT_EQ(*read_token("", kToken), kToken);
  EXPECT_EQ(*read_token("", nullptr), "");
  EXPECT_EQ(*read_token("", ""), "");
  EXPECT_THAT(read_token("", "short").error().message, HasSubstr("MUSTER_UI_TOKEN: no token; want one line of 16"));
  for (const std::string bad :
       {"", "with blanks in between", "two\nlines-of-a-token", "caf\xc3\xa9-caf\xc3\xa9-caf\xc3\xa9"}) {
    const auto read = read_token(scratch.write("bad", bad).string(), nullptr);
    ASSERT_FALSE(read) << bad;
    EXPECT_EQ(read.error().code, ErrorCode::kUsage);
  }
  EXPECT_FALSE(read_token((scratch / "none").string(), nullptr));
}

TEST(Secrets, AreTheSameOnlyIfAllOfThemIs) {
  EXPECT_TRUE(same_secret("abc", "abc"));
  EXPECT_TRUE(same_secret("", ""));
  for (const char* other : {"abd", "ab", "abcabc", "", "Abc"}) {
    EXPECT_FALSE(same_secret("abc", other)) << other;
    EXPECT_FALSE(same_secret(other, "abc")) << other;
  }
}

TEST(Loopback, IsToldByTheAddress) {
  for (const char* address : {"127.0.0.1", "127.1.2.3", "::1", "localhost"})
    EXPECT_TRUE(is_loopback(address)) << address;
  for (const char* address : {"0.0.0.0", "::", "192.168.1.1", "example.org", "", "128.0.0.1"}) {
    EXPECT_FALSE(is_loopback(address)) << address;
  }
}

}  // namespace
}  // namespace muster
