#include "engine/discrepancy.h"

#include "small_run.h"

namespace muster {
namespace {

TEST(Discrepancy, IsTheMeanDistanceToTheModelOfTheSendersGroup) {
  const auto models = make_group_models(0, {0, 0, 0});
  Grouping grouping;
  const ClientId clients[] = {{0}, {1}};
  grouping.add({clients, 1});
  grouping.add({clients + 1, 1});
  Rows<float> starts(2, 3);
  starts.values = {1, 0, 9, 0, 5, 9};
  models->regrouped(grouping, starts);
  Discrepancy discrepancy(2);
  RoundTasks tasks;
  RoundRecord record;
  const auto send = [&](std::uint32_t group, std::vector<float> model, bool dropped = false) {
    GroupUpdate update{.group = {group}, .model = std::move(model)};
    if (!dropped) update.members.push_back({.client = {group}, .samples = 1, .visits = 1});
    discrepancy.member(update, {});
  };
  discrepancy.prepare(tasks);
  discrepancy.end(*models, record);
  EXPECT_EQ(record.discrepancy, std::nullopt);
  send(0, {4, 4, 0});              // 5 away, without the third number
  send(1, {0, 4, 0});              // 1
  send(1, {0, 5, 0});              // 0
  send(1, {1000, 1000, 0}, true);  // sent nothing
  discrepancy.end(*models, record);
  EXPECT_DOUBLE_EQ(record.discrepancy.value(), 2.0);
  discrepancy.prepare(tasks);
  send(1, {3, 5, 9});
  discrepancy.end(*models, record);
  EXPECT_DOUBLE_EQ(record.discrepancy.value(), 3.0);
}

using DiscrepancyOfRuns = SimulationTest;

TEST_F(DiscrepancyOfRuns, GrowsWithTheDifferenceOfClients) {
  const auto of = [&](const Settings& settings) {
    const auto rounds = lines(run(images(settings), 2).dir / "rounds.jsonl");
    double sum = 0;
    for (const auto& round : rounds) sum += round["discrepancy"].get<double>();
    return sum / static_cast<double>(rounds.size());
  };
  EXPECT_GT(of({"evaluation.discrepancy=true", "data.alpha=0.05"}),
            1.2 * of({"evaluation.discrepancy=true", "data.alpha=inf"}));
}

TEST_F(DiscrepancyOfRuns, IsNullWhereNobodyAsksOrNothingIsMerged) {
  const auto first = [&](const Settings& settings) {
    return lines(run(images(settings)).dir / "rounds.jsonl").front()["discrepancy"];
  };
  EXPECT_TRUE(first({}).is_null());
  EXPECT_TRUE(first({"evaluation.discrepancy=true", "faults.drop=1"}).is_null());
  // One client's model is the merged one.
  EXPECT_EQ(first({"evaluation.discrepancy=true", "plan.sample-clients=1"}), 0.0);
}

TEST_F(DiscrepancyOfRuns, IsMeasuredToTheModelOfTheGroup) {
  const Settings grouped{"profile.kind=update-direction",
                         "profile.steps=3",
                         "grouping.method=decomposed-cosine",
                         "grouping.groups=3",
                         "aggregation.global=none",
                         "evaluation.on=clients",
                         "data.test-fraction=0.2",
                         "plan.sample-clients=12",
                         "evaluation.discrepancy=true"};
  const RunSummary summary = run(images(grouped), 2);
  for (const auto& round : lines(summary.dir / "rounds.jsonl")) {
    EXPECT_GT(round["discrepancy"], 0.0);
    ASSERT_EQ(round["group_accuracy"].size(), 3u);
    double low = 1;
    double high = 0;
    for (const auto& accuracy : round["group_accuracy"]) {
      low = std::min(low, accuracy.get<double>());
      high = std::max(high, accuracy.get<double>());
    }
    EXPECT_LE(low, round["accuracy"]);
    EXPECT_GE(high, round["accuracy"]);
  }
}

}  // namespace
}  // namespace muster
