// Frames over gRPC on loopback: they arrive whole and in order, both ends learn that a stream has ended, and nobody
// waits for ever for somebody who is not there.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "net/dialer.h"
#include "net/grpc_setup.h"
#include "net/listener.h"
#include "wire/chunks.h"

namespace muster {
namespace {

constexpr ChunkReader::Limits kRoomy{.vector_values = 1 << 24, .held_values = 1 << 25, .held_vectors = 4};

// Remembers what it hears, and answers a Hello with a Finished of the same words.
class Hearing final : public ChannelUser {
 public:
  void received(v1::Frame frame) override {
    const std::lock_guard lock(mutex_);
    if (frame.has_hello() && channel) {
      v1::Frame answer;
      answer.mutable_finished()->set_signature(frame.hello().program());
      channel->send({std::move(answer)});
      if (pause.count() > 0) channel->pause(pause);
    }
    if (frame.has_chunk()) {
      EXPECT_TRUE(reader.add(frame.chunk()).ok());
    }
    frames.push_back(std::move(frame));
    changed_.notify_all();
  }
  void closed(const std::string& why) override {
    const std::lock_guard lock(mutex_);
    gone = why;
    changed_.notify_all();
  }
  bool wait(const std::function<bool()>& holds) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), holds);
  }

  std::shared_ptr<Channel> channel;
  std::chrono::milliseconds pause{0};  // after each Hello
  std::vector<v1::Frame> frames;
  ChunkReader reader{kRoomy};
  std::string gone;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
};

constexpr std::chrono::milliseconds kSoon{500};

class Loopback : public testing::Test {
 protected:
  void SetUp() override { listen(std::chrono::seconds(10)); }
  void listen(std::chrono::milliseconds silence) {
    listener.reset();
    auto started =
        Listener::start({.address = "127.0.0.1:0",
                         .attach = [this](const std::string&, const std::string&,
                                          std::shared_ptr<Channel> channel) -> Result<std::shared_ptr<ChannelUser>> {
                           if (!refusal.empty()) return failure("{}", refusal);
                           host->channel = std::move(channel);
                           return std::shared_ptr<ChannelUser>(host);
                         },
                         .silence = silence});
    ASSERT_TRUE(started.ok()) << started.error().message;
    listener = std::move(started).value();
  }
  void TearDown() override {
    if (peer->channel) peer->channel->close();
    listener.reset();
    EXPECT_TRUE(peer->wait([&] { return !peer->gone.empty(); }));
    host->channel.reset();
  }
  void connect() {
    dial(fmt::format("127.0.0.1:{}", listener->port()), {}, [this](std::shared_ptr<Channel> channel) {
      peer->channel = std::move(channel);
      return peer;
    });
  }
  void say(const std::string& words) {
    v1::Frame frame;
    frame.mutable_hello()->set_program(words);
    peer->channel->send({std::move(frame)});
  }

  std::string refusal;
  std::shared_ptr<Hearing> host = std::make_shared<Hearing>();
  std::shared_ptr<Hearing> peer = std::make_shared<Hearing>();
  std::unique_ptr<Listener> listener;
};

TEST_F(Loopback, FramesGoBothWaysInOrder) {
  connect();
  for (int i = 0; i < 100; ++i) say(std::to_string(i));
  ASSERT_TRUE(peer->wait([&] { return peer->frames.size() == 100; }));
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(peer->frames[static_cast<std::size_t>(i)].finished().signature(), std::to_string(i));
}

TEST_F(Loopback, AVectorArrivesWholeBeforeWhatFollowsIt) {
  connect();
  auto vector = std::make_shared<WireVector>(WireVector{1, std::vector<float>(3'000'001)});
  for (std::size_t i = 0; i < vector->values.size(); ++i) vector->values[i] = static_cast<float>(i % 1013);
  peer->channel->send({{}, vector});
  say("after it");
  ASSERT_TRUE(peer->wait([&] { return !peer->frames.empty(); }));
  ASSERT_TRUE(host->reader.find(1));
  EXPECT_EQ(host->reader.find(1)->values, vector->values);
}

TEST_F(Loopback, WhatWasSentBeforeClosingArrives) {
  connect();
  say("last words");
  peer->channel->close();
  ASSERT_TRUE(host->wait([&] { return !host->gone.empty(); }));
  ASSERT_EQ(host->frames.size(), 1u);
  EXPECT_EQ(host->frames[0].hello().program(), "last words");
}

TEST_F(Loopback, TheHostMayCloseToo) {
  connect();
  say("hello");
  ASSERT_TRUE(peer->wait([&] { return !peer->frames.empty(); }));
  host->channel->close();
  EXPECT_TRUE(peer->wait([&] { return !peer->gone.empty(); }));
}

TEST_F(Loopback, WhoIsRefusedLearnsWhy) {
  refusal = "certificate of client site-3 was revoked";
  connect();
  ASSERT_TRUE(peer->wait([&] { return !peer->gone.empty(); }));
  EXPECT_NE(peer->gone.find(refusal), std::string::npos) << peer->gone;
}

TEST_F(Loopback, WhatCannotBeReadEndsTheStreamWithoutAWordOfTheLibrary) {
  connect();
  testing::internal::CaptureStderr();
  say("\xff\xfe");  // no UTF-8
  const bool ended = host->wait([&] { return !host->gone.empty(); });
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_TRUE(ended);
  EXPECT_TRUE(host->frames.empty());
}

TEST_F(Loopback, WhoSaysNothingIsSentAway) {
  listen(kSoon);
  connect();
  ASSERT_TRUE(host->wait([&] { return !host->gone.empty(); }));
  EXPECT_EQ(host->gone, "it said nothing");
  EXPECT_TRUE(peer->wait([&] { return !peer->gone.empty(); }));
}

TEST_F(Loopback, WhoSaysSomethingStays) {
  listen(kSoon);
  connect();
  say("hello");
  std::this_thread::sleep_for(std::chrono::milliseconds(1000));
  say("still here");
  ASSERT_TRUE(peer->wait([&] { return peer->frames.size() == 2; }));
}

TEST_F(Loopback, WhoConnectsWithoutAStreamIsSentAway) {
  listen(kSoon);
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{.sin_family = AF_INET, .sin_port = htons(static_cast<std::uint16_t>(listener->port()))};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  pollfd ended{.fd = socket, .events = POLLIN};
  char bytes[4096];
  ssize_t read = 1;
  while (read > 0 && ::poll(&ended, 1, 15000) == 1) read = ::recv(socket, bytes, sizeof bytes, 0);
  EXPECT_LE(read, 0) << "it is still open";
  ::close(socket);
  connect();  // for TearDown
}

// The host reads one frame in 100 ms: the rest waits with whoever sends it, and all of it arrives in the end.
TEST_F(Loopback, AHostThatPausesSlowsDownWhoSends) {
  host->pause = std::chrono::milliseconds(100);
  connect();
  const auto begun = std::chrono::steady_clock::now();
  for (int i = 0; i < 6; ++i) say(std::to_string(i));
  ASSERT_TRUE(peer->wait([&] { return peer->frames.size() == 6; }));
  EXPECT_GE(std::chrono::steady_clock::now() - begun, std::chrono::milliseconds(500));
  EXPECT_EQ(peer->frames[5].finished().signature(), "5");
}

TEST_F(Loopback, AStreamMayEndWhileItPauses) {
  host->pause = std::chrono::milliseconds(700);
  connect();
  for (int i = 0; i < 3; ++i) say("hello");
  ASSERT_TRUE(peer->wait([&] { return !peer->frames.empty(); }));
  host->channel->close();
  EXPECT_TRUE(host->wait([&] { return !host->gone.empty(); }));
}

TEST_F(Loopback, NobodyThereIsToldAtOnce) {
  const int port = listener->port();
  listener.reset();
  dial(fmt::format("127.0.0.1:{}", port), {}, [this](std::shared_ptr<Channel> channel) {
    peer->channel = std::move(channel);
    return peer;
  });
  say("is anybody there?");
  ASSERT_TRUE(peer->wait([&] { return !peer->gone.empty(); }));
  EXPECT_NE(peer->gone.find("cannot be reached"), std::string::npos) << peer->gone;
}

TEST(Listening, AnAddressThatIsNotOursIsOneLine) {
  const auto started = Listener::start({.address = "192.0.2.1:7400"});
  ASSERT_FALSE(started.ok());
  EXPECT_NE(started.error().message.find("192.0.2.1:7400"), std::string::npos);
}

// Its own lines, one for each such text, would drown ours.
TEST(GrpcSetup, ProtobufSaysNothingOfTextThatIsNoUtf8) {
  set_up_grpc({});
  testing::internal::CaptureStderr();
  v1::Frame frame;
  EXPECT_FALSE(frame.ParseFromString("\x1a\x03\x0a\x01\xff"));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace muster
