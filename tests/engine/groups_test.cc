// Groups that are formed before a round: when, from whom, with what, and how they come back from a checkpoint.
#include "engine/groups.h"

#include <cmath>
#include <limits>

#include "data/federated_data.h"
#include "engine/packed_grouping.h"
#include "group_scene.h"

namespace muster {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::size_t kind_width = 0;  // of the kind that is asked for

Recipe random_groups(std::uint32_t size) {
  Recipe recipe;
  recipe.grouping.method = "random";
  recipe.grouping.size = size;
  return recipe;
}

TEST(Groups, AreDueByTheRhythmOfThePlan) {
  FakeFederation federation(std::vector<FakeClient>(6));
  Recipe recipe = random_groups(2);
  recipe.plan.regroup.every = 2;
  const auto groups = groups_of(recipe, federation);
  EXPECT_EQ(groups->due(1), "the run begins");
  EXPECT_EQ(groups->due(2), "there are none yet");
  EXPECT_TRUE(formed_by(groups->form(1, groups->due(1), {})).anew);
  EXPECT_EQ(groups->due(1), "");
  EXPECT_EQ(groups->due(2), "");
  EXPECT_EQ(groups->due(3), "regroup-every");
  EXPECT_EQ(groups->due(4), "");
}

TEST(Groups, AreDueForNewcomersThatNobodyPlaces) {
  FakeFederation federation(std::vector<FakeClient>{{}, {}, {}, {10, 10, 3}});
  Recipe recipe = random_groups(2);
  recipe.newcomers.round = 3;
  const auto waiting = groups_of(recipe, federation);
  EXPECT_FALSE(waiting->places_newcomers());
  (void)waiting->form(1, "", {});
  EXPECT_EQ(waiting->due(2), "");
  EXPECT_EQ(waiting->due(3), "newcomers");
  EXPECT_EQ(waiting->due(4), "");
  recipe.newcomers.assign = "random";
  const auto placing = groups_of(recipe, federation);
  EXPECT_TRUE(placing->places_newcomers());
  (void)placing->form(1, "", {});
  EXPECT_EQ(placing->due(3), "");
}

TEST(Groups, WaitForAnEventAsOneGroupOfAllThatAreThere) {
  FakeFederation federation(std::vector<FakeClient>{{}, {}, {0}, {10, 10, 3}, {}});
  Recipe recipe = by_direction();
  recipe.plan.regroup = {.on = "round", .round = 2};
  const auto groups = groups_of(recipe, federation);
  ASSERT_TRUE(groups->event());
  EXPECT_FALSE(groups->awaited());
  const GroupsFormed formed = formed_by(groups->form(1, groups->due(1), {}));
  EXPECT_TRUE(formed.anew);
  EXPECT_THAT(members_of(groups->grouping()), ElementsAre(ElementsAre(0, 1, 4)));
  EXPECT_THAT(ids_of(groups->grouping().idle()), ElementsAre(2, 3));
  EXPECT_TRUE(groups->awaited());
  EXPECT_EQ(groups->due(2), "");
  EXPECT_TRUE(groups->places_newcomers());  // by default, since the event comes once
  EXPECT_EQ(nlohmann::json::parse(formed.line)["why"], "the run begins");
}

TEST(Groups, WhereNobodyIsThereYetEverybodyIsIdleAndTheNextRoundTriesAgain) {
  // One client without samples, and two that come in round 3.
  FakeFederation federation(std::vector<FakeClient>{{0}, {10, 10, 3}, {10, 10, 3}});
  const auto groups = groups_of(random_groups(2), federation);
  const GroupsFormed formed = formed_by(groups->form(1, "", {}));
  EXPECT_FALSE(formed.anew);
  EXPECT_EQ(formed.notes.size(), 1u);
  EXPECT_EQ(groups->grouping().count(), 0u);
  EXPECT_THAT(ids_of(groups->grouping().idle()), ElementsAre(0, 1, 2));
  EXPECT_EQ(groups->samples(), 0u);
  EXPECT_FALSE(groups->due(2).empty());
  EXPECT_TRUE(formed_by(groups->form(3, "", {})).anew);
  EXPECT_THAT(ids_of(groups->grouping().members({0})), ElementsAre(1, 2));
}

TEST(Groups, OnlyWhoIsThereAndHasSamplesIsAskedAndGrouped) {
  FakeFederation federation(std::vector<FakeClient>{{10}, {0}, {20}, {30, 10, 2}, {40}}, by_direction().profile);
  federation.tell = tell_direction;
  const auto groups = groups_of(by_direction(), federation);
  (void)formed_by(groups->form(1, "", {}));
  EXPECT_THAT(federation.profiles[0].clients, ElementsAre(0, 2, 4));
  EXPECT_THAT(ids_of(groups->grouping().idle()), ElementsAre(1, 3));
  EXPECT_EQ(groups->samples(), 70u);
  (void)formed_by(groups->form(2, "", {}));
  EXPECT_THAT(federation.profiles[1].clients, ElementsAre(0, 2, 3, 4));
  EXPECT_EQ(groups->samples(), 100u);
}

TEST(Groups, ClientsTrainForProfilesFromTheModelOfTheKind) {
  for (const char* kind : {"update-direction", "classifier-weights"}) {
    Recipe recipe = by_direction();
    recipe.profile.kind = kind;
    FakeFederation federation(std::vector<FakeClient>(4), recipe.profile);
    federation.tell = [](const ProfileRequest& request, ClientId client) {
      ProfileReply reply = tell_direction(request, client);
      std::get<ClientProfile>(reply).vector.resize(kind_width);
      return reply;
    };
    kind_width = *federation.profile_kind().width(federation.network(), 1);
    const auto groups = groups_of(recipe, federation);
    const GroupsFormed formed = formed_by(groups->form(3, "", {}));
    const auto& asked = federation.profiles[0];
    EXPECT_EQ(asked.models, first_model(recipe, federation)) << kind;
    EXPECT_EQ(asked.width, 6u);
    EXPECT_EQ(asked.round, 3u);
    EXPECT_EQ(asked.as_of_round, 3u);
    EXPECT_FALSE(asked.losses);
    EXPECT_EQ(formed.samples_trained, 28u);
    EXPECT_GT(formed.bytes_up, 0u);
    EXPECT_GT(formed.bytes_down, 0u);
    EXPECT_GT(formed.slowest_flops, 0);
  }
}

TEST(Groups, AShareOfTheClientsIsAskedDrawnAnewEachTime) {
  Recipe recipe = by_direction();
  recipe.profile_clients = {8u};
  FakeFederation federation(std::vector<FakeClient>(20), recipe.profile);
  federation.tell = tell_direction;
  const auto groups = groups_of(recipe, federation);
  (void)formed_by(groups->form(1, "", {}));
  (void)formed_by(groups->form(2, "", {}));
  const std::vector<std::uint32_t> asked = federation.profiles[0].clients;
  EXPECT_EQ(asked.size(), 8u);
  EXPECT_NE(asked, federation.profiles[1].clients);
  EXPECT_EQ(groups->grouping().idle().size(), 12u);
  EXPECT_EQ(groups->samples(), 80u);  // who is not asked is in no group
  // Rows go to those that told them: even and odd clients are apart.
  for (const auto& members : members_of(groups->grouping())) {
    for (const std::uint32_t k : members) EXPECT_EQ(k % 2, members[0] % 2);
  }
}

TEST(Groups, StartAStepAlongTheMeanChangeOfTheirMembers) {
  // Every member counts alike, whatever its samples (FedGroup).
  FakeFederation federation(std::vector<FakeClient>{{10}, {10}, {1000}, {10}}, by_direction().profile);
  federation.tell = tell_direction;
  const auto groups = groups_of(by_direction(), federation);
  const GroupsFormed formed = formed_by(groups->form(1, "", {}));
  ASSERT_THAT(members_of(groups->grouping()), ElementsAre(ElementsAre(0, 2), ElementsAre(1, 3)));
  const std::vector<float> start = first_model(by_direction(), federation);
  ASSERT_EQ(formed.starts.count(), 2u);
  EXPECT_FLOAT_EQ(formed.starts.row(0)[0], start[0] + (1 + 3) / 2.0f);
  EXPECT_FLOAT_EQ(formed.starts.row(0)[1], start[1]);
  EXPECT_FLOAT_EQ(formed.starts.row(1)[1], start[1] + (2 + 4) / 2.0f);
  EXPECT_FLOAT_EQ(formed.starts.row(1)[5], start[5]);
  // Where one model is shared, nobody starts anywhere else.
  Recipe shared = by_direction();
  shared.aggregation.global = "uniform";
  EXPECT_TRUE(formed_by(groups_of(shared, federation)->form(1, "", {})).starts.values.empty());
}

TEST(Groups, TooFewAnswersLeaveTheGroupsAndAreAskedAgain) {
  FakeFederation federation(std::vector<FakeClient>(6), by_direction().profile);
  federation.tell = tell_direction;
  Recipe recipe = by_direction();
  recipe.plan.regroup.every = 3;
  const auto groups = groups_of(recipe, federation);
  (void)formed_by(groups->form(1, "", {}));
  const Members before = members_of(groups->grouping());
  federation.tell = [](const ProfileRequest&, ClientId client) {
    return ProfileReply{Dropped{client, DropReason::kFault}};
  };
  const GroupsFormed formed = formed_by(groups->form(4, groups->due(4), {}));
  EXPECT_FALSE(formed.anew);
  EXPECT_EQ(formed.dropped.size(), 6u);
  ASSERT_EQ(formed.notes.size(), 1u);
  EXPECT_THAT(formed.notes[0], HasSubstr("6 clients told nothing"));
  EXPECT_EQ(members_of(groups->grouping()), before);
  EXPECT_EQ(groups->due(5), "too few answered before");
  federation.tell = tell_direction;
  EXPECT_TRUE(formed_by(groups->form(5, groups->due(5), {})).anew);
  EXPECT_EQ(groups->due(6), "");
}

TEST(Groups, WhereTheFirstFormingFailsEverybodyIsIdle) {
  FakeFederation federation(std::vector<FakeClient>(6), by_direction().profile);
  const auto groups = groups_of(by_direction(), federation);
  EXPECT_FALSE(formed_by(groups->form(1, "", {})).anew);
  EXPECT_EQ(groups->grouping().count(), 0u);
  EXPECT_EQ(groups->grouping().idle().size(), 6u);
  EXPECT_EQ(groups->due(2), "there are none yet");
}

TEST(Groups, WhoTellsNothingIsIdle) {
  FakeFederation federation(std::vector<FakeClient>(6), by_direction().profile);
  federation.tell = [](const ProfileRequest& request, ClientId client) {
    if (client.value == 2) return ProfileReply{Dropped{client, DropReason::kFault}};
    return tell_direction(request, client);
  };
  const auto groups = groups_of(by_direction(), federation);
  const GroupsFormed formed = formed_by(groups->form(1, "", {}));
  EXPECT_THAT(members_of(groups->grouping()), ElementsAre(ElementsAre(0, 4), ElementsAre(1, 3, 5)));
  EXPECT_THAT(ids_of(groups->grouping().idle()), ElementsAre(2));
  ASSERT_EQ(formed.dropped.size(), 1u);
  EXPECT_EQ(formed.dropped[0].client, ClientId{2});
}

TEST(Groups, WhoTellsNothingIsFoundAlsoWhereNotAllAreAsked) {
  // Clients 0 and 1 are not asked: the second answer is client 3's.
  FakeFederation federation(std::vector<FakeClient>{{0}, {0}, {}, {}, {}, {}, {}}, by_direction().profile);
  federation.tell = [](const ProfileRequest& request, ClientId client) {
    if (client.value == 3) return ProfileReply{Dropped{client, DropReason::kFault}};
    return tell_direction(request, client);
  };
  const auto groups = groups_of(by_direction(), federation);
  (void)formed_by(groups->form(1, "", {}));
  EXPECT_THAT(members_of(groups->grouping()), ElementsAre(ElementsAre(2, 4, 6), ElementsAre(5)));
}

TEST(Groups, AnErrorThatNobodyVanishedForIsAnError) {
  Recipe recipe = by_direction();
  recipe.grouping.groups = 9;
  FakeFederation federation(std::vector<FakeClient>(4), recipe.profile);
  federation.tell = tell_direction;
  EXPECT_FALSE(groups_of(recipe, federation)->form(1, "", {}).ok());
}

TEST(Groups, VariationIsThatOfTheLabelsTold) {
  Recipe recipe = random_groups(2);
  recipe.profile = {.kind = "label-histogram"};
  recipe.plan.sampling = "inverse-cov";
  recipe.plan.sample_groups = Amount{1u};
  FakeFederation federation(std::vector<FakeClient>(4), recipe.profile);
  const std::vector<std::vector<std::uint32_t>> told{{9, 1}, {4, 4}, {0, 3}, {6, 2}};
  federation.tell = [&](const ProfileRequest&, ClientId client) {
    return ProfileReply{ClientProfile{.labels = told[client.value]}};
  };
  const auto groups = groups_of(recipe, federation);
  (void)formed_by(groups->form(1, "", {}));
  EXPECT_THAT(federation.profiles[0].models, IsEmpty());
  ASSERT_EQ(groups->cov().size(), 2u);
  for (std::uint32_t g = 0; g < 2; ++g) {
    const std::vector<std::uint32_t> members = ids_of(groups->grouping().members({g}));
    double sums[2] = {0, 0};
    for (const std::uint32_t k : members) {
      for (int c = 0; c < 2; ++c) sums[c] += told[k][static_cast<std::size_t>(c)];
    }
    // Of two classes: half the difference over half the sum.
    EXPECT_NEAR(groups->cov()[g], std::abs(sums[0] - sums[1]) / (sums[0] + sums[1]), 1e-12);
  }
  recipe.plan.sampling = "uniform";
  const auto uniform = groups_of(recipe, federation);
  (void)formed_by(uniform->form(1, "", {}));
  EXPECT_THAT(uniform->cov(), IsEmpty());
}

TEST(Groups, AsManyAsTheScheduleSays) {
  Recipe recipe = by_direction();
  recipe.profile = {.kind = "label-histogram"};
  recipe.grouping = {.method = "inter-cluster"};
  recipe.plan.groups = GroupSchedule{.growth = "linear", .alpha = 1, .beta = 2};
  FakeFederation federation(std::vector<FakeClient>(12), recipe.profile);
  federation.tell = [](const ProfileRequest&, ClientId client) {
    return ProfileReply{ClientProfile{.labels = {client.value + 1, 3}}};
  };
  const auto groups = groups_of(recipe, federation);
  (void)formed_by(groups->form(1, "", {}));
  EXPECT_EQ(groups->grouping().count(), 2u);
  (void)formed_by(groups->form(3, "", {}));
  EXPECT_EQ(groups->grouping().count(), 6u);
  (void)formed_by(groups->form(90, "", {}));
  EXPECT_EQ(groups->grouping().count(), 12u);
}

TEST(Groups, WithoutProfilesGoByTheSamplesOnTheRoster) {
  Recipe recipe = random_groups(2);
  recipe.grouping.size.reset();
  recipe.grouping.min_samples = 20;
  recipe.grouping.max_clients = 10;
  FakeFederation federation(std::vector<FakeClient>(6));  // of 10 samples
  const auto groups = groups_of(recipe, federation);
  (void)formed_by(groups->form(1, "", {}));
  EXPECT_EQ(groups->grouping().count(), 3u);
}

TEST(Groups, SayWhatTheMethodNotes) {
  Recipe recipe = by_direction();
  recipe.grouping.groups = 3;  // of two directions
  FakeFederation federation(std::vector<FakeClient>(6), recipe.profile);
  federation.tell = tell_direction;
  const GroupsFormed formed = formed_by(groups_of(recipe, federation)->form(1, "", {}));
  ASSERT_FALSE(formed.notes.empty());
  EXPECT_EQ(nlohmann::json::parse(formed.line)["notes"], formed.notes);
}

TEST(Groups, VariationIsMeasuredAnewWithTheGroups) {
  Recipe recipe = random_groups(2);
  recipe.profile = {.kind = "label-histogram"};
  recipe.plan.sampling = "inverse-cov";
  FakeFederation federation(std::vector<FakeClient>(4), recipe.profile);
  const auto told = [&](std::uint32_t first) {
    federation.tell = [=](const ProfileRequest&, ClientId) {
      return ProfileReply{ClientProfile{.labels = {first, 5}}};
    };
  };
  const auto groups = groups_of(recipe, federation);
  told(5);
  (void)formed_by(groups->form(1, "", {}));
  EXPECT_THAT(groups->cov(), testing::Each(0));
  told(15);
  (void)formed_by(groups->form(2, "", {}));
  EXPECT_THAT(groups->cov(), testing::Each(0.5));  // 30 and 10 about a mean of 20
}

TEST(Groups, NeverCrossEdges) {
  std::vector<FakeClient> clients(8);
  for (std::uint32_t k = 0; k < 8; ++k) clients[k].edge = k % 2;
  FakeFederation federation(clients);
  const auto groups = groups_of(random_groups(2), federation);
  (void)formed_by(groups->form(1, "", {}));
  for (const auto& members : members_of(groups->grouping())) {
    for (const std::uint32_t k : members) EXPECT_EQ(k % 2, members[0] % 2);
  }
}

TEST(Groups, AreDrawnByRoundAndSeedAndHistory) {
  FakeFederation federation(std::vector<FakeClient>(12));
  Recipe recipe = random_groups(3);
  const auto groups = groups_of(recipe, federation);
  const auto formed = [&](Groups& from, std::uint32_t round) {
    (void)formed_by(from.form(round, "", {}));
    return members_of(from.grouping());
  };
  const Members first = formed(*groups, 1);
  EXPECT_NE(formed(*groups, 2), first);
  EXPECT_EQ(formed(*groups, 1), first);
  recipe.seed = 2;
  EXPECT_NE(formed(*groups_of(recipe, federation), 1), first);
  // Methods that look at who was drawn before are told.
  Recipe qcid;
  qcid.profile = {.kind = "label-histogram"};
  qcid.grouping = {.method = "qcid", .min_size = 3, .lambda = 1000};
  FakeFederation telling(std::vector<FakeClient>(12), qcid.profile);
  telling.tell = [](const ProfileRequest&, ClientId client) {
    return ProfileReply{ClientProfile{.labels = {client.value + 1, 40}}};
  };
  std::vector<std::uint32_t> selected(12, 0);
  for (std::uint32_t k = 0; k < 6; ++k) selected[k] = 100000;
  const auto by_history = groups_of(qcid, telling);
  (void)formed_by(by_history->form(60, "", std::vector<std::uint32_t>(12, 25)));
  const Members even = members_of(by_history->grouping());
  (void)formed_by(by_history->form(60, "", selected));
  EXPECT_NE(members_of(by_history->grouping()), even);
}

TEST(Groups, TheLineSaysWhatWasFormedAndWhy) {
  FakeFederation federation(std::vector<FakeClient>(4), by_direction().profile);
  federation.tell = tell_direction;
  const auto groups = groups_of(by_direction(), federation);
  const GroupsFormed formed = formed_by(groups->form(7, "regroup-every", {}));
  const auto line = nlohmann::json::parse(formed.line);
  EXPECT_EQ(line["round"], 7);
  EXPECT_EQ(line["why"], "regroup-every");
  EXPECT_EQ(line["method"], "decomposed-cosine");
  EXPECT_EQ(line["count"], 2);
  EXPECT_EQ(line["members"], (Members{{0, 2}, {1, 3}}));
  EXPECT_EQ(line["profile"]["bytes_up"], formed.bytes_up);
  EXPECT_EQ(line["profile"]["bytes_down"], formed.bytes_down);
  EXPECT_FALSE(line.contains("quality"));
}

TEST(Groups, TheOracleIsHeardByTheRecordAlone) {
  const auto data = make_federated_data({.source = "blobs", .partition = "dirichlet", .clients = 6, .alpha = 0.3}, 1);
  ASSERT_TRUE(data.ok());
  const Oracle oracle(**data, 1);
  Recipe recipe = random_groups(2);
  recipe.profile = {.kind = "label-histogram"};
  recipe.plan.sampling = "inverse-cov";
  FakeFederation federation(std::vector<FakeClient>(6), recipe.profile);
  federation.tell = [](const ProfileRequest&, ClientId client) {
    return ProfileReply{ClientProfile{.labels = {client.value + 1, 3}}};
  };
  const auto blind = groups_of(recipe, federation);
  const auto seeing = groups_of(recipe, federation, &oracle);
  const GroupsFormed a = formed_by(blind->form(1, "", {}));
  const GroupsFormed b = formed_by(seeing->form(1, "", {}));
  EXPECT_EQ(members_of(blind->grouping()), members_of(seeing->grouping()));
  EXPECT_TRUE(std::ranges::equal(blind->cov(), seeing->cov()));
  EXPECT_TRUE(nlohmann::json::parse(b.line).contains("quality"));
  EXPECT_NE(a.line, b.line);
}

// Groups with means and coefficients of variation, as far as a recipe has them.
struct Saved {
  Saved() : recipe(by_direction()), federation(std::vector<FakeClient>{{}, {}, {}, {}, {10, 10, 9}}, recipe.profile) {
    recipe.newcomers.assign = "nearest-direction";
    federation.tell = tell_direction;
    const auto groups = groups_of(recipe, federation);
    (void)formed_by(groups->form(2, "", {}));
    checkpoint.round = 4;
    groups->save(checkpoint);
  }
  Status restore(const std::function<void(Checkpoint&)>& change) {
    Checkpoint changed = checkpoint;
    change(changed);
    return groups_of(recipe, federation)->restore(changed);
  }
  Recipe recipe;
  FakeFederation federation;
  Checkpoint checkpoint;
};

TEST(Groups, ComeBackFromACheckpoint) {
  Saved saved;
  const auto back = groups_of(saved.recipe, saved.federation);
  ASSERT_TRUE(back->restore(saved.checkpoint));
  EXPECT_THAT(members_of(back->grouping()), ElementsAre(ElementsAre(0, 2), ElementsAre(1, 3)));
  EXPECT_THAT(ids_of(back->grouping().idle()), ElementsAre(4));
  EXPECT_EQ(back->due(5), "");
  EXPECT_FALSE(back->awaited());
  Checkpoint again{.round = 4};
  back->save(again);
  EXPECT_EQ(again.sections, saved.checkpoint.sections);
}

TEST(Groups, WaitingAndOverdueComeBackToo) {
  Recipe recipe = by_direction();
  recipe.plan.regroup = {.on = "round", .round = 9};
  FakeFederation federation(std::vector<FakeClient>(4), recipe.profile);
  const auto groups = groups_of(recipe, federation);
  (void)formed_by(groups->form(1, "", {}));
  Checkpoint checkpoint{.round = 1};
  groups->save(checkpoint);
  const auto back = groups_of(recipe, federation);
  ASSERT_TRUE(back->restore(checkpoint));
  EXPECT_TRUE(back->awaited());
  // Nothing waits where the recipe knows no event.
  EXPECT_FALSE(groups_of(by_direction(), federation)->restore(checkpoint));

  Recipe rhythm = by_direction();
  const auto late = groups_of(rhythm, federation);
  federation.tell = tell_direction;
  (void)formed_by(late->form(1, "", {}));
  federation.tell = [](const ProfileRequest&, ClientId client) { return ProfileReply{Dropped{client, {}}}; };
  (void)formed_by(late->form(2, "", {}));
  Checkpoint overdue{.round = 2};
  late->save(overdue);
  const auto still = groups_of(rhythm, federation);
  ASSERT_TRUE(still->restore(overdue));
  EXPECT_EQ(still->due(3), "too few answered before");
}

TEST(Groups, RefuseACheckpointThatCannotBe) {
  Saved saved;
  EXPECT_TRUE(saved.restore([](Checkpoint&) {}));
  EXPECT_FALSE(saved.restore([](Checkpoint& c) { c.put_uint64("groups-formed-for", 5); }));
  EXPECT_FALSE(saved.restore([](Checkpoint& c) { c.put_uint64("groups-wait", 1); }));
  EXPECT_FALSE(saved.restore([](Checkpoint& c) { c.put_string("groups", "gxx"); }));
  EXPECT_FALSE(saved.restore([](Checkpoint& c) { c.put_doubles("group-cov", std::vector<double>{1, 2}); }));
  EXPECT_FALSE(saved.restore([](Checkpoint& c) { c.put_floats("group-means", std::vector<float>(6, 1)); }));
  EXPECT_FALSE(saved.restore([](Checkpoint& c) { c.put_floats("group-means", std::vector<float>(12, NAN)); }));
  EXPECT_FALSE(saved.restore([](Checkpoint& c) { c.put_floats("group-means-start", std::vector<float>(5, 1)); }));
  EXPECT_FALSE(saved.restore([](Checkpoint& c) { c.put_floats("group-means-start", std::vector<float>(6, NAN)); }));
  EXPECT_TRUE(saved.restore([](Checkpoint& c) { c.put_floats("group-means-start", std::vector<float>(6, 1)); }));
  // An empty group, where clients do not choose theirs.
  Grouping hollow;
  hollow.add(clients_of({0, 1, 2, 3}));
  hollow.add({});
  hollow.add_idle({4});
  EXPECT_FALSE(saved.restore([&](Checkpoint& c) { c.put_string("groups", pack(hollow, 5)); }));
  EXPECT_FALSE(saved.restore([](Checkpoint& c) { c.put_doubles("update-length", std::vector<double>{-1}); }));
  // A member that has not come yet: client 4 is there from round 9 on.
  Grouping early;
  early.add(clients_of({0, 1, 2, 3, 4}));
  EXPECT_FALSE(saved.restore([&](Checkpoint& c) {
    c.put_string("groups", pack(early, 5));
    c.put_floats("group-means", std::vector<float>(6, 1));
  }));
  for (const auto& [name, content] : saved.checkpoint.sections) {
    EXPECT_FALSE(saved.restore([&](Checkpoint& c) { c.sections.erase(name); })) << name;
  }
}

}  // namespace
}  // namespace muster
