// Clients with data of their own: they are told how to read, wait with their sheet until it is known who they are, and
// are welcomed by their number and not before.
#include <gtest/gtest.h>

#include "wire/remote_clients.h"

namespace muster {
namespace {

class KeptChannel final : public Channel {
 public:
  void send(Outgoing outgoing) override { frames.push_back(std::move(outgoing.frame)); }
  void close() override { closed = true; }
  std::vector<v1::Frame> frames;
  bool closed = false;
};

class WaitingPeer : public testing::Test {
 protected:
  struct Dialled {
    std::shared_ptr<KeptChannel> channel = std::make_shared<KeptChannel>();
    std::shared_ptr<ChannelUser> user;
  };
  Dialled dial() {
    Dialled peer;
    peer.user = host.attach(peer.channel, "peer", false, [](const v1::Client&) { return true; });
    return peer;
  }
  static v1::Frame hello(const std::string& name, bool with_sheet) {
    v1::Frame frame;
    frame.mutable_hello()->set_version(1);
    v1::Client& client = *frame.mutable_hello()->add_clients();
    client.set_name(name);
    if (with_sheet) client.mutable_data()->set_rows(3);
    return frame;
  }

  bool known = false;  // who is who
  RemoteClients host{
      [this](const std::vector<v1::Client>& clients) -> Result<RemoteClients::Admitted> {
        if (!known) return RemoteClients::Admitted();
        if (clients[0].name() == "odd") return usage_error("it does not fit");
        return RemoteClients::Admitted(std::vector<ClientId>{ClientId{clients[0].name() == "b" ? 7u : 4u}});
      },
      WireEvents{}};
};

TEST_F(WaitingPeer, IsToldHowToReadAndWelcomedByItsNumber) {
  v1::HowToRead how;
  how.set_recipe("rounds = 1");
  host.set_how_to_read(how);
  Dialled b = dial();
  b.user->received(hello("b", false));
  ASSERT_EQ(b.channel->frames.size(), 1u);
  EXPECT_EQ(b.channel->frames[0].how_to_read().recipe(), "rounds = 1");
  EXPECT_TRUE(host.waiting().empty());
  b.user->received(hello("b", true));
  ASSERT_EQ(host.waiting().size(), 1u);
  EXPECT_EQ(host.waiting()[0].data().rows(), 3u);
  known = true;
  host.begin({});
  EXPECT_EQ(b.channel->frames.size(), 1u) << "it has no number yet";
  host.admit_waiting();
  ASSERT_EQ(b.channel->frames.size(), 2u);
  ASSERT_EQ(b.channel->frames[1].welcome().clients_size(), 1);
  EXPECT_EQ(b.channel->frames[1].welcome().clients(0), 7u);
  EXPECT_TRUE(host.connected({7}));
  EXPECT_TRUE(host.waiting().empty());
}

TEST_F(WaitingPeer, WhoGoesDoesNotWaitAnyLonger) {
  Dialled a = dial();
  a.user->received(hello("a", true));
  EXPECT_EQ(host.waiting().size(), 1u);
  a.user->closed("gone");
  EXPECT_TRUE(host.waiting().empty());
}

TEST_F(WaitingPeer, OneNameWaitsOnce) {
  Dialled a = dial();
  Dialled other = dial();
  a.user->received(hello("a", true));
  other.user->received(hello("a", true));
  ASSERT_EQ(other.channel->frames.size(), 1u);
  EXPECT_EQ(other.channel->frames[0].refusal().reason(), "a is here already, by peer");
  EXPECT_TRUE(other.channel->frames[0].refusal().again());
  EXPECT_EQ(host.waiting().size(), 1u);
}

TEST_F(WaitingPeer, MayBeRefusedWithTheReason) {
  Dialled a = dial();
  Dialled odd = dial();
  a.user->received(hello("a", true));
  odd.user->received(hello("odd", true));
  host.refuse(hello("a", false).hello().clients(0), "its columns differ", false);
  ASSERT_EQ(a.channel->frames.size(), 1u);
  EXPECT_EQ(a.channel->frames[0].refusal().reason(), "its columns differ");
  EXPECT_FALSE(a.channel->frames[0].refusal().again());
  EXPECT_TRUE(a.channel->closed);
  known = true;
  host.admit_waiting();
  ASSERT_EQ(odd.channel->frames.size(), 1u);
  EXPECT_EQ(odd.channel->frames[0].refusal().reason(), "it does not fit");
}

}  // namespace
}  // namespace muster
