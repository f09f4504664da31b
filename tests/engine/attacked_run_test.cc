// Runs with malicious clients: what they do to a model, what rules that see all models do about it, and what is
// recorded of both. Private runs: what they spend, and when they stop.
#include <algorithm>
#include <set>

#include "engine/models.h"
#include "small_run.h"

namespace muster {
namespace {

using AttackedRun = SimulationTest;

Recipe attacked(const Settings& settings) {
  return recipe_of(
      {{"data.source=blobs", "data.partition=iid", "data.clients=20", "model.name=mlp", "model.hidden=[16]",
        "local.batch-size=16", "local.learning-rate=0.1", "local.epochs=2", "rounds=10", "attack.kind=backdoor"},
       settings});
}

// The effect of docs/robust.md, small: a fifth of the clients plant a trigger, and the majority's cluster has none of
// it.
TEST_F(AttackedRun, ABackdoorIsPlantedAndFlameKeepsItOut) {
  const RunSummary open = run(attacked({"aggregation.global=uniform"}), 2);
  ASSERT_TRUE(open.attack && open.attack->success);
  EXPECT_GT(*open.attack->success, 0.6);
  const RunSummary closed = run(attacked({"aggregation.global=flame"}), 2);
  EXPECT_LT(*closed.attack->success, 0.1);
  EXPECT_GT(*closed.accuracy_last, *open.accuracy_last - 0.05);
}

TEST_F(AttackedRun, TheRecordSaysWhoAttackedAndWhoWasLeftOut) {
  const RunSummary summary = run(attacked({"aggregation.global=multi-krum", "rounds=4", "attack.clients=[3, 11]",
                                           "aggregation.attackers=2", "attack.kind=noise", "attack.noise=0.5"}));
  ASSERT_TRUE(summary.attack);
  EXPECT_EQ(summary.attack->kind, "noise");
  EXPECT_EQ(summary.attack->clients, (std::vector<ClientId>{{3}, {11}}));
  EXPECT_EQ(summary.attack->success, std::nullopt);
  for (const nlohmann::json& line : lines(summary.dir / "rounds.jsonl")) {
    std::set<std::uint32_t> filtered;
    for (const nlohmann::json& one : line.at("filtered")) {
      EXPECT_EQ(one.at("reason"), "far");
      filtered.insert(one.at("client").get<std::uint32_t>());
    }
    EXPECT_EQ(filtered, (std::set<std::uint32_t>{3, 11}));
    EXPECT_TRUE(line.at("attack_success").is_null());
  }
  std::ifstream in(summary.dir / "clients.csv");
  std::string row;
  for (std::getline(in, row); std::getline(in, row);) {
    const bool malicious = row.starts_with("3,") || row.starts_with("11,");
    EXPECT_TRUE(row.ends_with(malicious ? ",4,1" : ",0,0")) << row;
  }
}

// A group of five with two attackers is small for a rule, but not too small; groups of two are.
TEST_F(AttackedRun, AGroupTooSmallForItsRuleSaysSo) {
  const RunSummary summary =
      run(attacked({"grouping.method=random", "grouping.size=2", "aggregation.in-group=krum", "rounds=2"}));
  const auto line = lines(summary.dir / "rounds.jsonl").at(0);
  EXPECT_EQ(line.at("fell_back").size(), 10u);
  EXPECT_TRUE(line.at("filtered").empty());
  const RunSummary larger =
      run(attacked({"grouping.method=random", "grouping.size=5", "aggregation.in-group=krum", "rounds=2"}));
  const auto judged = lines(larger.dir / "rounds.jsonl").at(0);
  EXPECT_TRUE(judged.at("fell_back").empty());
  EXPECT_EQ(judged.at("filtered").size(), 16u);  // four of every five
  for (const nlohmann::json& one : judged.at("filtered")) EXPECT_TRUE(one.contains("group"));
}

// The private mode: nobody sees a member's model, but a group whose members all attack stands out by its sum.
TEST_F(AttackedRun, ASecurelySummedGroupOfAttackersIsFilteredByItsSum) {
  const Settings grouped{"grouping.method=random", "grouping.size=4", "aggregation.in-group=secure-sum"};
  const RunSummary groups = run(attacked(grouped));
  const nlohmann::json formed = lines(groups.dir / "groups.jsonl").at(0).at("members");
  const nlohmann::json malicious = formed.at(1);
  Settings settings = grouped;
  settings.insert(settings.end(), {"attack.clients=" + malicious.dump(), "aggregation.global=uniform"});
  const RunSummary open = run(attacked(settings));
  EXPECT_GT(*open.attack->success, 0.5);
  settings.back() = "aggregation.global=flame";
  const RunSummary closed = run(attacked(settings));
  EXPECT_LT(*closed.attack->success, 0.1);
  EXPECT_GT(*closed.accuracy_last, *open.accuracy_last - 0.05);
  for (const nlohmann::json& line : lines(closed.dir / "rounds.jsonl")) {
    std::set<std::uint32_t> filtered;
    for (const nlohmann::json& one : line.at("filtered")) filtered.insert(one.at("group").get<std::uint32_t>());
    EXPECT_TRUE(filtered.contains(1)) << line;
    EXPECT_LE(filtered.size(), 2u) << line;  // three of five make a majority
    EXPECT_EQ(line.at("secure").at("abandoned"), 0);
  }
}

// Whoever dropped is neither judged nor needed.
TEST_F(AttackedRun, RulesSurviveThatEverybodyVanishes) {
  for (const char* rule : {"median", "trimmed-mean", "krum", "multi-krum", "norm-clip", "flame"}) {
    for (const char* where : {"aggregation.global=", "aggregation.in-group="}) {
      const RunSummary summary = run(small({where + std::string(rule), "grouping.method=random", "grouping.size=4",
                                            "faults.drop=0.95", "plan.sample-clients=1.0"}));
      EXPECT_EQ(summary.rounds, 6u);
    }
  }
}

TEST_F(AttackedRun, LyingAboutLabelsChangesTheGroupsOnly) {
  const auto groups = [&](const Settings& attack) {
    Settings settings{"profile.kind=label-histogram", "grouping.method=coefficient-of-variation", "grouping.min-size=3",
                      "rounds=1"};
    settings.insert(settings.end(), attack.begin(), attack.end());
    return lines(run(images(settings)).dir / "groups.jsonl").at(0).at("members");
  };
  EXPECT_NE(groups({"attack.kind=lying-histogram", "attack.clients=0.5"}), groups({}));
  EXPECT_EQ(groups({"attack.kind=sign-flip", "attack.clients=0.5"}), groups({}));
}

TEST_F(AttackedRun, SuccessOfALabelFlipIsOfItsSourceClass) {
  const RunSummary summary =
      run(attacked({"attack.kind=label-flip", "attack.clients=0.9", "attack.source=2", "attack.target=5", "rounds=4"}));
  EXPECT_GT(*summary.attack->success, 0.5);
}

TEST_F(AttackedRun, RefusesWhatCannotBe) {
  const auto why = [](const Settings& settings) {
    const Status status = check_recipe(recipe_of({settings}));
    return status.ok() ? std::string() : status.error().message;
  };
  EXPECT_THAT(why({"attack.kind=lying-histogram"}), testing::HasSubstr("nobody tells labels"));
  EXPECT_THAT(why({"attack.kind=label-flip", "attack.source=3", "attack.target=3"}),
              testing::HasSubstr("want another class"));
  EXPECT_THAT(why({"attack.clients=0.1"}), testing::HasSubstr("has no effect with attack.kind = \"none\""));
  EXPECT_THAT(why({"aggregation.trim=0.1"}),
              testing::HasSubstr("it belongs to aggregation.global or aggregation.in-group = \"trimmed-mean\""));
  EXPECT_THAT(why({"grouping.method=random", "training.mode=sequential", "aggregation.in-group=krum"}),
              testing::HasSubstr("has no effect with training.mode = \"sequential\""));
  EXPECT_THAT(why({"grouping.method=random", "grouping.size=2", "local.objective=control-variate",
                   "aggregation.global=control-variate", "aggregation.in-group=median"}),
              testing::HasSubstr("nothing judges it"));
  for (const char* clients : {"[1, 1]", "[]", "0", "1.5", "[-1]", "\"some\""}) {
    Recipe recipe = recipe_of({{"attack.kind=backdoor"}});
    EXPECT_FALSE(apply_setting(recipe, std::string("attack.clients=") + clients).ok()) << clients;
  }
}

using PrivateRun = SimulationTest;

const Settings kPrivate{"aggregation.global=uniform", "dp.clip=0.5", "dp.noise-multiplier=2.0", "rounds=8",
                        "plan.sample-clients=0.5"};

TEST_F(PrivateRun, SpendsMoreEveryRoundAndStopsInTime) {
  const RunSummary free = run(small(kPrivate));
  double before = 0;
  for (const nlohmann::json& line : lines(free.dir / "rounds.jsonl")) {
    EXPECT_GT(line.at("epsilon").get<double>(), before);
    before = line.at("epsilon").get<double>();
  }
  ASSERT_TRUE(free.epsilon);
  EXPECT_EQ(*free.epsilon, before);
  const double after_three = lines(free.dir / "rounds.jsonl").at(2).at("epsilon").get<double>();

  Settings limited = kPrivate;
  limited.push_back(fmt::format("dp.epsilon={}", after_three + 1e-6));
  const RunSummary stopped = run(small(limited));
  EXPECT_EQ(stopped.rounds, 3u);
  EXPECT_EQ(stopped.stopped, StopReason::kBudget);
  EXPECT_LE(*stopped.epsilon, after_three + 1e-6);
  // Resuming does not find anything left.
  const auto again = resume(stopped.dir.string(), {}, options());
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again->rounds, 3u);
  EXPECT_EQ(again->signature, stopped.signature);
  EXPECT_EQ(*again->epsilon, *stopped.epsilon);
}

TEST_F(PrivateRun, ClipsEveryChange) {
  Settings settings = kPrivate;
  settings.push_back("dp.clip=0.001");
  settings.push_back("dp.noise-multiplier=0.001");
  settings.push_back("rounds=1");
  Recipe recipe = small(settings);
  const RunSummary summary = run(recipe);
  EXPECT_EQ(summary.rounds, 1u);
  // A change of at most 0.001 cannot have moved the model visibly: it is as good as it began.
  Settings still = settings;
  still.push_back("dp.clip=0.0000001");
  EXPECT_NEAR(*run(small(still)).loss_last, *summary.loss_last, 0.05);
}

TEST_F(PrivateRun, ToldLabelsCountInTheSameLedger) {
  const Settings grouped{
      "aggregation.global=uniform",   "aggregation.in-group=uniform", "dp.clip=0.5",     "rounds=1",
      "profile.kind=label-histogram", "grouping.method=mediator",     "grouping.size=3", "dp.noise-multiplier=50.0",
      "profile.epsilon=0.001"};
  const RunSummary summary = run(small(grouped));
  const Settings unlimited{"aggregation.global=uniform",
                           "dp.clip=0.5",
                           "rounds=1",
                           "dp.noise-multiplier=50.0",
                           "grouping.method=random",
                           "grouping.size=3",
                           "aggregation.in-group=uniform"};
  EXPECT_GT(*summary.epsilon, *run(small(unlimited)).epsilon);
  Settings tight = grouped;
  tight.push_back("dp.epsilon=0.05");
  const auto refused = simulate(small(tight), options());
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, testing::HasSubstr("the first round already costs"));
}

TEST_F(PrivateRun, RefusesWhatTheGuaranteeDoesNotHoldFor) {
  const auto why = [](const Settings& settings) {
    Settings all{"dp.clip=1.0", "aggregation.global=uniform"};
    all.insert(all.end(), settings.begin(), settings.end());
    const Status status = check_recipe(recipe_of({all}));
    return status.ok() ? std::string() : status.error().message;
  };
  EXPECT_EQ(why({}), "");
  EXPECT_EQ(why({"aggregation.global=adam"}), "");
  EXPECT_THAT(why({"aggregation.global=samples-weighted"}), testing::HasSubstr("noisy mean of changes"));
  EXPECT_THAT(why({"aggregation.global=flame"}), testing::HasSubstr("noisy mean of changes"));
  EXPECT_THAT(why({"grouping.method=random", "grouping.size=2"}),
              testing::HasSubstr("must not depend on what it claims"));
  EXPECT_THAT(why({"grouping.method=random", "grouping.size=2", "training.mode=sequential"}),
              testing::HasSubstr("before noise is added"));
  EXPECT_THAT(
      why({"grouping.method=random", "grouping.size=2", "aggregation.in-group=uniform", "training.group-rounds=2"}),
      testing::HasSubstr("without noise"));
  EXPECT_THAT(why({"local.adapt-epochs=0.5"}), testing::HasSubstr("no noise hides those"));
  EXPECT_THAT(why({"profile.kind=label-histogram", "grouping.method=mediator", "grouping.size=2",
                   "aggregation.in-group=uniform"}),
              testing::HasSubstr("tell without noise"));
  EXPECT_THAT(why({"local.objective=control-variate", "aggregation.global=control-variate"}),
              testing::HasSubstr("noisy mean of changes"));
}

}  // namespace
}  // namespace muster
