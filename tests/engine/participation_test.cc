// Who took part, who dropped, and the mean loss of a round.
#include "engine/participation.h"

namespace muster {
namespace {

using testing::ElementsAre;

GroupUpdate update_of(const std::vector<MemberReport>& members, const std::vector<Dropped>& dropped) {
  GroupUpdate update;
  update.members = members;
  update.dropped = dropped;
  return update;
}

RoundRecord round_of(Participation& participation, const std::vector<GroupUpdate>& updates, RoundRecord record = {}) {
  RoundTasks tasks;
  participation.prepare(tasks);
  for (const GroupUpdate& update : updates) participation.group(update);
  const auto models = make_client_models({0});
  participation.end(*models, record);
  return record;
}

TEST(Participation, TheTrainLossCountsEverySampleAlike) {
  Participation participation(4);
  const RoundRecord record =
      round_of(participation, {update_of({{.client = {0}, .samples = 10, .samples_trained = 20, .loss = 1},
                                          {.client = {1}, .samples = 30, .samples_trained = 30, .loss = 2}},
                                         {}),
                               update_of({{.client = {3}, .samples = 60, .samples_trained = 60, .loss = 4}}, {})});
  EXPECT_DOUBLE_EQ(record.train_loss.value(), (10 * 1 + 30 * 2 + 60 * 4) / 100.0);
  EXPECT_EQ(record.participants, 3u);
  EXPECT_EQ(participation.samples_trained(), 110u);
}

TEST(Participation, EveryRoundBeginsAnew) {
  Participation participation(2);
  EXPECT_TRUE(participation.times_drawn().empty());
  const GroupUpdate one = update_of({{.client = {0}, .samples = 10, .samples_trained = 5, .loss = 1}}, {{{1}, {}}});
  (void)round_of(participation, {one});
  const RoundRecord record = round_of(participation, {one});
  EXPECT_EQ(record.participants, 1u);
  EXPECT_EQ(record.dropped.size(), 1u);
  EXPECT_EQ(participation.samples_trained(), 5u);
  EXPECT_EQ(record.train_loss, 1);
  const RoundRecord nobody = round_of(participation, {});
  EXPECT_FALSE(nobody.train_loss);
  EXPECT_THAT(participation.times_drawn(), ElementsAre(2, 2));
}

TEST(Participation, AClientDropsOnceInARound) {
  // It did not tell its profile, and did not train either.
  Participation participation(3);
  RoundRecord record;
  record.dropped = {{{2}, DropReason::kStraggler}};
  record = round_of(participation, {update_of({}, {{{2}, DropReason::kFault}, {{0}, DropReason::kFault}})}, record);
  ASSERT_EQ(record.dropped.size(), 2u);
  EXPECT_EQ(record.dropped[0].client, ClientId{2});
  EXPECT_EQ(record.dropped[0].reason, DropReason::kStraggler);
  EXPECT_EQ(record.dropped[1].client, ClientId{0});
  EXPECT_EQ(participation.tally({2}).dropped, 1u);
  EXPECT_EQ(participation.tally({0}).dropped, 1u);
  EXPECT_EQ(participation.tally({1}).dropped, 0u);
}

TEST(Participation, ComesBackFromACheckpoint) {
  Participation participation(3);
  for (int i = 0; i < 3; ++i) {
    (void)round_of(participation, {update_of({{.client = {2}, .samples = 1}}, {{{0}, DropReason::kFault}})});
  }
  Checkpoint checkpoint{.round = 3};
  participation.save(checkpoint);
  Participation back(3);
  (void)round_of(back, {update_of({{.client = {1}, .samples = 1}}, {})});  // forgotten
  ASSERT_TRUE(back.restore(checkpoint));
  EXPECT_EQ(back.tally({0}).dropped, 3u);
  EXPECT_EQ(back.tally({0}).trained, 0u);
  EXPECT_EQ(back.tally({1}).trained, 0u);
  EXPECT_EQ(back.tally({2}).trained, 3u);
  EXPECT_THAT(back.times_drawn(), ElementsAre(3, 0, 3));
}

TEST(Participation, RefusesTalliesOfAnotherForm) {
  Participation participation(3);
  (void)round_of(participation, {update_of({{.client = {2}, .samples = 1}}, {})});
  Checkpoint checkpoint{.round = 1};
  participation.save(checkpoint);
  EXPECT_FALSE(Participation(4).restore(checkpoint));
  Checkpoint torn = checkpoint;
  torn.sections["tallies"].pop_back();
  EXPECT_FALSE(Participation(3).restore(torn));
  Checkpoint stranger = checkpoint;
  stranger.sections["tallies"][0] = 3;
  EXPECT_FALSE(Participation(3).restore(stranger));
}

}  // namespace
}  // namespace muster
