// Chains of members: the order they are visited in, and the model that walks from one to the next.
#include <set>

#include "base/random.h"
#include "recording_link.h"
#include "train/group_trainer.h"

namespace muster {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

struct Chain {
  explicit Chain(std::uint32_t members) : clients(clients_up_to(members)) {}

  GroupUpdate walk(const GroupTrainer& trainer, std::uint32_t round = 1, std::uint32_t group = 0) {
    link.visits.clear();
    auto update = trainer.train({.round = round, .models = {start}}, {.group = {group}, .members = clients}, link, {});
    EXPECT_TRUE(update.ok());
    return std::move(update).value();
  }
  std::vector<std::uint32_t> order(const GroupTrainer& trainer, std::uint32_t round = 1, std::uint32_t group = 0) {
    (void)walk(trainer, round, group);
    return link.order();
  }

  std::vector<ClientId> clients;
  std::vector<float> start{0};
  RecordingLink link;
};

TEST(Sequential, EveryRoundGroupPassAndSeedHasAnOrderOfItsOwn) {
  Chain chain(8);
  const auto trainer = make_sequential(2, true, 1);
  std::set<std::vector<std::uint32_t>> orders;
  for (std::uint32_t round = 1; round <= 3; ++round) {
    for (std::uint32_t group = 0; group < 3; ++group) {
      const std::vector<std::uint32_t> both = chain.order(*trainer, round, group);
      orders.insert({both.begin(), both.begin() + 8});
      orders.insert({both.begin() + 8, both.end()});
      EXPECT_EQ(chain.order(*trainer, round, group), both);  // but always the same one
    }
  }
  EXPECT_EQ(orders.size(), 18u);
  EXPECT_NE(chain.order(*make_sequential(2, true, 2)), chain.order(*trainer));
}

TEST(Sequential, PassesAreShuffledByTheirOwnStreams) {
  Chain chain(6);
  const std::vector<std::uint32_t> both = chain.order(*make_sequential(2, true, 9), 4, 7);
  std::vector<std::uint32_t> order{0, 1, 2, 3, 4, 5};
  std::vector<std::uint32_t> expected;
  for (std::uint32_t pass = 0; pass < 2; ++pass) {
    Stream stream({.seed = 9, .purpose = Purpose::kClientOrder, .round = 4, .id = 7, .part = pass});
    stream.shuffle(std::span(order));
    expected.insert(expected.end(), order.begin(), order.end());
  }
  EXPECT_EQ(both, expected);
}

TEST(Sequential, WithoutShufflingMembersComeInTheirOrder) {
  Chain chain(3);
  EXPECT_THAT(chain.order(*make_sequential(2, false, 1), 5), ElementsAre(0, 1, 2, 0, 1, 2));
}

TEST(Sequential, TheModelWalksFromMemberToMember) {
  Chain chain(3);
  const GroupUpdate update = chain.walk(*make_sequential(2, false, 1));
  std::vector<float> received;
  for (const auto& visit : chain.link.visits) received.push_back(visit.model[0]);
  EXPECT_THAT(received, ElementsAre(0, 1, 12, 123, 1231, 12312));
  EXPECT_THAT(update.model, ElementsAre(123123));
  EXPECT_THAT(update.payload, ElementsAre(2 * (1 + 2 + 3)));
}

TEST(Sequential, VisitsOfAClientAreToldApart) {
  Chain chain(2);
  (void)chain.walk(*make_sequential(3, false, 1), 6);
  std::vector<std::uint32_t> parts;
  for (const auto& visit : chain.link.visits) {
    EXPECT_EQ(visit.round, 6u);
    parts.push_back(visit.part);
  }
  EXPECT_THAT(parts, ElementsAre(0, 0, 1, 1, 2, 2));
}

TEST(Sequential, AMemberThatIsGoneIsSkipped) {
  Chain chain(3);
  chain.link.gone = {{{1, 0}, DropReason::kStraggler}, {{1, 1}, DropReason::kFault}, {{2, 1}, DropReason::kFault}};
  const GroupUpdate update = chain.walk(*make_sequential(2, false, 1));
  EXPECT_THAT(update.model, ElementsAre(131));
  // Client 1 dropped every time, for its first reason; client 2 only once.
  ASSERT_EQ(update.dropped.size(), 1u);
  EXPECT_EQ(update.dropped[0].client, ClientId{1});
  EXPECT_EQ(update.dropped[0].reason, DropReason::kStraggler);
  ASSERT_EQ(update.members.size(), 2u);
  EXPECT_EQ(update.members[0].visits, 2u);
  EXPECT_EQ(update.members[1].visits, 1u);
}

TEST(Sequential, WhoAnswersLaterHasNotDropped) {
  Chain chain(2);
  chain.link.gone = {{{0, 0}, DropReason::kFault}};
  const GroupUpdate update = chain.walk(*make_sequential(2, false, 1));
  EXPECT_TRUE(update.dropped.empty());
  EXPECT_EQ(update.members.size(), 2u);
  EXPECT_THAT(update.model, ElementsAre(212));
}

TEST(Sequential, ReportsWhatEachMemberDidInAllItsVisits) {
  Chain chain(2);
  const GroupUpdate update = chain.walk(*make_sequential(3, false, 1));
  EXPECT_EQ(update.samples, 10u + 20u);  // each once
  ASSERT_EQ(update.members.size(), 2u);
  const MemberReport& second = update.members[1];
  EXPECT_EQ(second.client, ClientId{1});
  EXPECT_EQ(second.samples, 20u);
  EXPECT_EQ(second.steps, 3u * 2);
  EXPECT_EQ(second.samples_trained, 3u * 40);
  EXPECT_EQ(second.visits, 3u);
  EXPECT_EQ(second.loss, 1.5 + 2);  // of its last visit
  EXPECT_FALSE(second.loss_after);
}

TEST(Sequential, MembersGetWhatTheRoundSends) {
  Chain chain(3);
  const std::vector<float> other{7};
  const std::vector<float> broadcast{4, 5};
  const std::vector<double> epochs{1.5, 2.5, 3.5};
  const auto trainer = make_sequential(1, true, 3);
  const RoundCall call{
      .round = 2, .models = {chain.start, other}, .broadcast = broadcast, .own_models = true, .measure = true};
  const auto update =
      trainer->train(call, {.group = {4}, .model = 1, .members = chain.clients, .epochs = epochs}, chain.link, {});
  ASSERT_TRUE(update.ok());
  EXPECT_EQ(update->group, GroupId{4});
  ASSERT_EQ(chain.link.visits.size(), 3u);
  EXPECT_THAT(chain.link.visits[0].model, ElementsAre(7));
  for (const auto& visit : chain.link.visits) {
    EXPECT_THAT(visit.broadcast, ElementsAreArray(broadcast));
    EXPECT_TRUE(visit.own_model);
    EXPECT_TRUE(visit.measure);
    EXPECT_EQ(visit.epochs, epochs[visit.client.value]);  // its own, whatever the order
  }
  ASSERT_EQ(update->members.size(), 3u);
  for (const MemberReport& member : update->members) {
    EXPECT_EQ(member.loss_after, member.client.value + 0.25);
    EXPECT_EQ(member.own_model, member.client.value + 1);
  }
  EXPECT_TRUE(update->model.empty()) << "models that stay with their clients do not travel";
  for (const auto& parallel : {make_parallel(1, true), make_parallel(2, false)}) {
    const auto apart = parallel->train(call, {.group = {4}, .model = 1, .members = chain.clients}, chain.link, {});
    ASSERT_TRUE(apart.ok());
    EXPECT_EQ(apart->members.size(), 3u);
    EXPECT_TRUE(apart->model.empty());
  }
}

TEST(Sequential, NothingIsLeftOfAReusedUpdate) {
  Chain chain(2);
  GroupUpdate reuse{.group = {9}, .model = {5, 5}, .payload = {8, 8}, .samples = 70};
  reuse.members.push_back({.client = {5}, .samples = 70, .visits = 1});
  reuse.dropped.push_back({{6}, DropReason::kFault});
  for (const auto& trainer : {make_sequential(1, false, 1), make_parallel(1, true), make_parallel(2, true)}) {
    const auto update = trainer->train({.round = 1, .models = {chain.start}}, {.group = {3}, .members = chain.clients},
                                       chain.link, reuse);
    ASSERT_TRUE(update.ok());
    EXPECT_EQ(update->group, GroupId{3});
    EXPECT_EQ(update->samples, 30u);
    EXPECT_EQ(update->members.size(), 2u);
    EXPECT_TRUE(update->dropped.empty());
    EXPECT_EQ(update->model.size(), 1u);
    EXPECT_EQ(update->payload.size(), 1u);
  }
}

TEST(Sequential, EveryVisitIsMeasuredAndTheLastOneCounts) {
  Chain chain(3);
  const auto update = make_sequential(2, true, 1)
                          ->train({.round = 1, .models = {chain.start}, .measure = true},
                                  {.group = {0}, .members = chain.clients}, chain.link, {});
  ASSERT_TRUE(update.ok());
  ASSERT_EQ(chain.link.visits.size(), 6u);
  for (const RecordingLink::Visit& visit : chain.link.visits) EXPECT_TRUE(visit.measure);
  for (const MemberReport& member : update->members) EXPECT_EQ(member.loss_after, member.client.value + 1.25);
}

}  // namespace
}  // namespace muster
