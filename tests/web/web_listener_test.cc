#include "web/web_listener.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/clock.h"
#include "raw_peer.h"

namespace muster {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class ListenerTest : public testing::Test {
 protected:
  void start(WebListenerOptions options, WebListener::Answer answer) {
    auto started = WebListener::start(options, std::move(answer));
    ASSERT_TRUE(started) << started.error().message;
    listener_ = std::move(started).value();
  }
  void start_echo(WebListenerOptions options = {}) {
    start(options, [](const WebRequest& request) {
      return WebAnswer{.body = request.path, .headers = {{"X-Peer", request.peer}}};
    });
  }
  int port() const { return listener_->port(); }
  std::unique_ptr<WebListener> listener_;
};

TEST_F(ListenerTest, AnswersGetAndHeadAndNothingElse) {
  start_echo();
  const std::string answer = http_get(port(), "/a%20b?c=d");
  EXPECT_EQ(http_status(answer), 200);
  EXPECT_EQ(http_body(answer), "/a b");
  EXPECT_EQ(http_header(answer, "X-Peer"), "127.0.0.1");
  EXPECT_EQ(http_body(http_get(port(), "/", "", "HEAD")), "");
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "PATCH"}) {
    const std::string refused = http_get(port(), "/", "Content-Length: 3\r\n", method);
    EXPECT_EQ(http_status(refused), 405) << method;
    EXPECT_EQ(http_header(refused, "Allow"), "GET, HEAD") << method;
  }
}

TEST_F(ListenerTest, KeepsAConnectionForTheNextRequestButNotBehindABody) {
  start_echo();
  RawPeer peer(port());
  for (const std::string path : {"/one", "/two"}) {
    peer.send("GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_THAT(peer.read(5, path), HasSubstr(path));
  }
  // A second request hidden in the body of the first is never answered.
  peer.send("GET /three HTTP/1.1\r\nHost: x\r\nContent-Length: 40\r\n\r\nGET /four HTTP/1.1\r\nHost: x\r\n\r\n");
  const std::string rest = peer.read(5);
  EXPECT_THAT(rest, HasSubstr("/three"));
  EXPECT_THAT(rest, testing::Not(HasSubstr("/four")));
  EXPECT_TRUE(peer.closed());
}

TEST_F(ListenerTest, OutlivesWhateverIsSent) {
  start_echo();
  const std::string many_headers = [] {
    std::string text;
    for (int i = 0; i < 5000; ++i) text += "X-" + std::to_string(i) + ": y\r\n";
    return text;
  }();
  const std::string sent[] = {"",
                              "\r\n",
                              "\r\n\r\n\r\n",
                              "GET\r\n\r\n",
                              "GET / HTTP/9.9\r\n\r\n",
                              std::string(100, '\0'),
                              "GET " + std::string(20'000, 'a') + " HTTP/1.1\r\n\r\n",
                              std::string(200'000, 'x'),
                              "GET / HTTP/1.1\r\n" + many_headers + "\r\n",
                              "GET / HTTP/1.1\r\nRange: bytes=" + std::string(7000, '0') + "-\r\n\r\n",
                              "GET / HTTP/1.1\r\nRange: bytes=0-1,0-1,0-1\r\n\r\n",
                              "GET /%00%ff%zz%2e%2e HTTP/1.1\r\nHost: x\r\n\r\n",
                              "GET /" + std::string(7000, '%') + " HTTP/1.1\r\n\r\n",
                              "\x16\x03\x01\x02\x01\x01",
                              "GET / HTTP/1.1\nHost: x\n\n",
                              "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
                              "GET / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n\r\n",
                              "GET http://elsewhere/ HTTP/1.1\r\nHost: x\r\n\r\n"};
  for (const std::string& text : sent) {
    RawPeer peer(port());
    peer.send(text);
    ::shutdown(peer.socket(), SHUT_WR);
    const std::string answer = peer.read(15);
    EXPECT_TRUE(answer.empty() || answer.starts_with("HTTP/1.1 ")) << answer.substr(0, 80);
  }
  EXPECT_EQ(http_status(http_get(port(), "/")), 200);
}

TEST_F(ListenerTest, GivesNobodyLongerForARequestHoweverSlowlyItComes) {
  start_echo({.connections = 3, .request_s = 0.6});
  const double begun = now_s();
  std::vector<std::unique_ptr<RawPeer>> slow;
  for (int i = 0; i < 3; ++i) {
    slow.push_back(std::make_unique<RawPeer>(port()));
    slow.back()->send("GET / HTTP/1.1\r\nHost: x\r\n");
  }
  // A byte now and then does not help them.
  std::string first;
  while (now_s() - begun < 5 && !slow[0]->closed()) {
    for (const auto& peer : slow) peer->send("X");
    first += slow[0]->read(0.1);
  }
  EXPECT_TRUE(slow[0]->closed());
  EXPECT_LT(now_s() - begun, 4);
  EXPECT_EQ(http_status(http_get(port(), "/")), 200);
}

TEST_F(ListenerTest, TurnsAwayWhoeverIsTooMany) {
  start_echo({.connections = 2, .idle_s = 30});
  RawPeer one(port());
  RawPeer two(port());
  for (RawPeer* peer : {&one, &two}) {
    peer->send("GET /in HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_THAT(peer->read(5, "/in"), HasSubstr("200 OK"));
  }
  RawPeer three(port());
  three.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  const std::string answer = three.read(5);
  EXPECT_THAT(answer,
              testing::AnyOf(StartsWith("HTTP/1.1 503"), testing::IsEmpty()));  // empty: reset, with bytes unread
  EXPECT_TRUE(three.closed());
  one.send("GET /again HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(one.read(5, "/again"), HasSubstr("/again"));
}

TEST_F(ListenerTest, AnswersHundredsOneAfterTheOtherAndManyAtATime) {
  start_echo();
  std::atomic<int> good = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 25; ++i) good += http_status(http_get(port(), "/")) == 200 ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 200);
}

TEST_F(ListenerTest, LetsASlowReaderOfAStreamGo) {
  std::atomic<int> ended = 0;
  start({.write_s = 0.5}, [&ended](const WebRequest&) {
    struct Told {
      explicit Told(std::atomic<int>& count) : count_(count) {}
      ~Told() { ++count_; }
      std::atomic<int>& count_;
    };
    return WebAnswer{.type = "text/event-stream",
                     .stream = [told = std::make_shared<Told>(ended),
                                piece = std::string(100'000, 'x')](const StreamWrite& write) { return write(piece); }};
  });
  RawPeer peer(port());
  peer.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  const double begun = now_s();
  while (ended == 0 && now_s() - begun < 10) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(ended, 1) << "it never reads, and the stream does not wait for it";
}

TEST_F(ListenerTest, StopsAtOnceWithOpenStreamsAndIdleConnections) {
  start({}, [](const WebRequest&) {
    return WebAnswer{.type = "text/event-stream", .stream = [](const StreamWrite& write) {
                       std::this_thread::sleep_for(std::chrono::milliseconds(100));
                       return write(": here\n\n");
                     }};
  });
  RawPeer stream(port());
  RawPeer idle(port());
  stream.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(stream.read(5, ": here"), HasSubstr("text/event-stream"));
  const double begun = now_s();
  listener_.reset();
  EXPECT_LT(now_s() - begun, 2);
}

TEST_F(ListenerTest, SaysWhyItCannotListen) {
  start_echo();
  const auto second = WebListener::start({.port = listener_->port()}, [](const WebRequest&) { return WebAnswer{}; });
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr("the port is taken"));
  EXPECT_FALSE(WebListener::start({.address = "192.0.2.1"}, [](const WebRequest&) { return WebAnswer{}; }));
}

}  // namespace
}  // namespace muster
