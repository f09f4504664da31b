#include "ranks/messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster {
namespace {

using testing::ElementsAre;

GroupUpdate some_update() {
  GroupUpdate update{.group = {4}, .model = {1, 2, 3}, .payload = {5}, .samples = 30};
  update.members = {{.client = {2}, .samples = 30, .steps = 6, .samples_trained = 60, .loss = 0.5, .visits = 2}};
  update.members[0].loss_after = 0.25;
  update.dropped = {{{7}, DropReason::kStraggler}};
  return update;
}

TEST(Messages, UpdatesTravel) {
  ParcelWriter out;
  put_update(some_update(), out);
  ParcelReader in(std::move(out).finish());
  const GroupUpdate read = take_update(in, 3);
  ASSERT_TRUE(in.finish("it"));
  EXPECT_EQ(read.group, GroupId{4});
  EXPECT_EQ(read.samples, 30u);
  EXPECT_THAT(read.model, ElementsAre(1, 2, 3));
  EXPECT_THAT(read.payload, ElementsAre(5));
  ASSERT_EQ(read.members.size(), 1u);
  EXPECT_EQ(read.members[0].client, ClientId{2});
  EXPECT_EQ(read.members[0].samples_trained, 60u);
  EXPECT_EQ(read.members[0].loss_after, 0.25);
  EXPECT_EQ(read.members[0].visits, 2u);
  ASSERT_EQ(read.dropped.size(), 1u);
  EXPECT_EQ(read.dropped[0].reason, DropReason::kStraggler);
}

TEST(Messages, UpdatesOfNobodyCarryNoModel) {
  GroupUpdate update = some_update();
  update.members.clear();
  ParcelWriter out;
  put_update(std::move(update), out);
  const Parcel parcel = std::move(out).finish();
  EXPECT_TRUE(parcel.blocks.empty());
  ParcelReader in(parcel);
  EXPECT_TRUE(take_update(in, 3).model.empty());
  EXPECT_TRUE(in.finish("it"));
}

TEST(Messages, ProfilesAndEvaluationsTravel) {
  ParcelWriter out;
  put_profile(ClientProfile{.vector = {1, 2}, .labels = {3}, .samples_trained = 4, .samples_evaluated = 5}, out);
  put_profile(Dropped{{6}, DropReason::kFault}, out);
  Evaluation told{.samples = 10, .correct = 4, .loss_sum = 1.5};
  told.predictions = std::make_shared<const Predictions>(Predictions{{{0, 1, 10}}, {0.5f}, {}});
  put_evaluation(told, out);
  put_evaluation(Dropped{{8}, DropReason::kUnreachable}, out);
  ParcelReader in(std::move(out).finish());
  const ProfileReply profile = take_profile(in, 2);
  EXPECT_THAT(std::get<ClientProfile>(profile).vector, ElementsAre(1, 2));
  EXPECT_THAT(std::get<ClientProfile>(profile).labels, ElementsAre(3));
  EXPECT_EQ(std::get<Dropped>(take_profile(in, 2)).client, ClientId{6});
  const EvaluateReply evaluation = take_evaluation(in);
  EXPECT_EQ(std::get<Evaluation>(evaluation).loss_sum, 1.5);
  EXPECT_THAT(std::get<Evaluation>(evaluation).predictions->counts, ElementsAre(PredictionCount{0, 1, 10}));
  EXPECT_EQ(std::get<Dropped>(take_evaluation(in)).reason, DropReason::kUnreachable);
  EXPECT_TRUE(in.finish("it"));
}

// Every byte of an update set to every value of a few: whatever is read, nothing breaks.
TEST(Messages, SpoiltUpdatesAreReadOrRefused) {
  ParcelWriter out;
  put_update(some_update(), out);
  const Parcel whole = std::move(out).finish();
  std::size_t refused = 0;
  for (std::size_t at = 0; at < whole.words.size(); ++at) {
    for (const int value : {0, 1, 2, 0x7f, 0xff}) {
      Parcel spoilt = whole;
      spoilt.words[at] = static_cast<std::byte>(value);
      ParcelReader in(std::move(spoilt));
      (void)take_update(in, 3);
      refused += in.finish("it") ? 0 : 1;
    }
  }
  EXPECT_GT(refused, 0u);
}

}  // namespace
}  // namespace muster
