// Clients behind an edge, as the cloud sees them: they come and are refused one by one, and the edge is told who they
// are. And as the edge sees them: those with data of their own wait for what the cloud says.
#include <gtest/gtest.h>

#include <deque>

#include "wire/noted_channel.h"
#include "wire/remote_clients.h"

namespace muster {
namespace {

v1::Client simulated(std::uint32_t number) {
  v1::Client client;
  client.set_simulated(number);
  return client;
}

v1::Client named(const std::string& name, std::uint32_t rows = 3) {
  v1::Client client;
  client.set_name(name);
  if (rows > 0) client.mutable_data()->set_rows(rows);
  return client;
}

v1::Frame hello_of(const std::vector<v1::Client>& clients, bool edge) {
  v1::Frame frame;
  frame.mutable_hello()->set_version(1);
  frame.mutable_hello()->set_hosts_groups(edge);
  for (const v1::Client& client : clients) *frame.mutable_hello()->add_clients() = client;
  return frame;
}

v1::Frame presence_of(const std::vector<v1::Client>& came, const std::vector<v1::Client>& went) {
  v1::Frame frame;
  for (const v1::Client& client : came) *frame.mutable_presence()->add_came() = client;
  for (const v1::Client& client : went) *frame.mutable_presence()->add_went() = client;
  return frame;
}

WireRun run_of(std::uint32_t incarnation) {
  WireRun run{.most_values = 10};
  run.welcome.set_run("r");
  run.welcome.set_incarnation(incarnation);
  return run;
}

v1::HowToRead read_by(const std::string& recipe) {
  v1::HowToRead how;
  how.set_recipe(recipe);
  return how;
}

class EdgeJoining : public testing::Test {
 protected:
  struct Dialled {
    std::shared_ptr<NotedChannel> channel = std::make_shared<NotedChannel>();
    std::shared_ptr<ChannelUser> user;

    // The frame that came last.
    [[nodiscard]] const v1::Frame& last() const { return channel->sent.back().frame; }
  };
  static Dialled dial(RemoteClients& host, const std::string& name, bool edge) {
    Dialled peer;
    peer.user = host.attach(peer.channel, name, edge, [](const v1::Client&) { return true; });
    return peer;
  }
  void TearDown() override {
    for (const Dialled& peer : peers) peer.user->closed("over");
  }
  Dialled& cloud_is_dialled(const std::string& name) { return peers.emplace_back(dial(cloud, name, true)); }
  Dialled& edge_is_dialled(const std::string& name) { return peers.emplace_back(dial(edge, name, false)); }

  // Numbers below 4, and names of one letter, of which a is 0.
  bool known = true;
  RemoteClients cloud{
      [this](const std::vector<v1::Client>& clients) -> Result<RemoteClients::Admitted> {
        std::vector<ClientId> ids;
        for (const v1::Client& client : clients) {
          if (client.has_name() && client.name().size() > 1) return usage_error("it does not fit");
          if (client.has_name() && !known) return RemoteClients::Admitted();
          if (!client.has_name() && client.simulated() > 3) return usage_error("want at most 3");
          ids.push_back({client.has_name() ? static_cast<std::uint32_t>(client.name()[0] - 'a') : client.simulated()});
        }
        return RemoteClients::Admitted(std::move(ids));
      },
      WireEvents{}};
  std::vector<std::string> told;  // by the edge to its cloud
  RemoteClients edge{[](const std::vector<v1::Client>& clients) -> Result<RemoteClients::Admitted> {
                       if (clients[0].has_name()) {
                         if (!clients[0].has_data()) return usage_error("this run's clients are simulated");
                         return RemoteClients::Admitted();
                       }
                       return RemoteClients::Admitted(std::vector<ClientId>{{clients[0].simulated()}});
                     },
                     WireEvents{.presence = [this](const auto& came, const auto& went) {
                       for (const v1::Client& client : came) told.push_back("+" + client.name());
                       for (const v1::Client& client : went) told.push_back("-" + client.name());
                     }}};
  std::deque<Dialled> peers;
};

TEST_F(EdgeJoining, OneClientIsRefusedAndTheOthersStay) {
  cloud.begin(run_of(1));
  Dialled& north = cloud_is_dialled("edge north");
  north.user->received(hello_of({simulated(1), simulated(9), simulated(2)}, true));
  EXPECT_FALSE(north.channel->closed);
  EXPECT_TRUE(cloud.connected({1}));
  EXPECT_TRUE(cloud.connected({2}));
  ASSERT_EQ(north.channel->sent.size(), 2u);
  EXPECT_TRUE(north.channel->sent[0].frame.has_welcome());
  const v1::Admission& admission = north.last().admission();
  ASSERT_EQ(admission.clients_size(), 1) << "who is taken knows its number";
  EXPECT_EQ(admission.clients(0).client().simulated(), 9u);
  EXPECT_EQ(admission.clients(0).refusal().reason(), "want at most 3");
  EXPECT_FALSE(admission.clients(0).refusal().again());

  // One that is with another edge is that one's, until it goes.
  Dialled& south = cloud_is_dialled("edge south");
  south.user->received(hello_of({simulated(2), simulated(3)}, true));
  EXPECT_FALSE(south.channel->closed);
  EXPECT_EQ(south.last().admission().clients(0).refusal().reason(), "client 2 is here already, by edge north");
  EXPECT_TRUE(south.last().admission().clients(0).refusal().again());
  north.user->received(presence_of({}, {simulated(2)}));
  EXPECT_FALSE(cloud.connected({2}));
  const std::size_t frames = south.channel->sent.size();
  south.user->received(presence_of({simulated(2)}, {}));
  EXPECT_TRUE(cloud.connected({2}));
  EXPECT_EQ(south.channel->sent.size(), frames) << "it is welcomed once, not with every client";
}

TEST_F(EdgeJoining, ClientsWithDataGetTheirNumbersThroughTheEdge) {
  known = false;
  cloud.set_how_to_read(read_by("rounds = 1"));
  Dialled& north = cloud_is_dialled("edge north");
  north.user->received(hello_of({}, true));
  ASSERT_EQ(north.channel->sent.size(), 1u);
  EXPECT_EQ(north.last().how_to_read().recipe(), "rounds = 1");
  for (const char* name : {"b", "d", "odd"}) north.user->received(presence_of({named(name)}, {}));
  EXPECT_EQ(north.last().admission().clients(0).client().name(), "odd");
  EXPECT_EQ(north.last().admission().clients(0).refusal().reason(), "it does not fit");
  ASSERT_EQ(cloud.waiting().size(), 2u);
  EXPECT_EQ(cloud.waiting()[0].data().rows(), 3u);
  north.user->received(presence_of({}, {named("d", 0)}));
  EXPECT_EQ(cloud.waiting().size(), 1u);
  north.user->received(presence_of({named("c")}, {}));
  cloud.refuse(named("c", 0), "its columns differ", false);
  EXPECT_EQ(north.last().admission().clients(0).refusal().reason(), "its columns differ");
  EXPECT_FALSE(north.channel->closed);
  known = true;
  cloud.begin(run_of(1));
  EXPECT_TRUE(north.last().has_welcome());
  cloud.admit_waiting();
  ASSERT_EQ(north.last().admission().clients_size(), 1);
  EXPECT_EQ(north.last().admission().clients(0).id(), 1u);
  EXPECT_EQ(north.last().admission().most_values(), 10u);
  EXPECT_TRUE(cloud.connected({1}));
  EXPECT_EQ(cloud.attendance()[0].name, "b");
}

TEST_F(EdgeJoining, AtTheEdgeTheyWaitForWhatTheCloudSays) {
  Dialled& a = edge_is_dialled("client a");
  a.user->received(hello_of({named("a", 0)}, false));
  EXPECT_TRUE(a.channel->sent.empty()) << "how data are to be read is not known yet";
  edge.set_how_to_read(read_by("rounds = 1"));
  ASSERT_EQ(a.channel->sent.size(), 1u);
  EXPECT_EQ(a.last().how_to_read().recipe(), "rounds = 1");
  a.user->received(hello_of({named("a")}, false));
  EXPECT_EQ(told, std::vector<std::string>{"+a"});

  Dialled& again = edge_is_dialled("client a");
  again.user->received(hello_of({named("a")}, false));
  EXPECT_EQ(again.last().refusal().reason(), "a is here already, by client a");
  EXPECT_EQ(told.size(), 1u) << "nobody has gone";

  edge.begin(run_of(1));
  EXPECT_EQ(a.channel->sent.size(), 1u) << "it has no number yet";
  edge.admit(named("a", 0), {2});
  EXPECT_EQ(a.last().welcome().clients(0), 2u);
  EXPECT_TRUE(edge.connected({2}));
  edge.admit(named("a", 0), {2});  // the edge has dialled the cloud again
  EXPECT_FALSE(a.channel->closed);

  // Another start of the cloud: everybody is welcomed again, by the number it has.
  edge.begin(run_of(2));
  EXPECT_EQ(a.last().welcome().incarnation(), 2u);
  const std::size_t frames = a.channel->sent.size();
  edge.begin(run_of(2));
  EXPECT_EQ(a.channel->sent.size(), frames);
  edge.admit(named("a", 0), {1});
  EXPECT_TRUE(a.last().refusal().again()) << "it is to begin anew";
  EXPECT_EQ(told, (std::vector<std::string>{"+a", "-a"}));
}

TEST_F(EdgeJoining, WhoWaitsAtAnEdgeMayGoOrBeRefused) {
  edge.set_how_to_read(read_by("rounds = 1"));
  Dialled& a = edge_is_dialled("client a");
  a.user->received(hello_of({named("a")}, false));
  a.user->closed("gone");
  EXPECT_EQ(told, (std::vector<std::string>{"+a", "-a"}));
  Dialled& b = edge_is_dialled("client b");
  b.user->received(hello_of({named("b")}, false));
  edge.refuse(named("b", 0), "it does not fit", false);
  EXPECT_EQ(b.last().refusal().reason(), "it does not fit");
  EXPECT_TRUE(b.channel->closed);
  EXPECT_EQ(told.back(), "-b");
  Dialled& c = edge_is_dialled("client c");
  c.user->received(hello_of({named("c")}, false));
  edge.set_how_to_read(read_by("rounds = 2"));
  EXPECT_TRUE(c.last().refusal().again()) << "what it told was read in another way";
  edge.admit(named("nobody", 0), {3});
  EXPECT_FALSE(edge.connected({3}));
}

TEST_F(EdgeJoining, ARunOfSimulatedClientsRefusesThoseWithData) {
  Dialled& a = edge_is_dialled("client a");
  a.user->received(hello_of({named("a", 0)}, false));
  EXPECT_FALSE(a.channel->closed);
  edge.begin(run_of(1));
  EXPECT_EQ(a.last().refusal().reason(), "this run's clients are simulated");
  EXPECT_FALSE(a.last().refusal().again());
  Dialled& b = edge_is_dialled("client b");
  b.user->received(hello_of({named("b", 0)}, false));
  EXPECT_EQ(b.last().refusal().reason(), "this run's clients are simulated");
}

}  // namespace
}  // namespace muster
