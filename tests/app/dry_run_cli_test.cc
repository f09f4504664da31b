// `muster run --dry-run`: what would happen, before it does.
#include <nlohmann/json.hpp>

#include "command_line.h"

namespace muster {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class DryRun : public CommandLineTest {
 protected:
  Words words(const Words& more) const {
    Words all{"run",
              "--out",
              runs(),
              "--set",
              "data.source=blobs",
              "--set",
              "data.clients=40",
              "--set",
              "model.name=softmax"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  std::string runs() const { return (scratch_.path() / "runs").string(); }
};

TEST_F(DryRun, SaysWhatTheRunThenDoes) {
  const Words same = words({"fedavg", "--rounds", "2", "--set", "plan.sample-clients=10", "--json", "--quiet"});
  Words dry = same;
  dry.push_back("--dry-run");
  const Finished told = muster(dry);
  ASSERT_EQ(told.status, 0) << told.err;
  EXPECT_FALSE(std::filesystem::exists(runs())) << "it leaves no files";
  const auto forecast = nlohmann::json::parse(told.out);
  const auto run = nlohmann::json::parse(muster(same).out);
  EXPECT_EQ(forecast["dry_run"], true);
  for (const char* field : {"recipe", "seed", "rounds", "clients", "parameters", "models", "data"}) {
    EXPECT_EQ(forecast[field], run[field]) << field;
  }
  for (const char* field : {"count", "idle", "size_min", "size_max"}) {
    EXPECT_EQ(forecast["groups"][field], run["groups"][field]) << field;
  }
  EXPECT_EQ(forecast["per_round"]["clients"], 10);
  EXPECT_EQ(2 * forecast["per_round"]["bytes_up"].get<std::uint64_t>(), run["cost"]["bytes_up"]);
  EXPECT_EQ(2 * forecast["per_round"]["bytes_down"].get<std::uint64_t>(), run["cost"]["bytes_down"]);
  EXPECT_EQ(2 * forecast["per_round"]["samples"].get<std::uint64_t>(), run["time"]["samples_trained"]);
  EXPECT_GT(forecast["time"]["total_s"], 0);
  EXPECT_GT(forecast["memory_bytes"], 1'000'000);
}

TEST_F(DryRun, KnowsHowManyRoundsABudgetPaysFor) {
  const Words same = words({"fedavg", "--rounds", "50", "--set", "plan.sample-clients=40", "--set", "budget=0.5",
                            "--set", "cost.server-in-mbps=100", "--json", "--quiet"});
  Words dry = same;
  dry.push_back("--dry-run");
  const auto forecast = nlohmann::json::parse(muster(dry).out);
  const auto run = nlohmann::json::parse(muster(same).out);
  ASSERT_EQ(run["stopped"], "budget");
  EXPECT_EQ(forecast["rounds"], run["rounds"]);
  EXPECT_NEAR(forecast["per_round"]["cost_s"].get<double>() * run["rounds"].get<double>(),
              run["cost"]["compute_s"].get<double>() + run["cost"]["comm_s"].get<double>(), 0.05);
  EXPECT_THAT(forecast["notes"].dump(), HasSubstr("pays for about"));
}

TEST_F(DryRun, FormsGroupsWhereNobodyMustTrainForThem) {
  const Words same = words({"fedgsp", "--rounds", "1", "--json", "--quiet"});
  Words dry = same;
  dry.push_back("--dry-run");
  const Finished told = muster(dry);
  ASSERT_EQ(told.status, 0) << told.err;
  const auto forecast = nlohmann::json::parse(told.out);
  const auto run = nlohmann::json::parse(muster(same).out);
  EXPECT_EQ(forecast["groups"]["count"], run["groups"]["count"]);
  EXPECT_EQ(forecast["per_round"]["samples"], run["time"]["samples_trained"]);
}

TEST_F(DryRun, SaysInWordsWhatItCannotKnow) {
  const Finished told =
      muster(words({"fedseq", "--rounds", "3", "--set", "grouping.min-samples=2000", "--dry-run", "--quiet"}));
  ASSERT_EQ(told.status, 0) << told.err;
  EXPECT_THAT(told.out, AllOf(HasSubstr("dry run"), HasSubstr("clients must train first"), HasSubstr("  profiles "),
                              HasSubstr("per round  8 of 40 clients, "), HasSubstr(" for all 3 rounds")));
  EXPECT_FALSE(std::filesystem::exists(runs()));
}

TEST_F(DryRun, RefusesWhatARunWouldRefuse) {
  expect_error(words({"fedavg", "--dry-run", "--set", "local.epochs=-1"}), 2, HasSubstr("local.epochs"));
  expect_error({"run", "--resume", "x", "--dry-run"}, 2, HasSubstr("--dry-run"));
}

}  // namespace
}  // namespace muster
