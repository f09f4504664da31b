#include "net/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/http_get.h"

namespace muster {
namespace {

using testing::HasSubstr;

HttpAnswer echo(const std::string& path) {
  return {.status = path == "/bad" ? 503 : 200, .body = "you said " + path};
}

std::string address(const HttpServer& server) {
  return "127.0.0.1:" + std::to_string(server.port());
}

TEST(HttpServer, AnswersGetAndNothingElse) {
  const auto server = HttpServer::start(0, echo);
  ASSERT_TRUE(server.ok()) << server.error().message;
  const std::string at = address(**server);
  const HttpGot good = http_get(at, "/metrics");
  EXPECT_EQ(good.status, 200);
  EXPECT_EQ(good.body, "you said /metrics");
  EXPECT_THAT(good.head, HasSubstr("text/plain"));
  EXPECT_EQ(http_get(at, "/bad").status, 503);
  EXPECT_NE(http_say(at, "POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc").status, 200);
  EXPECT_NE(http_say(at, "nonsense\r\n\r\n").status, 200);
  EXPECT_EQ(http_get(at, "/after").body, "you said /after");
}

TEST(HttpServer, RefusesAPortThatIsTaken) {
  const auto first = HttpServer::start(0, echo);
  ASSERT_TRUE(first.ok());
  const auto second = HttpServer::start(static_cast<std::uint16_t>((*first)->port()), echo);
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(second.error().message, HasSubstr(address(**first)));
}

TEST(HttpServer, EndsAtOnce) {
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(HttpServer::start(0, echo).ok());
}

}  // namespace
}  // namespace muster
