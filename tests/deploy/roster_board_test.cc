// Who is here, through whom and since when; who has gone, and why; who was dropped: as one value, at any time.
#include "deploy/roster_board.h"

#include <gtest/gtest.h>

#include "deploy/cloud_run.h"
#include "engine/models.h"
#include "wire/noted_channel.h"

namespace muster {
namespace {

v1::Frame hello_of(std::initializer_list<std::uint32_t> clients, bool edge) {
  v1::Frame frame;
  frame.mutable_hello()->set_version(1);
  frame.mutable_hello()->set_hosts_groups(edge);
  for (const std::uint32_t client : clients) frame.mutable_hello()->add_clients()->set_simulated(client);
  return frame;
}

class RosterBoardTest : public testing::Test {
 protected:
  RosterBoardTest() : roster({}, 2, 1) {
    for (const char* name : {"ann", "", "cid", "", "eva"}) roster.add({.name = name, .train_samples = 3});
    WireRun run;
    run.welcome.set_run("r");
    host.begin(std::move(run));
  }
  std::shared_ptr<ChannelUser> dial(const std::string& name, bool edge) {
    return host.attach(std::make_shared<NotedChannel>(), name, edge, [](const v1::Client&) { return true; });
  }

  Roster roster;
  RemoteClients host{simulated_admission(5), WireEvents{}};
  RosterBoard board;
};

TEST_F(RosterBoardTest, TellsOfEverybodyWhoWasEverHere) {
  EXPECT_TRUE(board.view().clients.empty());
  EXPECT_EQ(board.view().run, "");
  board.open(host, roster);
  EXPECT_EQ(board.view().roster, 5u);
  EXPECT_TRUE(board.view().clients.empty());

  const auto before = std::chrono::system_clock::now();
  const auto direct = dial("client ann", false);
  direct->received(hello_of({0}, false));
  const auto edge = dial("edge north", true);
  edge->received(hello_of({1, 2}, true));
  RosterView view = board.view();
  EXPECT_EQ(view.run, "r");
  EXPECT_EQ(view.here, 3u);
  ASSERT_EQ(view.clients.size(), 3u);
  EXPECT_EQ(view.clients[0].name, "ann");
  EXPECT_EQ(view.clients[0].peer, "client ann");
  EXPECT_FALSE(view.clients[0].by_edge);
  EXPECT_GE(view.clients[0].since, before);
  EXPECT_EQ(view.clients[2].client.value, 2u);
  EXPECT_EQ(view.clients[2].peer, "edge north");
  EXPECT_TRUE(view.clients[2].by_edge);

  v1::Frame presence;
  presence.mutable_presence()->add_went()->set_simulated(2);
  edge->received(presence);
  direct->closed("the connection\nended");
  view = board.view();
  EXPECT_EQ(view.here, 1u);
  EXPECT_FALSE(view.clients[0].here);
  EXPECT_EQ(view.clients[0].why.find('\n'), std::string::npos) << view.clients[0].why;
  EXPECT_NE(view.clients[0].why.find("ended"), std::string::npos) << view.clients[0].why;
  EXPECT_FALSE(view.clients[2].here);
  EXPECT_EQ(view.clients[2].why, "it is no longer at its edge");
  EXPECT_TRUE(view.clients[1].here);

  // It comes back another way, and what was is forgotten.
  const auto again = dial("client cid", false);
  again->received(hello_of({2}, false));
  view = board.view();
  EXPECT_TRUE(view.clients[2].here);
  EXPECT_EQ(view.clients[2].peer, "client cid");
  EXPECT_EQ(view.clients[2].why, "");

  RoundRecord record{.round = 4};
  record.dropped = {{{2}, DropReason::kStraggler}, {{4}, DropReason::kUnreachable}};
  const std::unique_ptr<Models> models = make_client_models({});
  board.end(*models, record);
  record.round = 6;
  record.dropped = {{{4}, DropReason::kUnreachable}};
  board.end(*models, record);
  view = board.view();
  ASSERT_EQ(view.clients.size(), 4u);
  EXPECT_EQ(view.clients[2].last_drop_reason, "straggler");
  EXPECT_EQ(view.clients[2].last_drop_round, 4u);
  EXPECT_EQ(view.clients[3].name, "eva");
  EXPECT_EQ(view.clients[3].drops, 2u);
  EXPECT_EQ(view.clients[3].last_drop_round, 6u);
  EXPECT_FALSE(view.clients[3].here) << "it never was";

  board.close();
  again->closed("over");
  edge->closed("over");
  EXPECT_EQ(board.view().here, 2u) << "as it was when it was closed";
}

}  // namespace
}  // namespace muster
