#include "engine/discrepancy.h"

#include "small_run.h"

namespace muster {
namespace {

TEST(Discrepancy, IsTheMeanDistanceToTheModelOfTheSendersGroup) {
  const std::vector<std::vector<float>> merged{{1, 0, 9}, {0, 5, 9}};
  const auto of = [&](GroupId group) { return std::span<const float>(merged[group.value]); };
  Discrepancy discrepancy;
  EXPECT_EQ(discrepancy.mean(of, 2), std::nullopt);
  discrepancy.add({0}, std::vector<float>{4, 4, 0});  // 5 away, without the third number
  discrepancy.add({1}, std::vector<float>{0, 4, 0});  // 1
  discrepancy.add({1}, std::vector<float>{0, 5, 0});  // 0
  EXPECT_DOUBLE_EQ(discrepancy.mean(of, 2).value(), 2.0);
  discrepancy.reset();
  discrepancy.add({1}, std::vector<float>{3, 5, 9});
  EXPECT_DOUBLE_EQ(discrepancy.mean(of, 2).value(), 3.0);
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
            1.2 * of({"evaluation.discrepancy=true", "data.partition=iid"}));
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
