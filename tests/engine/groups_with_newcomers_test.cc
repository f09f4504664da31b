// Clients that join groups which are there already.
#include "group_scene.h"

namespace muster {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Clients 0 to 3 are in two groups by direction, with models 10 and 20; the others come in round 4.
struct Joined {
  explicit Joined(const char* rule) {
    recipe.newcomers.assign = rule;
    federation.tell = tell_direction;
    groups = groups_of(recipe, federation);
    (void)formed_by(groups->form(1, "", {}));
    federation.profiles.clear();
    Rows<float> starts(2, 6);
    std::fill_n(starts.values.begin(), 6, 10.0f);
    std::fill_n(starts.values.begin() + 6, 6, 20.0f);
    models->regrouped(groups->grouping(), starts);
  }
  GroupsFormed place(const std::vector<std::uint32_t>& ids, std::uint32_t round = 4) {
    const std::vector<ClientId> waiting = clients_of(ids);
    return formed_by(groups->place(round, waiting, *models));
  }
  Recipe recipe = by_direction();
  FakeFederation federation{{{}, {}, {}, {}, {10, 10, 4}, {10, 10, 4}, {10, 10, 4}}, by_direction().profile};
  std::unique_ptr<Groups> groups;
  std::unique_ptr<Models> models = make_group_models(0, std::vector<float>(6, 4));
};

TEST(GroupsWithNewcomers, LossesAreAskedOfTheModelsOfAllGroups) {
  Joined run("argmin-loss");
  run.federation.tell = [](const ProfileRequest&, ClientId client) {
    if (client.value == 5) return ProfileReply{Dropped{client, DropReason::kFault}};
    const float first = client.value == 4 ? 3 : 1;
    return ProfileReply{ClientProfile{.vector = {first, 2}, .samples_evaluated = 20}};
  };
  const GroupsFormed formed = run.place({4, 5, 6});
  const auto& asked = run.federation.profiles[0];
  EXPECT_THAT(asked.clients, ElementsAre(4, 5, 6));
  EXPECT_TRUE(asked.losses);
  EXPECT_EQ(asked.round, 4u);
  EXPECT_EQ(asked.width, 6u);
  EXPECT_THAT(asked.models, ElementsAre(10, 10, 10, 10, 10, 10, 20, 20, 20, 20, 20, 20));
  EXPECT_THAT(members_of(run.groups->grouping()), ElementsAre(ElementsAre(0, 2, 6), ElementsAre(1, 3, 4)));
  EXPECT_THAT(ids_of(run.groups->grouping().idle()), ElementsAre(5));
  EXPECT_FALSE(formed.anew);  // groups keep their ids and models
  ASSERT_EQ(formed.dropped.size(), 1u);
  EXPECT_EQ(formed.dropped[0].client, ClientId{5});
  const auto line = nlohmann::json::parse(formed.line);
  EXPECT_EQ(line["round"], 4);
  EXPECT_EQ(line["method"], "argmin-loss");
  EXPECT_EQ(line["placed"].size(), 2u);
  EXPECT_EQ(line["placed"][1]["client"], 6);
  EXPECT_EQ(line["placed"][1]["group"], 0);
  EXPECT_EQ(line["placed"][0]["dissimilarity"], 2);
  // Who did not answer is asked again.
  EXPECT_THAT(ids_of(run.groups->to_place(clients_of({0, 4, 5, 6}))), ElementsAre(5));
}

TEST(GroupsWithNewcomers, DirectionsAreAskedFromWhereTheOthersBegan) {
  Joined run("nearest-direction");
  (void)run.place({4, 5}, 7);
  const auto& asked = run.federation.profiles[0];
  EXPECT_FALSE(asked.losses);
  EXPECT_EQ(asked.models, first_model(run.recipe, run.federation));
  EXPECT_EQ(asked.round, 7u);
  EXPECT_EQ(asked.as_of_round, 1u);
  EXPECT_THAT(members_of(run.groups->grouping()), ElementsAre(ElementsAre(0, 2, 4), ElementsAre(1, 3, 5)));
}

TEST(GroupsWithNewcomers, HeadsAreComparedWithTheMeansOfTheGroups) {
  Recipe recipe = by_direction();
  recipe.profile = {.kind = "classifier-weights"};
  recipe.grouping = {.method = "agglomerative", .groups = 2};
  recipe.newcomers.assign = "nearest-head";
  FakeFederation federation({{}, {}, {}, {}, {10, 10, 4}, {10, 10, 4}}, recipe.profile);
  federation.tell = [](const ProfileRequest&, ClientId client) {
    return ProfileReply{ClientProfile{.vector = std::vector<float>(4, client.value % 2 == 0 ? 1.0f : 9.0f)}};
  };
  const auto groups = groups_of(recipe, federation);
  (void)formed_by(groups->form(1, "", {}));
  const auto models = make_group_models(0, std::vector<float>(6, 4));
  models->regrouped(groups->grouping(), {});
  (void)formed_by(groups->place(4, clients_of({4, 5}), *models));
  EXPECT_THAT(members_of(groups->grouping()), ElementsAre(ElementsAre(0, 2, 4), ElementsAre(1, 3, 5)));
}

TEST(GroupsWithNewcomers, AfterAResumeTheyAreComparedWithTheSameMeans) {
  Joined run("nearest-direction");
  Checkpoint checkpoint{.round = 3};
  run.groups->save(checkpoint);
  run.groups = groups_of(run.recipe, run.federation);
  ASSERT_TRUE(run.groups->restore(checkpoint));
  (void)run.place({4, 5}, 7);
  EXPECT_EQ(run.federation.profiles[0].as_of_round, 1u);
  EXPECT_THAT(members_of(run.groups->grouping()), ElementsAre(ElementsAre(0, 2, 4), ElementsAre(1, 3, 5)));
}

TEST(GroupsWithNewcomers, MissingMeansAreAnErrorNeverAnAbort) {
  // A checkpoint without the means that the rule compares with is an error when it is read or used, never an abort.
  Joined run("nearest-direction");
  Checkpoint checkpoint{.round = 3};
  run.groups->save(checkpoint);
  checkpoint.put_floats("group-means", {});
  run.groups = groups_of(run.recipe, run.federation);
  if (!run.groups->restore(checkpoint)) return;
  const std::vector<ClientId> waiting = clients_of({4});
  EXPECT_FALSE(run.groups->place(4, waiting, *run.models).ok());
}

TEST(GroupsWithNewcomers, ARandomGroupNeedsNoQuestions) {
  Joined run("random");
  const GroupsFormed formed = run.place({4, 5, 6});
  EXPECT_THAT(run.federation.profiles, IsEmpty());
  EXPECT_THAT(run.groups->grouping().idle(), IsEmpty());
  EXPECT_EQ(formed.bytes_up, 0u);
  EXPECT_EQ(nlohmann::json::parse(formed.line)["method"], "random");
}

TEST(GroupsWithNewcomers, OneGroupTakesEverybodyUnasked) {
  Joined run("argmin-loss");
  run.recipe.plan.regroup = {.on = "round", .round = 9};
  run.groups = groups_of(run.recipe, run.federation);
  (void)formed_by(run.groups->form(1, "", {}));
  (void)run.place({5, 4});
  EXPECT_THAT(run.federation.profiles, IsEmpty());
  EXPECT_THAT(members_of(run.groups->grouping()), ElementsAre(ElementsAre(0, 1, 2, 3, 4, 5)));
}

TEST(GroupsWithNewcomers, WithoutGroupsOrNewcomersThereIsNothingToDo) {
  Joined run("argmin-loss");
  EXPECT_TRUE(run.place({}).line.empty());
  run.groups = groups_of(run.recipe, run.federation);
  EXPECT_TRUE(run.place({4}).line.empty());
  EXPECT_THAT(run.federation.profiles, IsEmpty());
}

TEST(GroupsWithNewcomers, IfNobodyTellsAnythingGroupsStay) {
  Joined run("argmin-loss");
  run.federation.tell = [](const ProfileRequest&, ClientId client) {
    return ProfileReply{Dropped{client, DropReason::kFault}};
  };
  const GroupsFormed formed = run.place({4, 5});
  EXPECT_TRUE(formed.line.empty());
  EXPECT_EQ(formed.dropped.size(), 2u);
  EXPECT_THAT(members_of(run.groups->grouping()), ElementsAre(ElementsAre(0, 2), ElementsAre(1, 3)));
}

}  // namespace
}  // namespace muster
