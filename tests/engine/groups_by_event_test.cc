// Groups that an event forms or splits from what the members of a round sent.
#include "group_scene.h"

namespace muster {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

struct Waiting {
  explicit Waiting(const char* event, std::vector<FakeClient> clients = {{30}, {10}, {10}, {10}, {10}, {10}})
      : federation(clients, by_direction().profile) {
    recipe.plan.regroup = {.on = event, .round = 2};
    groups = groups_of(recipe, federation);
    (void)formed_by(groups->form(1, "", {}));
    models->regrouped(groups->grouping(), {});
  }
  Recipe recipe = by_direction();
  FakeFederation federation;
  std::unique_ptr<Groups> groups;
  std::unique_ptr<Models> models = make_group_models(0, std::vector<float>(6, 4));
};

TEST(GroupsByEvent, AreFormedFromWhatMembersSent) {
  Waiting run("round");
  const SeenRound round(run.federation, {4, 1, 0, 3, 2}, true);
  const GroupsFormed formed = formed_by(run.groups->follow_event(2, round.observed, *run.models));
  EXPECT_TRUE(formed.anew);
  EXPECT_TRUE(run.federation.profiles.empty());  // nobody is asked anything
  EXPECT_THAT(members_of(run.groups->grouping()), ElementsAre(ElementsAre(0, 2, 4), ElementsAre(1, 3)));
  EXPECT_THAT(ids_of(run.groups->grouping().idle()), ElementsAre(5));
  EXPECT_FALSE(run.groups->awaited());
  EXPECT_TRUE(run.groups->event());
  const auto line = nlohmann::json::parse(formed.line);
  EXPECT_EQ(line["why"], "round");
  EXPECT_EQ(line["round"], 2);
}

TEST(GroupsByEvent, StartFromTheirMembersModelsWeighedBySamples) {
  Waiting run("round");
  const SeenRound round(run.federation, {4, 1, 0, 3, 2}, true);
  const GroupsFormed formed = formed_by(run.groups->follow_event(2, round.observed, *run.models));
  ASSERT_EQ(formed.starts.count(), 2u);
  // From 1: clients 0, 2 and 4 moved by 1, 3 and 5, and have 30, 10 and 10 samples.
  EXPECT_FLOAT_EQ(formed.starts.row(0)[0], 1 + (1 * 30 + 3 * 10 + 5 * 10) / 50.0f);
  EXPECT_FLOAT_EQ(formed.starts.row(0)[1], 1);
  EXPECT_FLOAT_EQ(formed.starts.row(1)[1], 1 + (2 + 4) / 2.0f);
  Waiting shared("round");
  const SeenRound without(shared.federation, {0, 1, 2, 3}, false);
  EXPECT_TRUE(formed_by(shared.groups->follow_event(2, without.observed, *shared.models)).starts.values.empty());
}

TEST(GroupsByEvent, NeverCrossEdges) {
  std::vector<FakeClient> clients(8);
  for (std::uint32_t k = 4; k < 8; ++k) clients[k].edge = 1;
  Waiting run("round", clients);
  const SeenRound round(run.federation, {0, 1, 2, 3, 4, 5, 6, 7}, false);
  ASSERT_TRUE(formed_by(run.groups->follow_event(2, round.observed, *run.models)).anew);
  for (const auto& members : members_of(run.groups->grouping())) {
    for (const std::uint32_t k : members) EXPECT_EQ(k / 4, members[0] / 4);
  }
}

TEST(GroupsByEvent, WhatMembersSentIsReducedAsProfilesAre) {
  // Weights of one direction, which are on both sides of their mean: only their principal component tells them apart.
  Recipe recipe = by_direction();
  recipe.profile = {.kind = "classifier-weights", .variance = 0.95};
  recipe.plan.regroup = {.on = "round", .round = 2};
  FakeFederation federation(std::vector<FakeClient>(3), recipe.profile);
  const auto groups = groups_of(recipe, federation);
  (void)formed_by(groups->form(1, "", {}));
  SeenRound round(federation, {}, false, std::vector<float>(6, 0));
  for (std::uint32_t k = 0; k < 3; ++k) {
    std::vector<float> change(6, 0);
    change[0] = std::vector<float>{1, 10, 2}[k];
    round.send(k, change);
  }
  const auto models = make_group_models(0, std::vector<float>(6, 4));
  (void)formed_by(groups->follow_event(2, round.observed, *models));
  EXPECT_THAT(members_of(groups->grouping()), ElementsAre(ElementsAre(0, 2), ElementsAre(1)));
}

TEST(GroupsByEvent, TooFewGoOnWaiting) {
  Waiting run("round");
  const SeenRound round(run.federation, {3}, true);
  const GroupsFormed formed = formed_by(run.groups->follow_event(2, round.observed, *run.models));
  EXPECT_FALSE(formed.anew);
  EXPECT_TRUE(run.groups->awaited());
  ASSERT_EQ(formed.notes.size(), 1u);
  EXPECT_THAT(formed.notes[0], HasSubstr("1 of 6 clients took part"));
  EXPECT_EQ(run.groups->grouping().count(), 1u);
}

TEST(GroupsByEvent, AnErrorThatNobodyMissedIsAnError) {
  Waiting run("round", {{10}, {10}});
  run.recipe.grouping.groups = 9;
  const auto groups = groups_of(run.recipe, run.federation);
  (void)formed_by(groups->form(1, "", {}));
  const SeenRound round(run.federation, {0, 1}, true);
  EXPECT_FALSE(groups->follow_event(2, round.observed, *run.models).ok());
}

TEST(GroupsByEvent, WhoMissedItIsPlacedFromWhereTheOthersStarted) {
  Waiting run("round");
  run.recipe.newcomers.assign = "nearest-direction";
  const auto groups = groups_of(run.recipe, run.federation);
  run.federation.tell = tell_direction;
  (void)formed_by(groups->form(1, "", {}));
  const SeenRound round(run.federation, {0, 1, 2, 3}, false, std::vector<float>(6, 8));
  (void)formed_by(groups->follow_event(2, round.observed, *run.models));
  const std::vector<ClientId> everybody = clients_of({0, 1, 2, 3, 4, 5});
  EXPECT_THAT(ids_of(groups->to_place(everybody)), ElementsAre(4, 5));
  (void)formed_by(groups->place(6, groups->to_place(everybody), *run.models));
  ASSERT_EQ(run.federation.profiles.size(), 1u);
  const auto& asked = run.federation.profiles[0];
  EXPECT_THAT(asked.clients, ElementsAre(4, 5));
  EXPECT_EQ(asked.round, 6u);
  EXPECT_EQ(asked.as_of_round, 2u);
  EXPECT_THAT(asked.models, Each(8));
  EXPECT_THAT(members_of(groups->grouping()), ElementsAre(ElementsAre(0, 2, 4), ElementsAre(1, 3, 5)));
  // A resumed run asks the same.
  Checkpoint checkpoint{.round = 6};
  groups->save(checkpoint);
  const auto back = groups_of(run.recipe, run.federation);
  ASSERT_TRUE(back->restore(checkpoint));
  Checkpoint again{.round = 6};
  back->save(again);
  EXPECT_EQ(again.sections, checkpoint.sections);
}

// Clients 0, 1 and 2, 3 pull in opposite directions, which all but cancel; so do 4, 5 and 6.
struct Splitting : Waiting {
  Splitting() : Waiting("bipartition", std::vector<FakeClient>(7)) {
    recipe.grouping = {.method = "bipartition", .epsilon_mean = 0.5, .epsilon_max = 1};
    groups = groups_of(recipe, federation);
    (void)formed_by(groups->form(1, "", {}));
    models->regrouped(groups->grouping(), {});
  }
  static void send(SeenRound& round, std::uint32_t client, float x, float y) {
    std::vector<float> change(6, 0);
    change[0] = x;
    change[1] = y;
    round.send(client, change);
  }
};

TEST(GroupsByEvent, AGroupIsSplitAndItsHalvesKeepItsModel) {
  Splitting run;
  SeenRound round(run.federation, {}, false);
  for (const std::uint32_t k : {0u, 2u, 4u, 6u}) Splitting::send(round, k, 3, 0);
  for (const std::uint32_t k : {1u, 3u, 5u}) Splitting::send(round, k, -4, 0);
  const GroupsFormed formed = formed_by(run.groups->follow_event(2, round.observed, *run.models));
  EXPECT_TRUE(formed.anew);
  EXPECT_THAT(members_of(run.groups->grouping()), ElementsAre(ElementsAre(0, 2, 4, 6), ElementsAre(1, 3, 5)));
  ASSERT_EQ(formed.starts.count(), 2u);
  EXPECT_THAT(formed.starts.values, Each(4));
  EXPECT_TRUE(run.groups->awaited());  // it may be split again
  EXPECT_EQ(nlohmann::json::parse(formed.line)["why"], "bipartition");

  // The second group is split again, the first stays; all start where their parents are.
  Rows<float> starts(2, 6);
  std::fill_n(starts.values.begin(), 6, 10.0f);
  std::fill_n(starts.values.begin() + 6, 6, 20.0f);
  run.models->regrouped(run.groups->grouping(), starts);
  SeenRound next(run.federation, {}, false);
  for (const std::uint32_t k : {0u, 2u, 4u, 6u}) Splitting::send(next, k, 3, 0);
  Splitting::send(next, 1, 0, 4);
  Splitting::send(next, 3, 0, -2);
  Splitting::send(next, 5, 0, -2);
  const GroupsFormed again = formed_by(run.groups->follow_event(3, next.observed, *run.models));
  EXPECT_THAT(members_of(run.groups->grouping()),
              ElementsAre(ElementsAre(0, 2, 4, 6), ElementsAre(1), ElementsAre(3, 5)));
  const auto line = nlohmann::json::parse(again.line);
  ASSERT_EQ(line["notes"].size(), 1u);  // of the one that was not split
  EXPECT_THAT(line["notes"][0].get<std::string>(), HasSubstr("group 0: no split, the mean update is not shorter"));
  ASSERT_EQ(again.starts.count(), 3u);
  EXPECT_THAT(again.starts.row(0), Each(10));
  EXPECT_THAT(again.starts.row(1), Each(20));
  EXPECT_THAT(again.starts.row(2), Each(20));
  Checkpoint checkpoint{.round = 3};
  run.groups->save(checkpoint);
  EXPECT_EQ(*checkpoint.get_uint64("groups-formed-for"), 3u);
}

TEST(GroupsByEvent, AGroupWithAMissingMemberIsNotSplit) {
  Splitting run;
  SeenRound round(run.federation, {}, false);
  for (const std::uint32_t k : {0u, 2u, 4u}) Splitting::send(round, k, 4, 0);
  for (const std::uint32_t k : {1u, 3u, 5u}) Splitting::send(round, k, -4, 0);
  const GroupsFormed formed = formed_by(run.groups->follow_event(2, round.observed, *run.models));
  EXPECT_FALSE(formed.anew);
  EXPECT_TRUE(formed.line.empty());
  EXPECT_EQ(run.groups->grouping().count(), 1u);
}

TEST(GroupsByEvent, AGroupThatAgreesStaysAsItIs) {
  Splitting run;
  SeenRound round(run.federation, {}, false);
  for (std::uint32_t k = 0; k < 7; ++k) Splitting::send(round, k, 3, 0);
  const GroupsFormed formed = formed_by(run.groups->follow_event(2, round.observed, *run.models));
  EXPECT_FALSE(formed.anew);
  ASSERT_EQ(formed.notes.size(), 1u);
  EXPECT_THAT(formed.notes[0], HasSubstr("group 0: no split, the mean update is not shorter than epsilon-mean = 0.5"));
  // Until something happens there is nothing new to say.
  EXPECT_TRUE(formed_by(run.groups->follow_event(3, round.observed, *run.models)).notes.empty());
}

}  // namespace
}  // namespace muster
