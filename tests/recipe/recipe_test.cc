#include "recipe/recipe.h"

#include <filesystem>

#include "recipe/catalogue.h"
#include "scratch_folder.h"

namespace muster {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string error_of(std::string_view toml) {
  const auto recipe = parse_recipe(toml, "my.toml");
  if (recipe.ok()) return "accepted";
  EXPECT_EQ(recipe.error().code, ErrorCode::kUsage);
  EXPECT_EQ(recipe.error().message.find('\n'), std::string::npos) << recipe.error().message;
  return recipe.error().message;
}

TEST(Recipe, ErrorsNamePlaceKeyValueAndWhatIsAccepted) {
  EXPECT_EQ(error_of("rounds = 5\n[local]\nepochs = -1\n"),
            "my.toml:3: local.epochs: -1, want a number > 0 and <= 1000000");
  EXPECT_EQ(error_of("[local]\nepoch = 1\n"), "my.toml:2: local.epoch: unknown key, did you mean 'local.epochs'?");
  EXPECT_EQ(error_of("[plan]\nsample-clients = 1.5\n"),
            "my.toml:2: plan.sample-clients: 1.5, want a count >= 1 (an integer) or a share in (0, 1] (with a decimal "
            "point)");
  EXPECT_EQ(error_of("rounds = \"many\""), "my.toml:1: rounds: \"many\", want an integer from 1 to 1000000000");
  EXPECT_THAT(error_of("[local]\nobjective = \"proxx\""), HasSubstr("did you mean 'prox'"));
  EXPECT_THAT(error_of("[nonsense]\nx = 1"), HasSubstr("nonsense: unknown key"));
  EXPECT_THAT(error_of("batch-size = 3"), HasSubstr("did you mean 'local.batch-size'"));
  EXPECT_THAT(error_of("rounds = = 5"), StartsWith("my.toml:1: "));
  EXPECT_THAT(error_of("[model]\nhidden = [0]"), HasSubstr("model.hidden"));
  EXPECT_THAT(error_of("seed = -1"), HasSubstr("seed: -1, want an integer >= 0"));
  EXPECT_THAT(error_of("[local]\nlearning-rate = nan"), HasSubstr("local.learning-rate"));
  EXPECT_THAT(error_of("local = 3"), HasSubstr("local: unknown key"));
}

TEST(Recipe, AListOfWordsMayBeOneOfThemButNoneTwice) {
  Recipe recipe;
  ASSERT_TRUE(apply_setting(recipe, "evaluation.metrics=macro-f1").ok());
  EXPECT_EQ(recipe.evaluation.metrics, std::vector<std::string>{"macro-f1"});
  ASSERT_TRUE(apply_setting(recipe, "evaluation.metrics=[\"auc\", \"confusion\"]").ok());
  EXPECT_EQ(recipe.evaluation.metrics, (std::vector<std::string>{"auc", "confusion"}));
  EXPECT_THAT(format_recipe(recipe), HasSubstr("metrics = [\"auc\", \"confusion\"]\n"));
  EXPECT_THAT(error_of("[evaluation]\nmetrics = [\"auc\", \"auc\"]"), HasSubstr("which names \"auc\" twice"));
  EXPECT_THAT(error_of("[evaluation]\nmetrics = [\"f1\"]"), HasSubstr("evaluation.metrics: unknown value 'f1'"));
  EXPECT_EQ(error_of("[evaluation]\nmetrics = 3"),
            "my.toml:2: evaluation.metrics: 3, want a list of confusion | per-class | macro-f1 | auc");
}

TEST(Recipe, SettingsTakeTomlValuesAndBareWords) {
  Recipe recipe;
  ASSERT_TRUE(apply_setting(recipe, "data.source=synthetic").ok());
  ASSERT_TRUE(apply_setting(recipe, "model.hidden=[32, 16]").ok());
  ASSERT_TRUE(apply_setting(recipe, "plan.sample-clients=0.25").ok());
  ASSERT_TRUE(apply_setting(recipe, "rounds=7").ok());
  ASSERT_TRUE(apply_setting(recipe, "data.path=/a/b c=d.csv").ok());
  EXPECT_EQ(recipe.data.source, "synthetic");
  EXPECT_EQ(recipe.model.hidden, (std::vector<std::uint32_t>{32, 16}));
  EXPECT_EQ(recipe.plan.sample_clients, Amount{0.25});
  EXPECT_EQ(recipe.rounds, 7u);
  EXPECT_EQ(recipe.data.path, "/a/b c=d.csv");

  for (const char* bad :
       {"local.epochs", "=3", "local.epohcs=2", "local.epochs=0", "rounds=1\nseed=3", "local.epochs="}) {
    const Status status = apply_setting(recipe, bad);
    EXPECT_FALSE(status.ok()) << bad;
    if (!status.ok()) {
      EXPECT_EQ(status.error().code, ErrorCode::kUsage);
    }
  }
  EXPECT_EQ(recipe.rounds, 7u);
}

TEST(Recipe, EveryBuiltInRecipeIsAcceptedAndReadBackTheSame) {
  for (const BuiltInRecipe& built_in : built_in_recipes()) {
    const auto recipe = load_recipe(std::string(built_in.name));
    ASSERT_TRUE(recipe.ok()) << recipe.error().message;
    EXPECT_EQ(recipe->name, built_in.name);
    EXPECT_FALSE(recipe->summary.empty());
    const Status status = check_recipe(*recipe);
    EXPECT_TRUE(status.ok()) << status.error().message;
    const std::string text = format_recipe(*recipe);
    const auto again = parse_recipe(text, "again");
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_TRUE(*again == *recipe);
    EXPECT_TRUE(check_recipe(*again).ok());
    EXPECT_EQ(format_recipe(*again), text);
    EXPECT_FALSE(describe_recipe(*recipe).empty());
  }
}

Recipe made(std::string_view toml, const std::vector<std::string>& settings) {
  auto recipe = parse_recipe(toml, "my.toml");
  EXPECT_TRUE(recipe.ok()) << recipe.error().message;
  for (const std::string& setting : settings) {
    const Status status = apply_setting(*recipe, setting);
    EXPECT_TRUE(status.ok()) << status.error().message;
  }
  return *recipe;
}

std::string refused(std::string_view toml, const std::vector<std::string>& settings) {
  const Status status = check_recipe(made(toml, settings));
  if (status.ok()) return "accepted";
  EXPECT_EQ(status.error().code, ErrorCode::kUsage);
  EXPECT_EQ(status.error().message.find('\n'), std::string::npos);
  return status.error().message;
}

constexpr std::string_view kProx = "[local]\nobjective = \"prox\"\nmu = 0.5\n";

TEST(Recipe, AKeyWithoutEffectIsRefusedWithWhatItBelongsTo) {
  EXPECT_EQ(refused("[local]\nmu = 0.5\n", {}),
            "my.toml:2: local.mu: 0.5 has no effect with local.objective = \"plain\"; it belongs to local.objective = "
            "\"prox\"");
  EXPECT_EQ(refused("", {"local.mu=0.5"}),
            "--set: local.mu: 0.5 has no effect with local.objective = \"plain\"; it belongs to local.objective = "
            "\"prox\"");
  // Also at its default.
  EXPECT_THAT(refused("", {"local.mu=0.01"}), HasSubstr("local.mu: 0.01 has no effect"));
  EXPECT_EQ(refused("", {"local.mu=0.5", "local.objective=prox"}), "accepted");
  EXPECT_EQ(refused("[local]\nmu = 0.5\n", {"local.objective=prox"}), "accepted");
  EXPECT_THAT(refused("[local]\nmu = 0.5\n", {"rounds=3"}), StartsWith("my.toml:2: local.mu"));
  EXPECT_THAT(refused("", {"local.epochs=2", "local.steps=3"}),
              HasSubstr("local.epochs: 2.0 has no effect with local.steps = 3; it applies without local.steps"));
  EXPECT_THAT(refused("", {"newcomers.clients=0.5"}), HasSubstr("has no effect without newcomers.round"));
  EXPECT_THAT(refused("", {"plan.regroup-every=3"}),
              HasSubstr("has no effect with grouping.method = \"singletons\"; it needs a grouping.method"));
  const std::vector<std::string> placed{
      "profile.kind=label-histogram", "grouping.method=mediator", "grouping.size=4",
      "newcomers.assign=random",      "newcomers.round=2",        "newcomers.at-once=true"};
  EXPECT_THAT(refused("", placed), HasSubstr("has no effect with plan.sample-clients = 1.0, where everybody is drawn"));
  EXPECT_EQ(refused("[plan]\nsample-clients = 0.5\n", placed), "accepted");
}

TEST(Recipe, AKeyOfTheFileGivesWayToASettingThatTakesItsMeaning) {
  const Recipe plain = made(kProx, {"local.objective=plain"});
  EXPECT_TRUE(check_recipe(plain).ok());
  EXPECT_EQ(plain.local.objective.mu, ObjectiveOptions{}.mu);
  EXPECT_EQ(format_recipe(plain).find("mu ="), std::string::npos);
  EXPECT_TRUE(plain == made("", {}));
  // A setting that does not apply stays an error, in whatever order settings come.
  EXPECT_THAT(refused(kProx, {"local.objective=plain", "local.mu=0.5"}), HasSubstr("--set: local.mu"));
  EXPECT_THAT(refused(kProx, {"local.mu=0.5", "local.objective=plain"}), HasSubstr("--set: local.mu"));
  // What gave way comes back when its choice does.
  EXPECT_EQ(made(kProx, {"local.objective=plain", "local.objective=prox"}).local.objective.mu, 0.5);
  // And does not undo what a program assigned.
  Recipe assigned = made(kProx, {});
  assigned.local.objective.mu = 0.25;
  ASSERT_TRUE(apply_setting(assigned, "rounds=3").ok());
  EXPECT_EQ(assigned.local.objective.mu, 0.25);
}

TEST(Recipe, OneLostMeaningMayTakeAnother) {
  constexpr std::string_view kText =
      "[local]\noptimizer = \"sgd\"\nmomentum = 0.9\nkeep-optimizer = true\nstate-limit-mb = 7\n";
  EXPECT_EQ(refused(kText, {}), "accepted");
  const Recipe adam = made(kText, {"local.optimizer=adam"});
  EXPECT_EQ(adam.local.momentum, 0);
  EXPECT_TRUE(adam.local.keep_optimizer);
  const Recipe without = made(kText, {"local.momentum=0.0"});
  EXPECT_TRUE(check_recipe(without).ok());
  EXPECT_FALSE(without.local.keep_optimizer);
  EXPECT_EQ(without.local.state_limit_mb, LocalOptions{}.state_limit_mb);
}

TEST(Recipe, OfTwoWaysToSayTheSameTheSettingCounts) {
  const Recipe steps = made("[local]\nepochs = 5\n", {"local.steps=3"});
  EXPECT_TRUE(check_recipe(steps).ok());
  EXPECT_EQ(steps.local.steps, 3u);
  EXPECT_EQ(steps.local.epochs, LocalOptions{}.epochs);
  const Recipe epochs = made("[local]\nsteps = 5\n", {"local.epochs=3"});
  EXPECT_TRUE(check_recipe(epochs).ok());
  EXPECT_EQ(epochs.local.steps, std::nullopt);
  EXPECT_EQ(epochs.local.epochs, 3);
  const Recipe groups = made("[plan]\nsample-clients = 5\n", {"plan.sample-groups=3"});
  EXPECT_TRUE(check_recipe(groups).ok());
  EXPECT_EQ(groups.plan.sample_clients, Amount{1.0});
}

TEST(Recipe, BuiltInRecipesTakeOtherChoicesWithoutTheirKeys) {
  const auto accepted = [](std::string_view name, const std::vector<std::string>& settings) {
    auto recipe = load_recipe(std::string(name));
    EXPECT_TRUE(recipe.ok());
    for (const std::string& setting : settings) EXPECT_TRUE(apply_setting(*recipe, setting).ok()) << setting;
    const Status status = check_recipe(*recipe);
    EXPECT_TRUE(status.ok()) << status.error().message;
  };
  accepted("fedavg", {"model.name=softmax"});
  accepted("fedprox", {"local.objective=plain"});
  accepted("fedadam", {"aggregation.global=uniform"});
  accepted("demo", {"data.partition=iid"});
  accepted("fedgroup", {"data.source=synthetic"});
  accepted("fedgsp", {"grouping.method=random", "grouping.size=5"});
  accepted("naivegsp", {"grouping.method=singletons"});
  accepted("fedseqinter", {"aggregation.global=samples-weighted"});
}

TEST(Recipe, GroupsAreANumberOrAGrowthTable) {
  const auto groups = [](const char* toml) {
    const auto recipe = parse_recipe(std::string("[plan]\ngroups = ") + toml, "my.toml");
    return recipe.ok() ? recipe->plan.groups : std::nullopt;
  };
  EXPECT_EQ(groups("50"), (GroupSchedule{.growth = "constant", .beta = 50}));
  EXPECT_EQ(groups("{ growth = \"log\", alpha = 2.0, beta = 10 }"), (GroupSchedule{"log", 2, 10}));
  EXPECT_EQ(groups("{ growth = \"linear\", alpha = 1 }"), (GroupSchedule{"linear", 1, 10}));
  EXPECT_EQ(
      error_of("[plan]\ngroups = 0"),
      "my.toml:2: plan.groups: 0, want an integer >= 1, or a table like { growth = \"log\", alpha = 2.0, beta = 10 "
      "}");
  EXPECT_EQ(error_of("[plan]\ngroups = { growth = \"lag\" }"),
            "my.toml:2: plan.groups: unknown growth 'lag' (did you mean 'log'?); accepted: constant, linear, log, exp");
  EXPECT_EQ(error_of("[plan]\ngroups = { growth = 3 }"), "my.toml:2: plan.groups: growth: 3, want a string");
  EXPECT_EQ(error_of("[plan]\ngroups = { growth = \"exp\", beta = 0.5 }"),
            "my.toml:2: plan.groups: beta: 0.5, want an integer from 1 to 1000000000");
  EXPECT_EQ(error_of("[plan]\ngroups = { growth = \"exp\", alpha = true }"),
            "my.toml:2: plan.groups: alpha: true, want a number >= 0");
  EXPECT_EQ(error_of("[plan]\ngroups = { growth = \"exp\", alpha = nan }"),
            "my.toml:2: plan.groups: alpha = nan, want a number >= 0");
  EXPECT_THAT(error_of("[plan]\ngroups = { growht = \"exp\" }"),
              HasSubstr("unknown key 'growht' (did you mean 'growth'"));
}

TEST(Recipe, CombinationsThatCannotWorkAreRefusedWithTheReason) {
  const auto refused_by = [](const std::vector<std::string>& settings) { return refused("", settings); };
  EXPECT_THAT(refused_by({"local.objective=control-variate"}), HasSubstr("aggregation.global = \"control-variate\""));
  EXPECT_THAT(refused_by({"aggregation.global=dynamic"}), HasSubstr("local.objective = \"dynamic\""));
  EXPECT_THAT(
      refused_by({"local.objective=control-variate", "aggregation.global=control-variate", "local.momentum=0.9"}),
      HasSubstr("local.control"));
  EXPECT_EQ(refused_by({"local.objective=control-variate", "aggregation.global=control-variate", "local.momentum=0.9",
                        "local.control=gradient"}),
            "accepted");
  EXPECT_THAT(refused_by({"local.optimizer=adam", "local.momentum=0.9"}),
              HasSubstr("local.momentum: 0.9 has no effect"));
  EXPECT_THAT(refused_by({"data.samples-min=5", "data.samples-max=4"}), HasSubstr("data.samples-min: 5"));
  EXPECT_THAT(refused_by({"data.source=csv", "data.shape=[2, 3]"}), HasSubstr("data.shape"));
  EXPECT_THAT(refused_by({"data.partition=rotations", "data.rotations=3"}), HasSubstr("want 1, 2 or 4"));
  EXPECT_THAT(refused_by({"profile.epsilon=1"}), HasSubstr("it belongs to profile.kind = \"label-histogram\""));
  EXPECT_THAT(refused_by({"plan.sample-groups=2", "plan.sample-clients=3"}), HasSubstr("either groups or clients"));
  EXPECT_EQ(refused_by({"plan.sample-groups=2"}), "accepted");
  EXPECT_EQ(refused_by({"plan.sampling=all"}), "accepted");
  EXPECT_THAT(refused_by({"newcomers.round=3", "newcomers.clients=1.0"}), HasSubstr("nobody is there before round 3"));
  EXPECT_THAT(refused_by({"profile.kind=classifier-weights", "grouping.method=agglomerative", "grouping.groups=3",
                          "grouping.metric=cosine"}),
              HasSubstr("ward"));
  EXPECT_THAT(refused_by({"profile.kind=label-histogram", "grouping.method=inter-cluster"}),
              HasSubstr("grouping.groups: not set"));
  EXPECT_THAT(refused_by({"profile.kind=classifier-weights", "grouping.method=kmeans-deal"}),
              HasSubstr("grouping.clusters"));
  EXPECT_THAT(refused_by({"profile.kind=confidence-vector", "grouping.method=greedy-complement"}),
              HasSubstr("want data.exemplars >= 1"));
  EXPECT_THAT(refused_by({"profile.kind=update-direction", "grouping.method=agglomerative", "grouping.groups=2",
                          "plan.regroup-on=bipartition", "aggregation.global=none"}),
              HasSubstr("both must be \"bipartition\", or neither"));
  EXPECT_THAT(
      refused_by({"grouping.method=random", "grouping.size=3", "plan.sample-groups=2", "plan.sampling=inverse-cov"}),
      HasSubstr("profile.kind = \"label-histogram\""));
}

// Clients that were not there when an event formed the groups can be placed later.
TEST(Recipe, EventsAllowNewcomersToBePlaced) {
  const std::vector<std::string> event{"profile.kind=classifier-weights", "grouping.method=gap-voting",
                                       "plan.regroup-on=loss-variance", "aggregation.global=none"};
  for (const char* assign : {"nearest-head", "argmin-loss", "random"}) {
    std::vector<std::string> settings = event;
    settings.push_back(std::string("newcomers.assign=") + assign);
    EXPECT_EQ(refused("", settings), "accepted");
  }
  EXPECT_THAT(refused("", {"profile.kind=update-direction", "grouping.method=bipartition", "aggregation.global=none",
                           "plan.regroup-on=bipartition", "newcomers.assign=nearest-direction"}),
              HasSubstr("want argmin-loss | random"));
}

TEST(Recipe, AGrowthThatNeverComesIsRefused) {
  const std::vector<std::string> grown{"profile.kind=label-histogram", "grouping.method=inter-cluster",
                                       "plan.groups={growth=\"log\",alpha=2.0,beta=2}"};
  EXPECT_THAT(refused("", grown), HasSubstr("want plan.regroup-every"));
  std::vector<std::string> regrouped = grown;
  regrouped.push_back("plan.regroup-every=2");
  EXPECT_EQ(refused("", regrouped), "accepted");
}

TEST(Recipe, SaysFromWhichRoundOnGroupsAreSingleClients) {
  const std::vector<std::string> grown{"profile.kind=label-histogram", "grouping.method=inter-cluster",
                                       "plan.groups={growth=\"log\",alpha=2.0,beta=10}", "plan.regroup-every=1"};
  const auto notes = [&](const char* setting) {
    Recipe recipe = made("", grown);
    EXPECT_TRUE(apply_setting(recipe, setting).ok());
    return recipe_notes(recipe);
  };
  // 10 floor(2 ln r + 1) groups: 50 in round 8, 60 from round 13 on, of which 100 clients make groups of one.
  ASSERT_EQ(notes("data.clients=100").size(), 1u);
  EXPECT_THAT(notes("data.clients=100").front(), StartsWith("from round 13 on every group is a single client"));
  EXPECT_TRUE(notes("data.clients=1000").empty());
  EXPECT_TRUE(notes("rounds=12").empty());
  EXPECT_TRUE(notes("seed=3").empty()) << "the number of clients is not known";
}

TEST(Recipe, NumbersBeyondAnyMachineAreRefused) {
  for (const char* setting : {"local.batch-size=4294967295", "grouping.clusters=4294967295", "model.hidden=[4294967]",
                              "model.kernel=65", "local.epochs=1e300", "rounds=4294967295", "data.edges=4294967295",
                              "local.batch-size=1048577", "profile.epochs=1e9"}) {
    Recipe recipe;
    const Status status = apply_setting(recipe, setting);
    ASSERT_FALSE(status.ok()) << setting;
    EXPECT_THAT(status.error().message, HasSubstr(", want "));
  }
  Recipe recipe;
  EXPECT_TRUE(apply_setting(recipe, "local.batch-size=1048576").ok());
  recipe.local.batch_size = 4294967295u;
  EXPECT_THAT(check_recipe(recipe).error().message, HasSubstr("local.batch-size: 4294967295, want"));
  recipe = {};
  recipe.local.objective.name = "nonsense";
  EXPECT_FALSE(check_recipe(recipe).ok());
}

TEST(Recipe, OtherToolsNamesAreUnderstoodInTheHint) {
  const std::pair<const char*, const char*> hints[] = {{"local.lr", "local.learning-rate"},
                                                       {"lr", "local.learning-rate"},
                                                       {"local.bs", "local.batch-size"},
                                                       {"E", "local.epochs"},
                                                       {"K", "data.clients"},
                                                       {"C", "plan.sample-clients"},
                                                       {"gamma", "local.learning-rate-decay"},
                                                       {"local.wd", "local.weight-decay"},
                                                       {"num_rounds", "rounds"},
                                                       {"dataset", "data.source"}};
  for (const auto& [typed, meant] : hints) {
    Recipe recipe;
    const Status status = apply_setting(recipe, fmt::format("{}=1", typed));
    ASSERT_FALSE(status.ok()) << typed;
    EXPECT_EQ(status.error().message, fmt::format("--set: {}: unknown key, did you mean '{}'?", typed, meant));
  }
}

TEST(Recipe, UnknownNamesSuggestTheNearest) {
  const auto recipe = load_recipe("fedavgg");
  ASSERT_FALSE(recipe.ok());
  EXPECT_EQ(recipe.error().code, ErrorCode::kUsage);
  EXPECT_THAT(recipe.error().message, HasSubstr("did you mean 'fedavg'"));
  EXPECT_FALSE(load_recipe("no/such.toml").ok());
}

TEST(Recipe, PathsAreLookedUpBesideTheRecipeThenInTheWorkingFolder) {
  const ScratchFolder folder;
  const auto table = folder.write("sub/own.csv", std::string("a,label\n1,0\n"));
  const auto file = folder.write("sub/my.toml", std::string("[data]\nsource = \"csv\"\npath = \"own.csv\"\n"));
  auto recipe = load_recipe(file.string());
  ASSERT_TRUE(recipe.ok()) << recipe.error().message;
  EXPECT_EQ(recipe->data.path, table.string());
  // What is written for the run holds wherever it is run again, also after settings.
  EXPECT_THAT(format_recipe(*recipe), HasSubstr(table.string()));
  ASSERT_TRUE(apply_setting(*recipe, "rounds=3").ok());
  EXPECT_EQ(recipe->data.path, table.string());
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  const auto there = std::filesystem::current_path();  // the temporary folder may be behind a link
  ASSERT_TRUE(apply_setting(*recipe, "data.path=sub/own.csv").ok());
  std::filesystem::current_path(before);
  EXPECT_EQ(recipe->data.path, (there / "sub/own.csv").string());
  // A file that is nowhere stays as it was typed: the error shows it.
  ASSERT_TRUE(apply_setting(*recipe, "data.path=no/such.csv").ok());
  EXPECT_EQ(recipe->data.path, "no/such.csv");
}

TEST(Recipe, ListsOfNames) {
  Recipe recipe;
  ASSERT_TRUE(apply_setting(recipe, "data.source=csv").ok());
  ASSERT_TRUE(apply_setting(recipe, "data.drop=id").ok());
  ASSERT_TRUE(apply_setting(recipe, "data.features=[\"a, b\", \"c\"]").ok());
  EXPECT_EQ(recipe.data.drop, std::vector<std::string>{"id"});
  EXPECT_EQ(recipe.data.features, (std::vector<std::string>{"a, b", "c"}));
  EXPECT_THAT(format_recipe(recipe), HasSubstr("features = [\"a, b\", \"c\"]\ndrop = [\"id\"]\n"));
  EXPECT_THAT(apply_setting(recipe, "data.drop=[1]").error().message, HasSubstr("want a list of texts, or one text"));
}

TEST(Catalogue, EveryStageHasEntriesWithSummaries) {
  const auto stages = catalogue();
  ASSERT_TRUE(stages.ok());
  for (const auto& stage : *stages) {
    EXPECT_FALSE(stage.entries.empty()) << stage.name;
    for (const auto& entry : stage.entries) {
      EXPECT_FALSE(entry.name.empty()) << stage.name;
      EXPECT_FALSE(entry.summary.empty()) << entry.name;
    }
  }
}

}  // namespace
}  // namespace muster
