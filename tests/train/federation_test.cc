// The port of the round loop with peers that lie: what they send becomes drops of exactly those it concerns.
#include "train/federation.h"

#include <cmath>

#include "fake_federation.h"
#include "recording_link.h"

namespace muster {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Two groups, {0, 1} and {2}.
struct Peers {
  void train(bool members = false) {
    seen.clear();
    told.clear();
    const std::span<const ClientId> all(clients);
    const std::vector<GroupTask> tasks{{.group = {7}, .members = all.first(2)},
                                       {.group = {8}, .members = all.subspan(2)}};
    UpdateSink sink{.group = [&](GroupUpdate& update) { seen.push_back(update); }};
    if (members) {
      sink.member = [&](const GroupUpdate& update, std::span<const float> start) {
        EXPECT_EQ(start.data(), model.data());
        for (const MemberReport& member : update.members) told.push_back(member.client.value);
      };
    }
    ASSERT_TRUE(federation.train({.round = 1, .models = {model}}, tasks, sink).ok());
    ASSERT_EQ(seen.size(), 2u);
  }

  FakeFederation federation{{{10}, {20}, {30}}};
  std::vector<ClientId> clients = clients_up_to(3);
  std::vector<float> model = std::vector<float>(6, 1);
  std::vector<GroupUpdate> seen;
  std::vector<std::uint32_t> told;
};

TEST(Federation, HandsGoodUpdatesOn) {
  Peers peers;
  peers.train(true);
  EXPECT_EQ(peers.seen[0].group, GroupId{7});
  EXPECT_EQ(peers.seen[1].group, GroupId{8});
  EXPECT_EQ(peers.seen[0].samples, 30u);
  EXPECT_FLOAT_EQ(peers.seen[0].model[0], 1 + (1 * 10 + 2 * 20) / 30.0f);
  EXPECT_FLOAT_EQ(peers.seen[1].model[0], 4);
  EXPECT_THAT(peers.seen[0].dropped, IsEmpty());
  EXPECT_THAT(peers.told, ElementsAre(0, 1, 2));
}

TEST(Federation, ALyingGroupIsDroppedAndTheOthersAreNot) {
  const std::vector<std::pair<std::function<void(GroupUpdate&)>, DropReason>> lies{
      {[](GroupUpdate& u) { u.group = {8}; }, DropReason::kMalformed},
      {[](GroupUpdate& u) { u.members[0].client = {2}; }, DropReason::kMalformed},
      {[](GroupUpdate& u) { u.members[0].client = {1}; }, DropReason::kMalformed},
      {[](GroupUpdate& u) { u.members[0].client = {99}; }, DropReason::kMalformed},
      {[](GroupUpdate& u) { u.members.pop_back(); }, DropReason::kMalformed},
      {[](GroupUpdate& u) {
         u.dropped.push_back({{2}, DropReason::kFault});
       },
       DropReason::kMalformed},
      {[](GroupUpdate& u) { u.members[1].samples = 21; }, DropReason::kMalformed},
      {[](GroupUpdate& u) { u.members[1].visits = 0; }, DropReason::kMalformed},
      {[](GroupUpdate& u) { u.model.pop_back(); }, DropReason::kMalformed},
      {[](GroupUpdate& u) { u.payload = {1}; }, DropReason::kMalformed},
      {[](GroupUpdate& u) { u.model[3] = NAN; }, DropReason::kNonFinite},
      {[](GroupUpdate& u) { u.members[0].loss = INFINITY; }, DropReason::kNonFinite}};
  Peers peers;
  for (std::size_t i = 0; i < lies.size(); ++i) {
    peers.federation.spoil_group = [&](GroupUpdate& update) {
      if (update.group == GroupId{7}) lies[i].first(update);
    };
    peers.train();
    EXPECT_EQ(peers.seen[0].group, GroupId{7}) << i;
    EXPECT_TRUE(peers.seen[0].members.empty()) << i;
    EXPECT_EQ(peers.seen[0].samples, 0u) << i;
    ASSERT_EQ(peers.seen[0].dropped.size(), 2u) << i;
    for (std::uint32_t k = 0; k < 2; ++k) {
      EXPECT_EQ(peers.seen[0].dropped[k].client, ClientId{k}) << i;
      EXPECT_EQ(peers.seen[0].dropped[k].reason, lies[i].second) << i;
    }
    EXPECT_EQ(peers.seen[1].members.size(), 1u) << i;
  }
}

TEST(Federation, OnlyGoodMembersAreSeen) {
  Peers peers;
  const std::vector<std::function<void(GroupUpdate&)>> lies{
      [](GroupUpdate& u) { u.model[0] = NAN; },
      [](GroupUpdate& u) { u.model.pop_back(); },
      [](GroupUpdate& u) { u.members[0].client = {2}; },
      [](GroupUpdate& u) { u.members[0].client = {77}; },
      [](GroupUpdate& u) { u.members[0].samples = 1, u.samples = 1; },
      [](GroupUpdate& u) {
        u.dropped.push_back({{0}, DropReason::kFault});
      },
      [](GroupUpdate& u) {
        u.dropped.push_back({{99}, DropReason::kFault});
      },
      [](GroupUpdate& u) {
        u.members.push_back(u.members[0]);
        u.samples *= 2;
      },
      [](GroupUpdate& u) { u.group = {8}; }};
  for (const auto& lie : lies) {
    peers.federation.spoil_member = [&](GroupUpdate& update) {
      if (update.members[0].client == ClientId{0}) lie(update);
    };
    peers.train(true);
    EXPECT_THAT(peers.told, ElementsAre(1, 2));
  }
}

TEST(Federation, AMemberIsSeenOnceInARound) {
  Peers peers;
  peers.federation.spoil_member = [](GroupUpdate& update) {
    if (update.members[0].client == ClientId{1})
      update.members[0].client = {0}, update.members[0].samples = 10, update.samples = 10;
  };
  peers.train(true);
  EXPECT_THAT(peers.told, ElementsAre(0, 2));
  peers.train(true);  // but in every round
  EXPECT_THAT(peers.told, ElementsAre(0, 2));
}

TEST(Federation, AClientOfTwoGroupsIsSeenInBoth) {
  Peers peers;
  const std::vector<GroupTask> tasks{{.group = {7}, .members = std::span(peers.clients).first(2)},
                                     {.group = {8}, .members = std::span(peers.clients).subspan(1)}};
  UpdateSink sink{.group = [](GroupUpdate&) {}};
  sink.member = [&](const GroupUpdate& update, std::span<const float>) {
    peers.told.push_back(update.members[0].client.value);
  };
  ASSERT_TRUE(peers.federation.train({.round = 1, .models = {peers.model}}, tasks, sink).ok());
  EXPECT_THAT(peers.told, ElementsAre(0, 1, 1, 2));
}

TEST(Federation, ABrokenWireIsAnError) {
  Peers peers;
  peers.federation.breaks_in = 1;
  const std::vector<GroupTask> tasks{{.group = {0}, .members = peers.clients}};
  const Status status = peers.federation.train({.round = 1, .models = {peers.model}}, tasks,
                                               {.group = [](GroupUpdate&) { ADD_FAILURE() << "nobody answered"; }});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "the wire is cut");
}

TEST(Federation, AProfileThatCannotBeUsedIsMissing) {
  FakeFederation federation({{10}, {20}, {30}, {40}}, {.kind = "update-direction"});
  const std::vector<ClientId> asked{{3}, {0}, {1}, {2}};
  federation.tell = [](const ProfileRequest&, ClientId client) {
    ClientProfile told{.vector = std::vector<float>(6, static_cast<float>(client.value)), .samples_trained = 5};
    if (client.value == 0) told.vector[5] = NAN;
    if (client.value == 1) told.vector.pop_back();
    if (client.value == 2) return ProfileReply{Dropped{client, DropReason::kStraggler}};
    return ProfileReply{told};
  };
  const std::vector<float> start(6, 0);
  const auto collected = federation.profile({.clients = asked, .round = 3, .as_of_round = 2, .models = {start, 6}});
  ASSERT_TRUE(collected.ok());
  EXPECT_THAT(collected->profiles.missing, ElementsAre(1, 2, 3));
  EXPECT_THAT(collected->profiles.vectors.row(0), testing::Each(3));
  std::vector<DropReason> reasons;
  for (const Dropped& dropped : collected->dropped) reasons.push_back(dropped.reason);
  EXPECT_THAT(reasons, ElementsAre(DropReason::kNonFinite, DropReason::kMalformed, DropReason::kStraggler));
  EXPECT_EQ(collected->dropped[2].client, ClientId{2});
  EXPECT_EQ(collected->samples_trained, 5u);
  EXPECT_EQ(federation.profiles[0].round, 3u);
  EXPECT_EQ(federation.profiles[0].as_of_round, 2u);
}

TEST(Federation, LossesAreAskedWhateverTheKindAndMayBeInfinite) {
  FakeFederation federation({{10}, {20}}, {.kind = "label-histogram"});
  federation.tell = [](const ProfileRequest&, ClientId client) {
    return ProfileReply{ClientProfile{.vector = {client.value + 0.5f, INFINITY}}};
  };
  const std::vector<ClientId> asked = clients_up_to(2);
  const std::vector<float> models(12, 0);
  const auto collected = federation.profile({.clients = asked, .losses = true, .models = {models, 6}});
  ASSERT_TRUE(collected.ok());
  EXPECT_EQ(collected->profiles.kind, "losses");
  EXPECT_TRUE(federation.profiles[0].losses);
  EXPECT_THAT(collected->profiles.missing, IsEmpty());
  EXPECT_THAT(collected->profiles.vectors.row(1), ElementsAre(1.5f, INFINITY));
}

TEST(Federation, NobodyIsAskedForNothing) {
  FakeFederation federation(std::vector<FakeClient>{{10}});
  const std::vector<ClientId> asked = clients_up_to(1);
  ASSERT_TRUE(federation.profile({.clients = asked}).ok());
  EXPECT_THAT(federation.profiles, IsEmpty());
}

TEST(Federation, ScoresThatCannotBeAreDropped) {
  FakeFederation federation({{1, 10}, {1, 10}, {1, 10}, {1, 10}});
  federation.score = [](ClientId client, float) {
    if (client.value == 0) return EvaluateReply{Evaluation{.samples = 9, .correct = 1}};
    if (client.value == 1) return EvaluateReply{Evaluation{.samples = 10, .correct = 11}};
    if (client.value == 2) return EvaluateReply{Dropped{client, DropReason::kUnreachable}};
    return EvaluateReply{Evaluation{.samples = 10, .correct = 10, .loss_sum = NAN}};  // a model may be that bad
  };
  const std::vector<float> model(6, 1);
  const auto result = federation.evaluate({.models = {model}, .clients = clients_up_to(4), .model_of = {0, 0, 0, 0}});
  ASSERT_TRUE(result.ok());
  for (std::uint32_t k = 0; k < 3; ++k) {
    const auto* const dropped = std::get_if<Dropped>(&result->clients[k]);
    ASSERT_TRUE(dropped) << k;
    EXPECT_EQ(dropped->client, ClientId{k});
    EXPECT_EQ(dropped->reason, k == 2 ? DropReason::kUnreachable : DropReason::kMalformed);
  }
  EXPECT_TRUE(std::holds_alternative<Evaluation>(result->clients[3]));
  EXPECT_FALSE(result->global);
}

TEST(Federation, DetailsThatDoNotAddUpAreDropped) {
  FakeFederation federation({{1, 10}, {1, 10}, {1, 10}});
  federation.score = [](ClientId client, float) {
    Predictions told{.counts = {{0, 0, 4}, {1, 0, 6}}, .negative_scores = {}, .positive_scores = {}};
    if (client.value == 1) told.counts[1].samples = 7;
    Evaluation own{.samples = 10, .correct = 4, .predictions = std::make_shared<const Predictions>(told)};
    if (client.value == 2) own.predictions.reset();
    return EvaluateReply{own};
  };
  const std::vector<float> model(6, 1);
  EvaluationRequest request{.models = {model}, .clients = clients_up_to(3), .model_of = {0, 0, 0}};
  request.details.predictions = true;
  const auto result = federation.evaluate(request);
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(std::holds_alternative<Evaluation>(result->clients[0]));
  EXPECT_EQ(std::get<Dropped>(result->clients[1]).reason, DropReason::kMalformed);
  // What the fake makes up for those who tell none is honest; what nobody asked for is not wanted.
  EXPECT_TRUE(std::holds_alternative<Evaluation>(result->clients[2]));
  request.details.predictions = false;
  EXPECT_EQ(std::get<Dropped>(federation.evaluate(request)->clients[0]).reason, DropReason::kMalformed);
}

TEST(Federation, ValidationIsOfValidationSamples) {
  FakeFederation federation({{.test_samples = 10, .validation_samples = 3}, {.test_samples = 10}});
  const std::vector<float> model(6, 1);
  EvaluationRequest request{.held_out = HeldOut::kValidation, .models = {model}, .clients = {{0}}, .model_of = {0}};
  EXPECT_EQ(std::get<Evaluation>(federation.evaluate(request)->clients[0]).samples, 3u);
  federation.validate = federation.score;  // answers with its tests
  EXPECT_EQ(std::get<Dropped>(federation.evaluate(request)->clients[0]).reason, DropReason::kMalformed);
}

TEST(Federation, AnEvaluationThatBrokeIsOver) {
  FakeFederation federation(std::vector<FakeClient>{{1, 10}});
  federation.evaluation_breaks = true;
  const std::vector<float> model(6, 1);
  federation.begin_evaluation({.models = {model}, .clients = clients_up_to(1), .model_of = {0}});
  EXPECT_TRUE(federation.evaluating());
  EXPECT_FALSE(federation.end_evaluation().ok());
  EXPECT_FALSE(federation.evaluating());
  federation.evaluation_breaks = false;
  EXPECT_TRUE(federation.evaluate({.models = {model}, .clients = clients_up_to(1), .model_of = {0}}).ok());
}

}  // namespace
}  // namespace muster
