// How the round loop follows its groups: events, newcomers, profiles.
#include "fake_run.h"

namespace muster {
namespace {

using testing::Each;
using testing::ElementsAre;

TEST(RoundLoopGroups, AnEventFormsGroupsAndFreezesEpochs) {
  const Recipe recipe = by_event();
  FakeFederation federation(uneven(), recipe.profile);
  federation.step = up_or_down;
  FakeRun run(recipe, federation);
  run.go();
  ASSERT_EQ(federation.trainings.size(), 6u);
  // One group, watched from the round on in which it may come.
  for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(federation.trainings[i].groups.size(), 1u);
  EXPECT_FALSE(federation.trainings[1].wants_members);
  EXPECT_TRUE(federation.trainings[2].wants_members);
  EXPECT_THAT(federation.trainings[3].members, ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3)));
  EXPECT_FALSE(federation.trainings[3].wants_members);
  // Epochs grow while everybody is together, and are the usual ones afterwards.
  EXPECT_THAT(federation.trainings[0].epochs[0], Each(2));
  EXPECT_GT(federation.trainings[2].epochs[0][3], 2);
  for (std::uint32_t i = 3; i < 6; ++i) {
    for (const auto& epochs : federation.trainings[i].epochs) EXPECT_THAT(epochs, Each(2));
  }
  const Lines groups = run.lines("groups.jsonl");
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0]["round"], 1);
  EXPECT_EQ(groups[1]["round"], 3);
  EXPECT_EQ(groups[1]["why"], "round");
  EXPECT_EQ(run.lines("rounds.jsonl")[2]["groups"], 1);
}

TEST(RoundLoopGroups, GroupsOfAnEventStartWhereTheRecipeSays) {
  for (const char* start : {"shared", "members"}) {
    Recipe recipe = by_event();
    recipe.aggregation.start = start;
    FakeFederation federation(uneven(), recipe.profile);
    federation.step = up_or_down;
    FakeRun run(recipe, federation);
    run.go();
    const float before = federation.trainings[2].starts[0][0];
    const auto& after = federation.trainings[3].starts;
    if (std::string(start) == "members") {
      EXPECT_NEAR(after[0][0], before + 1, 1e-5);
      EXPECT_NEAR(after[1][0], before - 1, 1e-5);
    } else {
      EXPECT_NEAR(after[0][0], before + (150.0 - 30.0) / 180, 1e-5);
      EXPECT_EQ(after[0], after[1]);
    }
  }
}

TEST(RoundLoopGroups, WhoMissedTheEventIsPlacedInTheNextRound) {
  Recipe recipe = by_event();
  recipe.newcomers.assign = "argmin-loss";
  FakeFederation federation(uneven(), recipe.profile);
  federation.step = up_or_down;
  federation.gone = [](std::uint32_t round, ClientId client) { return round == 3 && client.value == 1; };
  federation.tell = [](const ProfileRequest&, ClientId) { return ProfileReply{ClientProfile{.vector = {2, 1}}}; };
  FakeRun run(recipe, federation);
  run.go();
  ASSERT_EQ(federation.profiles.size(), 1u);
  EXPECT_THAT(federation.profiles[0].clients, ElementsAre(1));
  EXPECT_EQ(federation.profiles[0].round, 4u);
  EXPECT_THAT(federation.trainings[3].members, ElementsAre(ElementsAre(0), ElementsAre(1, 2, 3)));
  EXPECT_EQ(run.lines("groups.jsonl").back()["why"], "newcomers");
}

TEST(RoundLoopGroups, NewcomersAreDrawnLikeAllOthersAndPlacedFirst) {
  Recipe recipe = groups_of_size(6, 2);
  recipe.newcomers.assign = "random";
  recipe.newcomers.round = 3;
  std::vector<FakeClient> clients(6);
  clients[4].since_round = clients[5].since_round = 3;
  FakeFederation federation(clients);
  recipe.plan.sample_clients = {1.0};
  FakeRun run(recipe, federation);
  run.go();
  const auto trained = [&](std::uint32_t round) {
    std::size_t count = 0;
    for (const auto& members : federation.trainings[round - 1].members) count += members.size();
    return count;
  };
  EXPECT_EQ(trained(2), 4u);
  EXPECT_EQ(trained(3), 6u);
  EXPECT_EQ(federation.trainings[2].groups.size(), 2u);
  EXPECT_EQ(run.lines("rounds.jsonl")[1]["idle"], 2);
  EXPECT_EQ(run.lines("rounds.jsonl")[2]["idle"], 0);
}

TEST(RoundLoopGroups, ProfilesAreChargedToTheirRound) {
  Recipe recipe = averaging(2);
  recipe.profile = {.kind = "update-direction"};
  recipe.grouping.method = "decomposed-cosine";
  recipe.grouping.groups = 2;
  FakeFederation federation(std::vector<FakeClient>(4), recipe.profile);
  federation.tell = [](const ProfileRequest&, ClientId client) {
    if (client.value == 3) return ProfileReply{Dropped{client, DropReason::kStraggler}};
    std::vector<float> vector(6, 0);
    vector[client.value % 2] = 1;
    return ProfileReply{ClientProfile{.vector = vector, .samples_trained = 7}};
  };
  FakeRun run(recipe, federation);
  run.go();
  const Lines rounds = run.lines("rounds.jsonl");
  EXPECT_EQ(rounds[0]["bytes_up"].get<int>() - rounds[1]["bytes_up"].get<int>(), 3 * 24);
  EXPECT_EQ(rounds[0]["bytes_down"].get<int>() - rounds[1]["bytes_down"].get<int>(), 4 * 24);
  EXPECT_GT(rounds[0]["compute_s"], rounds[1]["compute_s"]);
  EXPECT_EQ(rounds[0]["idle"], 1);
  EXPECT_EQ(run.loop->tally({3}).dropped, 1u);
  EXPECT_EQ(run.loop->state().totals.samples_trained, 3u * 7 + 2 * 30);
}

// Groups by direction from the profiles of `asked` clients; the first of every request tells nothing.
Recipe told_by_some(std::uint32_t asked) {
  Recipe recipe = averaging(2);
  recipe.profile = {.kind = "update-direction"};
  recipe.profile_clients = {asked};
  recipe.grouping.method = "decomposed-cosine";
  recipe.grouping.groups = 2;
  recipe.aggregation.global = "none";
  recipe.newcomers.assign = "nearest-direction";
  return recipe;
}
ProfileReply all_but_the_first(const ProfileRequest& request, ClientId client) {
  if (client == request.clients.front()) return ProfileReply{Dropped{client, DropReason::kStraggler}};
  std::vector<float> vector(6, 0);
  vector[client.value % 2] = 1;
  return ProfileReply{ClientProfile{.vector = vector, .samples_trained = 7}};
}

TEST(RoundLoopGroups, WhoVanishedWhenGroupsWereFormedIsNotAskedAgainInThatRound) {
  const Recipe recipe = told_by_some(5);
  FakeFederation federation(std::vector<FakeClient>(5), recipe.profile);
  federation.tell = all_but_the_first;
  FakeRun run(recipe, federation);
  run.go();
  ASSERT_EQ(federation.profiles.size(), 2u);
  EXPECT_EQ(federation.profiles[0].round, 1u);
  EXPECT_EQ(federation.profiles[1].round, 2u);
  EXPECT_THAT(federation.profiles[1].clients, ElementsAre(0));
}

TEST(RoundLoopGroups, WhyNoGroupsWereFormedIsSaid) {
  const Recipe recipe = told_by_some(5);
  FakeFederation federation(std::vector<FakeClient>(5), recipe.profile);  // nobody tells anything
  FakeRun run(recipe, federation);
  run.go();
  ASSERT_FALSE(run.notes.empty());
  EXPECT_THAT(run.notes[0], testing::HasSubstr("5 clients told nothing"));
}

TEST(RoundLoopGroups, ARoundThatFormsGroupsAndPlacesClientsAnswersForBoth) {
  const Recipe recipe = told_by_some(6);
  FakeFederation federation(std::vector<FakeClient>(9), recipe.profile);
  federation.tell = all_but_the_first;
  FakeRun run(recipe, federation);
  run.go();
  ASSERT_GE(federation.profiles.size(), 2u);
  EXPECT_EQ(federation.profiles[1].round, 1u);
  ASSERT_EQ(federation.profiles[0].clients.size(), 6u);
  ASSERT_EQ(federation.profiles[1].clients.size(), 3u);  // the others
  const nlohmann::json first = run.lines("rounds.jsonl")[0];
  ASSERT_EQ(first["dropped"].size(), 2u);
  EXPECT_EQ(first["dropped"][0]["client"], federation.profiles[0].clients[0]);
  EXPECT_EQ(first["dropped"][1]["client"], federation.profiles[1].clients[0]);
  // Seven tell and train, all nine are sent a model for their profile: 24 bytes each.
  EXPECT_EQ(first["participants"], 7);
  EXPECT_EQ(first["bytes_up"], (7 + 7) * 24);
  EXPECT_EQ(first["bytes_down"], (9 + 7) * 24);
  EXPECT_EQ(run.lines("groups.jsonl")[0]["why"], "the run begins");
  EXPECT_EQ(run.lines("groups.jsonl")[1]["why"], "newcomers");
}

TEST(RoundLoopGroups, LateClientsAreScoredFromTheRoundInWhichTheyCome) {
  Recipe recipe = averaging(4);
  recipe.newcomers.round = 3;
  recipe.evaluation.on = "clients";
  std::vector<FakeClient> clients(3);
  clients[2].since_round = 3;
  for (const std::uint32_t every : {1u, 3u}) {
    recipe.evaluation.every = every;
    FakeFederation federation(clients);
    FakeRun run(recipe, federation);
    StopReason reason = run.go();
    ASSERT_TRUE(run.loop->evaluate_end(reason).ok());
    std::vector<std::size_t> scored;
    for (const auto& evaluation : federation.evaluations) scored.push_back(evaluation.clients.size());
    EXPECT_EQ(scored, every == 1 ? (std::vector<std::size_t>{2, 2, 3, 3}) : (std::vector<std::size_t>{3, 3})) << every;
  }
}

TEST(RoundLoopGroups, SumsWithoutBiasCountTheSamplesOfThoseInGroups) {
  Recipe recipe = averaging(1);
  recipe.grouping.method = "random";
  recipe.grouping.size = 1;
  recipe.plan.sample_groups = {1.0};
  recipe.aggregation.global = "unbiased";
  FakeFederation federation(std::vector<FakeClient>{{10}, {30}, {60, 10, 5}});  // the last is not there yet
  FakeRun run(recipe, federation);
  run.go();
  // Steps of 1 and 2, weighed by 10 and 30 of the 40 samples.
  EXPECT_NEAR(run.loop->models().shared()[0] - federation.trainings[0].starts[0][0], 1.75, 1e-5);
}

}  // namespace
}  // namespace muster
