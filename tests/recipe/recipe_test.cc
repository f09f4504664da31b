#include "recipe/recipe.h"

#include "recipe/catalogue.h"

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
  EXPECT_EQ(error_of("rounds = 5\n[local]\nepochs = -1\n"), "my.toml:3: local.epochs: -1, want a number > 0");
  EXPECT_EQ(error_of("[local]\nepoch = 1\n"), "my.toml:2: local.epoch: unknown key, did you mean 'local.epochs'?");
  EXPECT_EQ(error_of("[plan]\nsample-clients = 1.5\n"),
            "my.toml:2: plan.sample-clients: 1.5, want a count >= 1 (an integer) or a share in (0, 1] (with a decimal "
            "point)");
  EXPECT_EQ(error_of("rounds = \"many\""), "my.toml:1: rounds: \"many\", want an integer >= 1");
  EXPECT_THAT(error_of("[local]\nobjective = \"proxx\""), HasSubstr("did you mean 'prox'"));
  EXPECT_THAT(error_of("[nonsense]\nx = 1"), HasSubstr("nonsense: unknown key"));
  EXPECT_THAT(error_of("batch-size = 3"), HasSubstr("did you mean 'local.batch-size'"));
  EXPECT_THAT(error_of("rounds = = 5"), StartsWith("my.toml:1: "));
  EXPECT_THAT(error_of("[model]\nhidden = [0]"), HasSubstr("model.hidden"));
  EXPECT_THAT(error_of("seed = -1"), HasSubstr("seed: -1, want an integer >= 0"));
  EXPECT_THAT(error_of("[local]\nlearning-rate = nan"), HasSubstr("local.learning-rate"));
  EXPECT_THAT(error_of("local = 3"), HasSubstr("local: unknown key"));
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

TEST(Recipe, WrittenOutItIsReadBackTheSame) {
  for (const BuiltInRecipe& built_in : built_in_recipes()) {
    const auto recipe = parse_recipe(built_in.toml, built_in.name);
    ASSERT_TRUE(recipe.ok()) << recipe.error().message;
    EXPECT_EQ(recipe->name, built_in.name);
    EXPECT_FALSE(recipe->summary.empty());
    EXPECT_TRUE(check_recipe(*recipe).ok());
    const std::string text = format_recipe(*recipe);
    const auto again = parse_recipe(text, "again");
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_EQ(format_recipe(*again), text);
    EXPECT_FALSE(describe_recipe(*recipe).empty());
  }
}

TEST(Recipe, EveryKeyRoundTrips) {
  Recipe recipe;
  const std::vector<std::string> settings{"name=x \"quoted\" y",
                                          "summary=line",
                                          "seed=18446744073709551",
                                          "target-accuracy=0.5",
                                          "budget=1e6",
                                          "data.seed=4",
                                          "data.alpha=inf",
                                          "data.normalize=false",
                                          "data.shape=[2, 3, 1]",
                                          "data.test-fraction=0.1",
                                          "local.steps=3",
                                          "local.mu=0.125",
                                          "profile.kind=classifier-weights",
                                          "profile.epsilon=0.5",
                                          "profile.steps=7",
                                          "profile.epochs=2.5",
                                          "profile.layers=last-two",
                                          "profile.bias=true",
                                          "profile.variance=0.9",
                                          "profile.form=softmax",
                                          "plan.groups={ growth = \"exp\", alpha = 0.1, beta = 3 }",
                                          "plan.regroup-every=4",
                                          "plan.regroup-on=loss-variance",
                                          "plan.regroup-round=3",
                                          "plan.sample-groups=0.5",
                                          "plan.sample-clients=3",
                                          "evaluation.clients=0.5",
                                          "faults.stragglers=drop",
                                          "cost.model=group-operations",
                                          "cost.task=speech",
                                          "cost.operation-quadratic=0.5",
                                          "cost.operation-linear=-0.25",
                                          "cost.operation-constant=0.125",
                                          "cost.training-slope=2",
                                          "cost.training-constant=-1e-9",
                                          "cost.sample-mflop=96",
                                          "cost.merge-mflop=6.3",
                                          "cost.model-mbytes=25.2"};
  for (const std::string& setting : settings) {
    const Status status = apply_setting(recipe, setting);
    EXPECT_TRUE(status.ok()) << status.error().message;
  }
  const auto again = parse_recipe(format_recipe(recipe), "again");
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again->name, recipe.name);
  EXPECT_EQ(again->seed, recipe.seed);
  EXPECT_EQ(again->data.alpha, recipe.data.alpha);
  EXPECT_EQ(again->data.normalize, recipe.data.normalize);
  EXPECT_EQ(again->local.steps, recipe.local.steps);
  EXPECT_EQ(again->profile, recipe.profile);
  EXPECT_EQ(again->profile.bias, true);
  EXPECT_EQ(again->cost, recipe.cost);
  EXPECT_EQ(again->cost.operation_linear, -0.25);
  EXPECT_EQ(again->plan.groups, recipe.plan.groups);
  EXPECT_EQ(again->plan.groups, (GroupSchedule{.growth = "exp", .alpha = 0.1, .beta = 3}));
  EXPECT_EQ(again->plan.regroup, recipe.plan.regroup);
  EXPECT_EQ(again->plan.sample_groups, Amount{0.5});
  EXPECT_EQ(again->plan.sample_clients, recipe.plan.sample_clients);
  EXPECT_EQ(format_recipe(*again), format_recipe(recipe));
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
            "my.toml:2: plan.groups: beta: 0.5, want an integer >= 1");
  EXPECT_EQ(error_of("[plan]\ngroups = { growth = \"exp\", alpha = true }"),
            "my.toml:2: plan.groups: alpha: true, want a number >= 0");
  EXPECT_EQ(error_of("[plan]\ngroups = { growth = \"exp\", alpha = nan }"),
            "my.toml:2: plan.groups: alpha = nan, want a number >= 0");
  EXPECT_THAT(error_of("[plan]\ngroups = { growht = \"exp\" }"),
              HasSubstr("unknown key 'growht' (did you mean 'growth'"));
}

TEST(Recipe, CombinationsThatCannotWorkAreRefusedWithTheReason) {
  const auto refused = [](std::vector<std::string> settings) {
    Recipe recipe;
    for (const std::string& setting : settings) {
      const Status status = apply_setting(recipe, setting);
      EXPECT_TRUE(status.ok()) << status.error().message;
    }
    const Status status = check_recipe(recipe);
    return status.ok() ? std::string("accepted") : status.error().message;
  };
  EXPECT_THAT(refused({"local.objective=control-variate"}), HasSubstr("share the controls"));
  EXPECT_THAT(refused({"aggregation.global=dynamic"}), HasSubstr("both keys must say dynamic"));
  EXPECT_THAT(refused({"local.objective=control-variate", "aggregation.global=control-variate", "local.momentum=0.9"}),
              HasSubstr("local.control"));
  EXPECT_EQ(refused({"local.objective=control-variate", "aggregation.global=control-variate", "local.momentum=0.9",
                     "local.control=gradient"}),
            "accepted");
  EXPECT_THAT(refused({"local.optimizer=adam", "local.momentum=0.9"}), HasSubstr("local.momentum: 0.9, want 0"));
  EXPECT_THAT(refused({"data.samples-min=5", "data.samples-max=4"}), HasSubstr("data.samples-min: 5"));
  EXPECT_THAT(refused({"data.shape=[2, 3]"}), HasSubstr("data.shape"));
  EXPECT_THAT(refused({"profile.epsilon=1"}), HasSubstr("profile.epsilon: not a key of none"));
  EXPECT_THAT(refused({"plan.sample-groups=2", "plan.sample-clients=3"}), HasSubstr("either groups or clients"));
  EXPECT_EQ(refused({"plan.sample-groups=2"}), "accepted");
  EXPECT_EQ(refused({"plan.sampling=all"}), "accepted");
}

TEST(Recipe, UnknownNamesSuggestTheNearest) {
  const auto recipe = load_recipe("fedavgg");
  ASSERT_FALSE(recipe.ok());
  EXPECT_EQ(recipe.error().code, ErrorCode::kUsage);
  EXPECT_THAT(recipe.error().message, HasSubstr("did you mean 'fedavg'"));
  EXPECT_FALSE(load_recipe("no/such.toml").ok());
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
