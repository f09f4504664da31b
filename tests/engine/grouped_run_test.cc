// Runs of groups: the exact equivalences between compositions, what is recorded, and what is refused.
#include <cmath>
#include <numeric>

#include "engine/models.h"
#include "small_run.h"

namespace muster {
namespace {

class GroupedRun : public SimulationTest {
 protected:
  // Final weights, as bytes: two runs with equal weights trained the same thing, whatever they recorded.
  std::string weights(const Settings& settings, std::uint32_t threads = 2) {
    const RunSummary summary = run(small(settings), threads);
    std::ifstream in(summary.dir / "model.safetensors", std::ios::binary);
    const std::string file{std::istreambuf_iterator<char>(in), {}};
    std::uint64_t header = 0;
    std::memcpy(&header, file.data(), sizeof header);
    return file.substr(8 + header);  // the header holds name and signature
  }
  static Settings with(Settings settings, const Settings& more) {
    settings.insert(settings.end(), more.begin(), more.end());
    return settings;
  }
};

const Settings kLabels{"profile.kind=label-histogram", "plan.sample-clients=1.0"};

TEST_F(GroupedRun, AsManyGroupsAsClientsInSequenceIsFederatedAveraging) {
  const Settings sequence =
      GroupedRun::with(kLabels, {"grouping.method=inter-cluster", "plan.groups=12", "plan.regroup-every=1",
                                 "plan.sample-groups=0.4", "training.mode=sequential", "aggregation.global=uniform"});
  EXPECT_EQ(weights(sequence), weights({"plan.sample-clients=0.4", "aggregation.global=uniform"}));
}

TEST_F(GroupedRun, OneGroupInSequenceIsOneChainOverAllClients) {
  const Settings chain = with(kLabels, {"grouping.method=inter-cluster", "plan.groups=1", "training.mode=sequential",
                                        "training.shuffle=false"});
  const Settings random = {"plan.sample-clients=1.0", "grouping.method=random", "grouping.size=12",
                           "training.mode=sequential", "training.shuffle=false"};
  EXPECT_EQ(weights(chain), weights(random));
}

TEST_F(GroupedRun, GroupsOfOneInSequenceAreFederatedAveraging) {
  const Settings alone =
      with(kLabels, {"grouping.method=greedy-complement", "grouping.max-clients=1", "grouping.min-samples=1",
                     "plan.sample-groups=0.5", "training.mode=sequential"});
  EXPECT_EQ(weights(alone), weights({"plan.sample-clients=0.5"}));
}

TEST_F(GroupedRun, SlotsAveragedEveryRoundAreAveragedGroups) {
  const Settings groups = with(
      kLabels, {"grouping.method=mediator", "grouping.size=3", "plan.sample-groups=0.5", "training.mode=sequential"});
  EXPECT_EQ(weights(with(groups, {"aggregation.global=slots", "aggregation.window=1"})), weights(groups));
  EXPECT_NE(weights(with(groups, {"aggregation.global=slots", "aggregation.window=4"})), weights(groups));
}

TEST_F(GroupedRun, OneSlotThatIsNeverAveragedIsOneEndlessChain) {
  // One group of everybody: each round the slot goes on where the last round ended, as the shared model does.
  const Settings chain{"plan.sample-clients=1.0", "grouping.method=random", "grouping.size=12",
                       "training.mode=sequential"};
  EXPECT_EQ(weights(with(chain, {"aggregation.global=slots", "aggregation.window=1000"})), weights(chain));
}

TEST_F(GroupedRun, AllGroupsOfOneGroupRoundAreFullParticipation) {
  // Equal up to rounding: a mean of means adds in another order.
  const RunSummary grouped = run(small(with(kLabels, {"grouping.method=coefficient-of-variation", "grouping.min-size=3",
                                                      "grouping.tail=merge", "plan.sampling=all"})));
  const RunSummary flat = run(small({"plan.sample-clients=1.0"}));
  EXPECT_NEAR(*grouped.accuracy_last, *flat.accuracy_last, 0.02);
  EXPECT_NEAR(*grouped.loss_last, *flat.loss_last, 1e-3);
}

TEST_F(GroupedRun, DrawnGroupsOfOneAreFederatedAveraging) {
  const Settings groups{"plan.sample-clients=1.0", "grouping.method=random", "grouping.size=1", "plan.sample-groups=5"};
  const std::string averaging = weights({"plan.sample-clients=5"});
  EXPECT_EQ(weights(groups), averaging);
  EXPECT_EQ(weights(with(groups, {"aggregation.global=stabilised"})), averaging);
  EXPECT_NE(weights(with(groups, {"aggregation.global=unbiased"})), averaging);
}

TEST_F(GroupedRun, UnequalDrawsAreCorrected) {
  const Settings groups =
      with(kLabels, {"grouping.method=coefficient-of-variation", "grouping.min-size=2", "plan.sample-groups=2"});
  const Settings uneven = with(groups, {"plan.sampling=inverse-cov"});
  EXPECT_EQ(weights(with(groups, {"aggregation.global=stabilised"})), weights(groups));
  EXPECT_NE(weights(with(uneven, {"aggregation.global=stabilised"})), weights(uneven));
}

TEST_F(GroupedRun, EveryGroupWithoutBiasIsFullParticipation) {
  // All drawn, all equally likely: n_g / (n p S) = n_g / n.
  const Settings groups{"plan.sample-clients=1.0", "grouping.method=random", "grouping.size=3",
                        "plan.sample-groups=1.0"};
  const RunSummary unbiased = run(small(with(groups, {"aggregation.global=unbiased"})));
  const RunSummary weighted = run(small(groups));
  EXPECT_NEAR(*unbiased.loss_last, *weighted.loss_last, 1e-4);
}

TEST_F(GroupedRun, OneGroupWithAModelOfItsOwnIsFederatedAveraging) {
  const Settings one{"plan.sample-clients=5", "grouping.method=random", "grouping.size=12", "aggregation.global=none",
                     "evaluation.on=clients"};
  EXPECT_EQ(weights(one), weights({"plan.sample-clients=5", "evaluation.on=clients"}));
}

const Settings kByLoss{"profile.kind=losses", "grouping.method=argmin-loss", "aggregation.global=none",
                       "aggregation.in-group=uniform", "evaluation.on=clients"};
const Settings kBySent{"grouping.method=nearest-centre", "aggregation.global=none", "aggregation.in-group=uniform",
                       "evaluation.on=clients"};

TEST_F(GroupedRun, OneModelToChooseFromIsUniformAveraging) {
  const std::string averaging = weights({"aggregation.global=uniform", "evaluation.on=clients"});
  EXPECT_EQ(weights(with(kByLoss, {"grouping.groups=1"})), averaging);
  EXPECT_EQ(weights(with(kBySent, {"grouping.groups=1"})), averaging);
  EXPECT_NE(weights(with(kByLoss, {"grouping.groups=2"})), averaging);
}

TEST_F(GroupedRun, GroupsThatAreNeverSplitOrAllMergedAreFederatedAveraging) {
  const Settings all{"plan.sample-clients=1.0", "evaluation.on=clients"};
  const std::string averaging = weights(all);
  const Settings event =
      with(all, {"profile.kind=update-direction", "aggregation.global=none", "plan.regroup-round=2"});
  EXPECT_EQ(
      weights(with(event, {"grouping.method=bipartition", "plan.regroup-on=bipartition", "grouping.epsilon-mean=0"})),
      averaging);
  EXPECT_EQ(weights(with(event, {"grouping.method=bipartition", "plan.regroup-on=bipartition",
                                 "grouping.epsilon-mean=0", "plan.calibrate-round=1"})),
            averaging);
  EXPECT_EQ(weights(with(event, {"grouping.method=agglomerative", "plan.regroup-on=round", "grouping.threshold=1e30"})),
            averaging);
  EXPECT_NE(weights(with(event, {"grouping.method=bipartition", "plan.regroup-on=bipartition",
                                 "grouping.epsilon-mean=1e9", "grouping.epsilon-max=0"})),
            averaging);
}

// IFCA's cost: all models down and one up for each participant that answers, and the losses.
TEST_F(GroupedRun, ChoosingCostsEveryModelOnceDown) {
  const auto bytes = [&](const Settings& settings, const char* which) {
    const RunSummary summary = run(small(settings));
    return lines(summary.dir / "rounds.jsonl")[1][which].get<std::uint64_t>();
  };
  const Settings plain{"aggregation.global=uniform", "evaluation.on=clients"};
  const std::uint64_t one = bytes(plain, "bytes_down");
  for (const std::uint32_t k : {2u, 3u}) {
    const Settings chosen = with(kByLoss, {"grouping.groups=" + std::to_string(k)});
    EXPECT_EQ(bytes(chosen, "bytes_down"), k * one);
    EXPECT_EQ(bytes(chosen, "bytes_up"), bytes(plain, "bytes_up") + 5 * k * sizeof(float));
  }
  EXPECT_EQ(bytes(with(kByLoss, {"grouping.groups=1"}), "bytes_down"), one);
  EXPECT_EQ(bytes(with(kBySent, {"grouping.groups=3"}), "bytes_down"), one);
}

// Two blocks of clients whose images are turned by 0 and 180 degrees: whoever chooses by loss finds its like, unless
// one random model is the better one for both blocks at the start, and stays it. So of some starts one finds them.
TEST_F(GroupedRun, ChoosingByLossFindsPlantedClusters) {
  std::uint32_t found = 0;
  for (const char* seed : {"seed=1", "seed=2", "seed=3", "seed=4", "seed=5", "seed=6"}) {
    const RunSummary summary = run(recipe_of({kSmallRun,
                                              {"data.source=blobs", "data.partition=rotations", "data.rotations=2",
                                               "data.test-fraction=0.2", "plan.sample-clients=1.0", "rounds=15", seed},
                                              kByLoss,
                                              {"grouping.groups=2"}}),
                                   2);
    ASSERT_TRUE(summary.truth);
    if (summary.truth->correct == summary.truth->clients) ++found;
  }
  EXPECT_GT(found, 0u);
}

TEST_F(GroupedRun, WhoSentNothingIsNearestToTheFirstModelUnlessItTrainedBefore) {
  const auto groups_used = [&](const Settings& more) {
    const RunSummary summary = run(small(with(with(kBySent, {"grouping.groups=3", "plan.sample-clients=1.0"}), more)));
    return lines(summary.dir / "rounds.jsonl")[0]["groups"].get<int>();
  };
  EXPECT_EQ(groups_used({}), 1);
  EXPECT_EQ(groups_used({"profile.kind=update-direction", "profile.epochs=1.0", "newcomers.assign=nearest-model",
                         "newcomers.rejoin=true"}),
            3);
}

TEST_F(GroupedRun, EverybodyMayBePlacedAtOnce) {
  const auto placed = [&](const char* at_once) {
    const RunSummary summary = run(small({"profile.kind=update-direction", "profile.steps=2", "profile.clients=6",
                                          "grouping.method=decomposed-cosine", "grouping.groups=2",
                                          "aggregation.global=none", "newcomers.assign=nearest-direction",
                                          std::string("newcomers.at-once=") + at_once, "plan.sample-clients=3"}));
    const auto formed = lines(summary.dir / "groups.jsonl");
    return formed.size() > 1 && formed[1]["round"] == 1 ? formed[1]["placed"].size() : 0;
  };
  EXPECT_EQ(placed("true"), 6u);
  EXPECT_LE(placed("false"), 3u);
}

TEST_F(GroupedRun, RecordsWhatItFormed) {
  const RunSummary summary =
      run(small(with(kLabels, {"data.edges=2", "grouping.method=coefficient-of-variation", "grouping.min-size=2",
                               "plan.sample-groups=2", "plan.regroup-every=2", "profile.epsilon=2.0"})));
  const auto formed = lines(summary.dir / "groups.jsonl");
  ASSERT_EQ(formed.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(formed[i]["round"], 2 * i + 1);
    EXPECT_EQ(formed[i]["profile"]["epsilon"], 2.0);
    EXPECT_GT(formed[i]["profile"]["bytes_up"], 0);
    std::size_t clients = formed[i]["idle"].size();
    for (const auto& group : formed[i]["members"]) clients += group.size();
    EXPECT_EQ(clients, 12u);
  }
  const auto rounds = lines(summary.dir / "rounds.jsonl");
  EXPECT_GT(rounds[0]["bytes_up"].get<std::uint64_t>(), 0u);
  EXPECT_LE(rounds[0]["groups"], 2);
  EXPECT_GE(summary.group_size_min, 2);
}

TEST_F(GroupedRun, RefusesWhatCannotWork) {
  const auto refused = [&](const Settings& settings) {
    const auto summary = simulate(small(settings), options());
    EXPECT_FALSE(summary.ok());
    return summary.ok() ? std::string() : summary.error().message;
  };
  using testing::HasSubstr;
  EXPECT_THAT(refused({"grouping.method=inter-cluster", "grouping.groups=3"}), HasSubstr("profile.kind"));
  EXPECT_THAT(refused({"grouping.method=gap-voting", "profile.kind=label-histogram"}), HasSubstr("profile.kind"));
  EXPECT_THAT(
      refused({"grouping.method=random", "grouping.size=3", "local.objective=dynamic", "aggregation.global=none"}),
      HasSubstr("aggregation.global"));
  EXPECT_THAT(refused({"grouping.method=argmin-loss", "profile.kind=losses"}), HasSubstr("grouping.groups: not set"));
  EXPECT_THAT(refused({"grouping.method=argmin-loss", "profile.kind=losses", "grouping.groups=2"}),
              HasSubstr("want aggregation.global = \"none\""));
  EXPECT_THAT(refused({"grouping.method=argmin-loss", "grouping.groups=2", "aggregation.global=none"}),
              HasSubstr("groups clients by losses; want \"losses\""));
  EXPECT_THAT(refused({"grouping.method=agglomerative", "grouping.groups=2", "profile.kind=losses"}),
              HasSubstr("want grouping.method = \"argmin-loss\""));
  EXPECT_THAT(refused({"grouping.method=nearest-centre", "grouping.groups=2", "aggregation.global=none",
                       "newcomers.assign=random"}),
              HasSubstr("newcomers.assign"));
  EXPECT_THAT(refused({"grouping.method=nearest-centre", "grouping.groups=2", "aggregation.global=none",
                       "training.mode=sequential"}),
              HasSubstr("training.mode"));
  EXPECT_THAT(refused({"aggregation.mixing=0.1"}), HasSubstr("aggregation.mixing"));
  EXPECT_THAT(refused({"aggregation.window=3"}), HasSubstr("aggregation.window"));
  for (const char* global : {"aggregation.global=unbiased", "aggregation.global=stabilised"}) {
    EXPECT_THAT(refused({global, "grouping.method=random", "grouping.size=3"}), HasSubstr("plan.sample-groups"));
    EXPECT_THAT(refused({global, "plan.sample-clients=1.0", "plan.sampling=all"}), HasSubstr("plan.sample-groups"));
  }
}

TEST(Models, MixAsTheWorkedExampleSays) {
  const auto models = make_group_models(0.1, {0, 0});
  Grouping grouping;
  const ClientId clients[] = {{0}, {1}};
  grouping.add({clients, 1});
  grouping.add({clients + 1, 1});
  models->regrouped(grouping, {});
  models->begin(1, 2);
  for (std::uint32_t g = 0; g < 2; ++g) {
    GroupUpdate update{.group = {g}, .model = g == 0 ? std::vector<float>{3, 4} : std::vector<float>{0, 2}};
    update.members.push_back({.client = {g}, .samples = 1});
    models->add(update, g);
  }
  models->finish();
  EXPECT_NEAR(models->of({0})[0], 2.857143, 1e-6);
  EXPECT_NEAR(models->of({0})[1], 3.904762, 1e-6);
  EXPECT_NEAR(models->of({1})[0], 0.058824, 1e-6);
  EXPECT_NEAR(models->of({1})[1], 2.039216, 1e-6);
}

TEST(Models, MixAsPrintedWithoutDividing) {
  const auto models = make_group_models(0.1, {0, 0}, {}, false);
  Grouping grouping;
  const ClientId clients[] = {{0}, {1}};
  grouping.add({clients, 1});
  grouping.add({clients + 1, 1});
  models->regrouped(grouping, {});
  models->begin(1, 2);
  for (std::uint32_t g = 0; g < 2; ++g) {
    GroupUpdate update{.group = {g}, .model = g == 0 ? std::vector<float>{3, 4} : std::vector<float>{0, 2}};
    update.members.push_back({.client = {g}, .samples = 1});
    models->add(update, g);
  }
  models->finish();
  EXPECT_NEAR(models->of({0})[0], 3.0, 1e-6);
  EXPECT_NEAR(models->of({0})[1], 4.1, 1e-6);
  EXPECT_NEAR(models->of({1})[0], 0.06, 1e-6);
  EXPECT_NEAR(models->of({1})[1], 2.08, 1e-6);
}

}  // namespace
}  // namespace muster
