// Secure sums in a run: who learns how many samples a client has.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/run_records.h"

namespace muster {
namespace {

using testing::HasSubstr;
using testing::Not;

const Settings kSums{"rounds=3",        "profile.kind=none",       "grouping.method=random",
                     "grouping.size=4", "plan.sample-clients=1.0", "aggregation.in-group=secure-sum"};

class HiddenSamples : public SimulationTest {
 protected:
  RunSummary run_with(const Settings& more) {
    return run(
        recipe_of({kSmallRun, {"data.source=blobs", "data.partition=dirichlet", "data.alpha=0.3"}, kSums, more}));
  }
  static std::string chosen(const RunSummary& summary) {
    const std::string text = slurp(summary.dir / "recipe.toml");
    const std::size_t at = text.find("\nsamples = ");
    return at == std::string::npos ? "" : text.substr(at + 11, text.find('\n', at + 1) - at - 11);
  }
};

TEST_F(HiddenSamples, AreHiddenUnlessSomethingTells) {
  EXPECT_EQ(chosen(run_with({"evaluation.on=global"})), "\"hidden\"");
  EXPECT_EQ(chosen(run_with({"evaluation.on=global", "secure.samples=told"})), "\"told\"");
  EXPECT_EQ(chosen(run_with({"evaluation.on=clients", "data.test-fraction=0.2"})), "\"told\"");
  EXPECT_EQ(chosen(run_with({"evaluation.on=global", "profile.kind=label-histogram", "grouping.method=mediator"})),
            "\"told\"");
  EXPECT_EQ(chosen(run_with({"evaluation.on=global", "aggregation.in-group=uniform"})), "");
}

TEST_F(HiddenSamples, ChangeNothingOfTheModelAndEverythingOfTheTable) {
  const RunSummary hidden = run_with({"evaluation.on=global", "faults.nan=0.2"});
  const RunSummary told = run_with({"evaluation.on=global", "faults.nan=0.2", "secure.samples=told"});
  const auto values = [](const RunSummary& summary) {
    const std::string file = slurp(summary.dir / "model.safetensors");
    std::uint64_t head = 0;
    std::memcpy(&head, file.data(), sizeof head);
    return file.substr(sizeof head + head);
  };
  EXPECT_EQ(values(hidden), values(told));
  const auto rounds = lines(hidden.dir / "rounds.jsonl");
  const auto others = lines(told.dir / "rounds.jsonl");
  ASSERT_EQ(rounds.size(), others.size());
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    EXPECT_EQ(rounds[i]["accuracy"], others[i]["accuracy"]);
    EXPECT_EQ(rounds[i]["participants"], others[i]["participants"]);
    EXPECT_NEAR(rounds[i]["train_loss"].get<double>(), others[i]["train_loss"].get<double>(), 0.1);
  }
  const auto trained = [](const RunSummary& summary) {
    return nlohmann::json::parse(slurp(summary.dir / "summary.json"))["time"]["samples_trained"].get<std::uint64_t>();
  };
  EXPECT_EQ(trained(hidden), trained(told));
  EXPECT_GT(trained(hidden), 0u);
  EXPECT_THAT(slurp(hidden.dir / "clients.csv"), HasSubstr("\n2,,,"));
  EXPECT_THAT(slurp(told.dir / "clients.csv"), Not(HasSubstr("\n2,,,")));
}

// Where no model is everybody's, the server's test samples are of no use, and clients are not asked.
TEST_F(HiddenSamples, ClientsDoNotScoreModels) {
  const Settings apart{"aggregation.global=none", "data.test-fraction=0.2"};
  const RunSummary told = run_with(apart);
  EXPECT_EQ(chosen(told), "\"told\"");
  for (const auto& round : lines(told.dir / "rounds.jsonl")) EXPECT_TRUE(round["accuracy"].is_number()) << round;
  const RunSummary hidden = run_with({apart[0], apart[1], "secure.samples=hidden"});
  for (const auto& round : lines(hidden.dir / "rounds.jsonl")) EXPECT_TRUE(round["accuracy"].is_null()) << round;
}

}  // namespace
}  // namespace muster
