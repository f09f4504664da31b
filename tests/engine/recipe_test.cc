#include "engine/recipe.h"

#include "engine/catalogue.h"

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
                                          "plan.sample-clients=3",
                                          "evaluation.clients=0.5",
                                          "faults.stragglers=drop"};
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
  EXPECT_EQ(again->plan.sample_clients, recipe.plan.sample_clients);
  EXPECT_EQ(format_recipe(*again), format_recipe(recipe));
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
