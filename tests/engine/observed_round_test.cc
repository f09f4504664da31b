// What is kept of a round that may form groups.
#include "engine/observed_round.h"

#include "train/fake_federation.h"

namespace muster {
namespace {

using testing::Each;
using testing::ElementsAre;

GroupUpdate sent_by(std::uint32_t client, float value) {
  GroupUpdate update{.model = std::vector<float>(6, value)};
  update.members.push_back({.client = {client}, .samples = 1, .visits = 1});
  return update;
}

struct Watched {
  explicit Watched(bool keep_models, std::uint32_t earliest = 3) : round(*kind, *network, earliest, keep_models) {}
  std::unique_ptr<ProfileKind> kind = std::move(make_profile_kind({.kind = "update-direction"})).value();
  std::shared_ptr<const Network> network = small_network();
  ObservedRound round;
  RoundTasks tasks;
  std::vector<float> start = std::vector<float>(6, 1);
};

TEST(ObservedRound, KeepsTheProfilesOfThoseWhoTookPart) {
  Watched watched(false);
  watched.round.prepare(watched.tasks);
  watched.round.member(sent_by(4, 3), watched.start);
  GroupUpdate gone{.model = std::vector<float>(6, 9)};
  gone.dropped.push_back({{2}, DropReason::kFault});
  watched.round.member(gone, watched.start);
  watched.round.member(sent_by(1, 6), watched.start);
  EXPECT_THAT(watched.round.clients(), ElementsAre(ClientId{4}, ClientId{1}));
  EXPECT_EQ(watched.round.vectors().count(), 2u);
  EXPECT_THAT(watched.round.vectors().row(0), Each(2));
  EXPECT_THAT(watched.round.vectors().row(1), Each(5));
  EXPECT_TRUE(watched.round.models().values.empty());
  EXPECT_THAT(watched.round.start(), Each(1));
}

TEST(ObservedRound, KeepsWholeModelsWhereAsked) {
  Watched watched(true);
  watched.round.member(sent_by(4, 3), watched.start);
  watched.round.member(sent_by(1, 6), watched.start);
  EXPECT_THAT(watched.round.models().row(0), Each(3));
  EXPECT_THAT(watched.round.models().row(1), Each(6));
}

TEST(ObservedRound, EveryRoundBeginsAnew) {
  Watched watched(true);
  watched.round.member(sent_by(4, 3), watched.start);
  watched.round.prepare(watched.tasks);
  EXPECT_TRUE(watched.round.clients().empty());
  const std::vector<float> later(6, 2);
  watched.round.member(sent_by(5, 4), later);
  EXPECT_THAT(watched.round.clients(), ElementsAre(ClientId{5}));
  EXPECT_THAT(watched.round.vectors().row(0), Each(2));
  EXPECT_EQ(watched.round.models().count(), 1u);
  EXPECT_THAT(watched.round.start(), Each(2));
}

TEST(ObservedRound, WatchesFromTheFirstRoundThatCountsUntilItIsStopped) {
  Watched watched(false, 3);
  EXPECT_FALSE(watched.round.wants_members(2));
  EXPECT_TRUE(watched.round.wants_members(3));
  EXPECT_TRUE(watched.round.wants_members(9));
  watched.round.stop();
  EXPECT_FALSE(watched.round.wants_members(9));
  watched.round.member(sent_by(4, 3), watched.start);
  EXPECT_TRUE(watched.round.clients().empty());
}

}  // namespace
}  // namespace muster
