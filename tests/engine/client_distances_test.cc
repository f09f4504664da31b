// Distances between what clients were grouped by, alone and in the records of runs.
#include "engine/client_distances.h"

#include <cmath>
#include <limits>

#include "record/checkpoint.h"
#include "run_records.h"

namespace muster {
namespace {

using testing::ElementsAre;

TEST(ClientDistances, AreOfAFewOfManyClients) {
  const std::vector<float> vector{1, 2};
  std::vector<ClientVector> clients;
  for (std::uint32_t k = 0; k < 1000; ++k) clients.push_back({{999 - k}, vector});
  const ClientDistances found = client_distances("l2", clients);
  ASSERT_EQ(found.clients.size(), 200u);
  for (std::uint32_t i = 0; i < 200; ++i) EXPECT_EQ(found.clients[i].value, 5 * i);
  EXPECT_EQ(found.rows.count(), 200u);
}

TEST(ClientDistances, LeaveOutVectorsThatAreNotFinite) {
  const std::vector<float> zero{0, 0};
  const std::vector<float> broken{0, std::numeric_limits<float>::quiet_NaN()};
  const std::vector<float> far{3, 4};
  const ClientDistances found = client_distances("l2", {{{2}, far}, {{1}, broken}, {{0}, zero}});
  EXPECT_THAT(found.clients, ElementsAre(ClientId{0}, ClientId{2}));
  EXPECT_THAT(found.rows.values, ElementsAre(0, 5, 5, 0));
  EXPECT_TRUE(client_distances("l2", {{{1}, broken}}).clients.empty());
}

TEST(ClientDistances, GoByTheMethodsMetricOrElseByTheProfile) {
  const auto metric = [](const Settings& settings) {
    const Recipe recipe = recipe_of({settings});
    return compared_by(recipe, *std::move(make_profile_kind(recipe.profile)).value());
  };
  EXPECT_EQ(metric({"profile.kind=update-direction", "grouping.method=agglomerative"}), "l2");
  EXPECT_EQ(metric({"profile.kind=update-direction", "grouping.method=agglomerative", "grouping.metric=l1"}), "l1");
  EXPECT_EQ(metric({"profile.kind=update-direction", "grouping.method=bipartition"}), "cosine");
  EXPECT_EQ(metric({"profile.kind=classifier-weights", "grouping.method=gap-voting"}), "l2");
}

class RecordedDistances : public SimulationTest {};

// Two kinds of clients, of different labels.
Settings planted(const Settings& more) {
  Settings settings{
      "data.source=blobs",      "data.partition=label-groups", "data.label-groups=0-4,5-9", "data.clients=8",
      "data.samples-max=40",    "model.name=softmax",          "local.learning-rate=0.1",   "rounds=4",
      "aggregation.global=none"};
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

TEST_F(RecordedDistances, TellPlantedClustersApart) {
  for (const Settings& method :
       {Settings{"profile.kind=classifier-weights", "profile.epochs=1.0", "grouping.method=gap-voting"},
        Settings{"profile.kind=classifier-weights", "grouping.method=gap-voting", "plan.regroup-on=round",
                 "plan.regroup-round=2"},
        Settings{"profile.kind=update-direction", "grouping.method=bipartition", "grouping.epsilon-mean=1e9",
                 "grouping.epsilon-max=0", "plan.regroup-on=bipartition", "plan.regroup-round=2"}}) {
    const RunSummary summary = run(recipe_of({planted(method), {"evaluation.distances=true"}}));
    const auto line = lines(summary.dir / "groups.jsonl").back();
    SCOPED_TRACE(method.back());
    EXPECT_EQ(line["distances"]["clients"].size(), 8u);
    EXPECT_EQ(line["distances"]["rows"].size(), 8u);
    EXPECT_GT(line["truth"]["distance_between"].get<double>(), 1.3 * line["truth"]["distance_within"].get<double>());
    EXPECT_FALSE(lines(run(recipe_of({planted(method)})).dir / "groups.jsonl").back().contains("distances"));
  }
}

// With the variance of losses and the epochs of each client beside them.
TEST_F(RecordedDistances, AreTheSameAtAnyThreadCountAndAfterAResume) {
  const Settings autocfl{"profile.kind=classifier-weights",
                         "grouping.method=gap-voting",
                         "plan.regroup-on=loss-variance",
                         "local.adapt-epochs=0.5",
                         "data.imbalance=true",
                         "rounds=6",
                         "checkpoint-every=2",
                         "evaluation.distances=true"};
  const Records whole = records_of(run(recipe_of({planted(autocfl)})));
  EXPECT_TRUE(whole.groups.back().contains("distances"));
  EXPECT_GT(whole.rounds[2]["epochs"]["max"], 1);
  EXPECT_EQ(whole.rounds[2]["epochs"]["clients"].size(), 8u);
  EXPECT_FALSE(whole.rounds[5].contains("epochs"));
  EXPECT_GT(whole.rounds[5]["loss_variance"], 0);
  EXPECT_EQ(records_of(run(recipe_of({planted(autocfl)}), 3)), whole);
  for (const std::uint32_t stop : {2u, 3u, 5u}) {
    const RunSummary first = run(recipe_of({planted(autocfl), {"rounds=" + std::to_string(stop)}}));
    if (stop % 2 != 0) std::filesystem::remove(list_checkpoints(first.dir / "checkpoint").front());
    const auto second = resume(first.dir.string(), {"rounds=6"}, options(2));
    ASSERT_TRUE(second.ok()) << second.error().message;
    EXPECT_EQ(records_of(*second), whole) << stop;
  }
}

TEST_F(RecordedDistances, ChangeNothingElse) {
  const Settings method{"profile.kind=classifier-weights", "profile.epochs=1.0", "grouping.method=gap-voting"};
  const RunSummary without = run(recipe_of({planted(method)}));
  const RunSummary with = run(recipe_of({planted(method), {"evaluation.distances=true"}}), 2);
  EXPECT_EQ(with.signature, without.signature);
}

TEST(EvaluationDistances, NeedVectorsThatClientsAreGroupedBy) {
  const auto checked = [](const Settings& settings) {
    return check_recipe(recipe_of({settings, {"evaluation.distances=true"}}));
  };
  for (const Settings& settings :
       {Settings{}, Settings{"profile.kind=label-histogram", "grouping.method=mediator", "grouping.size=3"},
        Settings{"profile.kind=losses", "grouping.method=argmin-loss", "grouping.groups=3", "aggregation.global=none"},
        Settings{"grouping.method=nearest-centre", "grouping.groups=2", "aggregation.global=none"}}) {
    const Status status = checked(settings);
    ASSERT_FALSE(status.ok());
    EXPECT_THAT(status.error().message, testing::HasSubstr("evaluation.distances"));
  }
  EXPECT_TRUE(checked({"profile.kind=update-direction", "grouping.method=agglomerative", "grouping.groups=2"}).ok());
}

}  // namespace
}  // namespace muster
