// Members that train side by side: who starts from what, and how much each counts in the mean.
#include "recording_link.h"
#include "train/thread_host.h"

namespace muster {
namespace {

using testing::ElementsAre;

GroupUpdate train(const GroupTrainer& trainer, RecordingLink& link, std::uint32_t members, float start = 1) {
  const std::vector<ClientId> clients = clients_up_to(members);
  const std::vector<float> model{start};
  auto update = trainer.train({.round = 3, .models = {model}}, {.group = {2}, .members = clients}, link, {});
  EXPECT_TRUE(update.ok());
  return std::move(update).value();
}

TEST(Parallel, MembersCountBySamplesOrAlike) {
  // From 1: client 0 with 10 samples sends 11, client 1 with 20 sends 12, client 2 with 30 sends 13.
  RecordingLink link;
  EXPECT_FLOAT_EQ(train(*make_parallel(1, true), link, 3).model[0], (11 * 10 + 12 * 20 + 13 * 30) / 60.0f);
  EXPECT_FLOAT_EQ(train(*make_parallel(1, false), link, 3).model[0], 12);
}

TEST(Parallel, TheNextGroupRoundStartsFromTheMean) {
  RecordingLink link;
  const GroupUpdate update = train(*make_parallel(2, false), link, 2);
  std::vector<float> received;
  std::vector<std::uint32_t> parts;
  for (const auto& visit : link.visits) {
    received.push_back(visit.model[0]);
    parts.push_back(visit.part);
    EXPECT_EQ(visit.round, 3u);
  }
  EXPECT_THAT(received, ElementsAre(1, 1, 11.5f, 11.5f));
  EXPECT_THAT(parts, ElementsAre(0, 0, 1, 1));
  EXPECT_FLOAT_EQ(update.model[0], 116.5f);
  EXPECT_THAT(update.payload, ElementsAre(6));
  EXPECT_EQ(update.samples, 30u);
  EXPECT_EQ(update.members[1].visits, 2u);
}

TEST(Parallel, WhoDropsDoesNotCount) {
  RecordingLink link;
  link.gone = {{{0, 0}, DropReason::kFault},
               {{1, 1}, DropReason::kFault},
               {{2, 0}, DropReason::kNonFinite},
               {{2, 1}, DropReason::kFault}};
  const GroupUpdate update = train(*make_parallel(2, true), link, 3);
  // Round one: client 1 alone, 12. Round two: client 0 alone, from there.
  EXPECT_THAT(update.model, ElementsAre(121));
  EXPECT_EQ(update.members.size(), 2u);
  ASSERT_EQ(update.dropped.size(), 1u);
  EXPECT_EQ(update.dropped[0].client, ClientId{2});
  EXPECT_EQ(update.dropped[0].reason, DropReason::kNonFinite);
}

TEST(Parallel, AGroupRoundWithoutAnybodyLeavesTheModel) {
  RecordingLink link;
  link.gone = {{{0, 1}, DropReason::kFault}, {{1, 1}, DropReason::kFault}};
  EXPECT_FLOAT_EQ(train(*make_parallel(2, false), link, 2).model[0], 11.5f);
}

TEST(Parallel, AMemberAloneSendsWhatItTrained) {
  RecordingLink link;
  const GroupUpdate update = train(*make_parallel(1, true), link, 1);
  EXPECT_THAT(update.model, ElementsAre(11));
  EXPECT_THAT(update.payload, ElementsAre(1));
  EXPECT_EQ(update.samples, 10u);
  EXPECT_EQ(link.visits[0].part, 0u);
}

// What each kind of trainer tells of itself decides how it is hosted and what it costs.
TEST(GroupTrainers, TellHowTheyTrain) {
  EXPECT_TRUE(make_parallel(1, true)->divisible());
  EXPECT_FALSE(make_parallel(2, true)->divisible());
  EXPECT_FALSE(make_sequential(1, true, 1)->divisible());
  EXPECT_FALSE(make_parallel(2, true)->in_sequence());
  EXPECT_TRUE(make_sequential(1, true, 1)->in_sequence());
  EXPECT_EQ(make_parallel(3, true)->visits(), 3u);
  EXPECT_EQ(make_sequential(4, true, 1)->visits(), 4u);
}

TEST(GroupTrainers, FollowTheRecipe) {
  RecordingLink link;
  const auto made = [&](const TrainingOptions& options, const char* in_group) {
    auto trainer = make_group_trainer(options, {.in_group = in_group}, {}, 5);
    EXPECT_TRUE(trainer.ok());
    return std::move(trainer).value();
  };
  EXPECT_EQ(made({.mode = "parallel", .group_rounds = 3, .passes = 2}, "uniform")->visits(), 3u);
  EXPECT_EQ(made({.mode = "sequential", .group_rounds = 3, .passes = 2}, "uniform")->visits(), 2u);
  EXPECT_FLOAT_EQ(train(*made({}, "uniform"), link, 3).model[0], 12);
  EXPECT_GT(train(*made({}, "samples-weighted"), link, 3).model[0], 12.2f);
  // Shuffled by the given seed.
  RecordingLink by_recipe;
  RecordingLink by_hand;
  (void)train(*made({.mode = "sequential", .passes = 2}, "uniform"), by_recipe, 8);
  (void)train(*make_sequential(2, true, 5), by_hand, 8);
  EXPECT_EQ(by_recipe.order(), by_hand.order());
  RecordingLink in_order;
  (void)train(*made({.mode = "sequential", .shuffle = false}, "uniform"), in_order, 4);
  EXPECT_THAT(in_order.order(), ElementsAre(0, 1, 2, 3));
  EXPECT_FALSE(make_group_trainer({.mode = "both"}, {.in_group = "uniform"}, {}, 1).ok());
  EXPECT_FALSE(make_group_trainer({}, {.in_group = "mediam"}, {}, 1).ok());
}

// A host of one thread over recording clients.
struct Host {
  Host() {
    auto made = std::make_unique<RecordingLink>();
    link = made.get();
    links.push_back(std::move(made));
  }
  RecordingLink* link;
  WorkerPool pool{1};
  std::vector<std::unique_ptr<ClientLink>> links;
};

TEST(ThreadHost, EpochsReachTheMembersTheyAreFor) {
  Host host;
  const std::vector<ClientId> clients = clients_up_to(5);
  const std::span<const ClientId> all(clients);
  const std::vector<double> first{1, 2, 3};
  const std::vector<double> second{4, 5};
  const std::vector<float> a{1};
  const std::vector<float> b{2};
  const std::vector<GroupTask> tasks{{.group = {0}, .model = 1, .members = all.first(3), .epochs = first},
                                     {.group = {1}, .model = 0, .members = all.subspan(3), .epochs = second}};
  const auto trainer = make_parallel(1, true);
  ThreadHost threads(host.pool, host.links, *trainer);
  ASSERT_TRUE(threads.run({.round = 1, .models = {a, b}}, tasks, {.group = [](GroupUpdate&) {}}).ok());
  ASSERT_EQ(host.link->visits.size(), 5u);
  for (const auto& visit : host.link->visits) {
    EXPECT_EQ(visit.epochs, visit.client.value + 1.0);
    EXPECT_THAT(visit.model, ElementsAre(visit.client.value < 3 ? 2 : 1));
  }
}

TEST(ThreadHost, MembersAreSeenBeforeTheirGroup) {
  const std::vector<ClientId> clients = clients_up_to(4);
  const std::span<const ClientId> all(clients);
  const std::vector<float> a{1};
  const std::vector<float> b{2};
  const std::vector<GroupTask> tasks{{.group = {5}, .members = all.first(1)},
                                     {.group = {6}, .model = 1, .members = all.subspan(1)}};
  const auto seen_with = [&](const GroupTrainer& trainer) {
    Host host;
    ThreadHost threads(host.pool, host.links, trainer);
    std::vector<std::string> seen;
    const UpdateSink sink{
        .group = [&](GroupUpdate& update) { seen.push_back(fmt::format("group {}", update.group.value)); },
        .member =
            [&](const GroupUpdate& update, std::span<const float> start) {
              seen.push_back(
                  fmt::format("{} from {} sent {}", update.members.front().client.value, start[0], update.model[0]));
              EXPECT_EQ(update.group.value, start[0] == 1 ? 5u : 6u);
            }};
    EXPECT_TRUE(threads.run({.round = 1, .models = {a, b}}, tasks, sink).ok());
    return seen;
  };
  EXPECT_THAT(seen_with(*make_parallel(1, true)), ElementsAre("0 from 1 sent 11", "group 5", "1 from 2 sent 22",
                                                              "2 from 2 sent 23", "3 from 2 sent 24", "group 6"));
  // A chain cannot be cut: its own update stands for its members.
  EXPECT_THAT(seen_with(*make_sequential(1, false, 1)),
              ElementsAre("0 from 1 sent 11", "group 5", "1 from 2 sent 2234", "group 6"));
}

TEST(ThreadHost, OtherWorkIsDoneOnce) {
  Host host;
  const std::vector<ClientId> clients = clients_up_to(1);
  const std::vector<float> model{1};
  const std::vector<GroupTask> tasks{{.group = {0}, .members = clients}};
  const auto trainer = make_parallel(1, true);
  ThreadHost threads(host.pool, host.links, *trainer);
  int pieces = 0;
  threads.set_meanwhile({.pieces = 3, .work = [&](std::uint32_t, std::uint32_t) {
                           ++pieces;
                           return Status();
                         }});
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(threads.run({.round = 1, .models = {model}}, tasks, {.group = [](GroupUpdate&) {}}).ok());
    EXPECT_EQ(pieces, 3);
  }
}

}  // namespace
}  // namespace muster
