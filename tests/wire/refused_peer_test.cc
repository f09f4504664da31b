// A peer that was refused: what it still says counts for nothing, and what is said of it is one line.
#include <gtest/gtest.h>

#include <thread>

#include "wire/noted_channel.h"
#include "wire/remote_clients.h"

namespace muster {
namespace {

class RefusedPeer : public testing::Test {
 protected:
  RefusedPeer() {
    WireRun run{.most_values = 10};
    run.welcome.set_run("r");
    run.welcome.set_incarnation(1);
    host.begin(std::move(run));
  }
  ~RefusedPeer() override { user->closed("over"); }

  std::string said;
  RemoteClients host{[](const std::vector<v1::Client>& clients) -> Result<RemoteClients::Admitted> {
                       std::vector<ClientId> ids;
                       for (const v1::Client& client : clients) {
                         if (client.has_name()) return usage_error("{}: want numbers", client.name());
                         ids.push_back({client.simulated()});
                       }
                       return RemoteClients::Admitted(std::move(ids));
                     },
                     WireEvents{.say = [this](const WireNote& note) { said += note.line + "|"; }}};
  std::shared_ptr<NotedChannel> channel = std::make_shared<NotedChannel>();
  std::shared_ptr<ChannelUser> user = host.attach(channel, "peer", false, [](const v1::Client&) { return true; });
};

TEST_F(RefusedPeer, CannotAnswerAnyMore) {
  v1::Frame hello;
  hello.mutable_hello()->set_version(1);
  hello.mutable_hello()->add_clients()->set_simulated(3);
  user->received(hello);
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
  std::thread asker([&] {
    const TrainAnswer answer = host.train({.client = {3}, .round = 1, .model = host.share({})}, until);
    EXPECT_EQ(std::get<Dropped>(answer.reply).reason, DropReason::kUnreachable);
  });
  while (host.figures().asks_open == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  v1::Frame reply;  // to the ask that it was sent
  for (const Outgoing& one : channel->sent) {
    if (one.frame.has_ask()) *reply.mutable_reply()->mutable_id() = one.frame.ask().id();
  }
  EXPECT_EQ(reply.reply().id().client(), 3u);
  user->received(v1::Frame{});
  EXPECT_TRUE(channel->closed);
  reply.mutable_reply()->mutable_trained()->set_samples(5);
  user->received(reply);
  asker.join();
  EXPECT_EQ(host.figures().clients, 0u);
}

TEST_F(RefusedPeer, IsSpokenOfInOneLine) {
  v1::Frame refusal;
  refusal.mutable_refusal()->set_reason("a\nb\x1b[2J" + std::string(10'000, 'x'));
  user->received(refusal);
  EXPECT_TRUE(said.starts_with("peer: a\\nb\\x1b[2Jxxx")) << said;
  EXPECT_LT(said.size(), 500u);
  said.clear();
  v1::Frame hello;
  hello.mutable_hello()->set_version(1);
  hello.mutable_hello()->add_clients()->set_name("x\ry");
  user->received(hello);
  EXPECT_EQ(said, "peer is refused: x\\ry: want numbers|");
}

}  // namespace
}  // namespace muster
