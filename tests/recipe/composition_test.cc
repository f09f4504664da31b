// Recipes that start from a method and run on a task.
#include "recipe/composition.h"

#include "recipe/fit_to_data.h"
#include "recipe/keys.h"
#include "recipe/tasks.h"
#include "scratch_folder.h"

namespace muster {
namespace {

using testing::HasSubstr;

class CompositionTest : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) { return folder_.write(name, text).string(); }
  Recipe load(const std::string& name, const std::string& task = "") {
    auto recipe = load_recipe(name, task);
    EXPECT_TRUE(recipe.ok()) << recipe.error().message;
    if (!recipe) return {};
    const Status status = check_recipe(*recipe);
    EXPECT_TRUE(status.ok()) << status.error().message;
    return std::move(*recipe);
  }
  std::string refusal(const std::string& name, const std::string& task = "") {
    const auto recipe = load_recipe(name, task);
    EXPECT_FALSE(recipe.ok());
    if (recipe) return {};
    EXPECT_EQ(recipe.error().code, ErrorCode::kUsage);
    return recipe.error().message;
  }

  ScratchFolder folder_;
};

// Costs of group operations were measured for some objectives only, control variates by steps want plain SGD, and there
// are no features to join in a network of one layer: the recipe says so.
bool is_known_misfit(const Recipe& recipe) {
  const std::string& objective = recipe.local.objective.name;
  const bool priced = objective == "plain" || objective == "prox" || objective == "control-variate";
  return (recipe.cost.model == "group-operations" && !priced) ||
         (recipe.local.momentum > 0 && objective == "control-variate" && recipe.local.objective.control == "steps") ||
         (recipe.model.name == "softmax" && objective == "fusion") ||
         (recipe.aggregation.in_group == "secure-sum" && recipe.evaluation.discrepancy);
}

TEST_F(CompositionTest, EveryMethodRunsOnEveryTask) {
  for (const BuiltInRecipe& method : built_in_recipes()) {
    if (!method.method) continue;
    for (const BuiltInTask& task : built_in_tasks()) {
      SCOPED_TRACE(fmt::format("{} on {}", method.name, task.name));
      const auto loaded = load_recipe(std::string(method.name), std::string(task.name));
      ASSERT_TRUE(loaded.ok()) << loaded.error().message;
      const Recipe& recipe = *loaded;
      const Status status = check_recipe(recipe);
      EXPECT_EQ(status.ok(), !is_known_misfit(recipe)) << (status ? "" : status.error().message);
      if (!status) continue;
      EXPECT_EQ(recipe.name, method.name);
      EXPECT_EQ(recipe.task, task.name);
      const auto again = parse_recipe(format_recipe(recipe), "again");
      ASSERT_TRUE(again.ok()) << again.error().message;
      EXPECT_TRUE(*again == recipe);
    }
  }
}

TEST_F(CompositionTest, MethodsShareOneTaskAndDifferInMethodKeysOnly) {
  const Recipe reference = load("fedavg");
  EXPECT_EQ(reference.task, kDefaultTask);
  for (const BuiltInRecipe& method : built_in_recipes()) {
    if (!method.method) continue;
    const Recipe recipe = load(std::string(method.name));
    for (const Key& key : recipe_key_table()) {
      if (!belongs_to_task(key.info) || failing_condition(key, recipe)) continue;
      EXPECT_EQ(key.get(recipe), key.get(reference)) << method.name << ": " << full_name(key.info);
    }
  }
}

TEST_F(CompositionTest, KeysOfTheFileBeatTheTasksWhichBeatTheBases) {
  const std::string base = write("base.toml", "name = \"b\"\nrounds = 5\n[local]\nbatch-size = 7\nepochs = 3\n");
  write("task.toml", "name = \"t\"\nrounds = 6\n[local]\nbatch-size = 8\n");
  const Recipe recipe = load(write("mine.toml", "base = \"base.toml\"\ntask = \"task.toml\"\nrounds = 9\n"));
  EXPECT_EQ(recipe.name, "b");
  EXPECT_EQ(recipe.task, "task");
  EXPECT_EQ(recipe.rounds, 9u);
  EXPECT_EQ(recipe.local.batch_size, 8u);
  EXPECT_EQ(recipe.local.epochs, 3);
}

TEST_F(CompositionTest, ATaskOnTheCommandLineTakesThePlaceOfTheFiles) {
  const std::string mine = write("mine.toml", "base = \"fedprox\"\ntask = \"mnist-writers\"\n");
  EXPECT_EQ(load(mine).data.source, "mnist");
  const Recipe recipe = load(mine, "cifar-dirichlet");
  EXPECT_EQ(recipe.data.source, "cifar10");
  EXPECT_EQ(recipe.task, "cifar-dirichlet");
  EXPECT_EQ(recipe.local.objective.name, "prox");
}

TEST_F(CompositionTest, ParticipationIsOfWhateverIsDrawn) {
  EXPECT_EQ(load("fedavg", "mnist-writers").plan.sample_clients, Amount{0.3});
  EXPECT_EQ(load("fedgsp", "mnist-writers").plan.sample_groups, Amount{0.3});
  EXPECT_EQ(load("autocfl", "mnist-writers").plan.sampling, "all");
  Recipe recipe = load("fedgsp");
  ASSERT_TRUE(apply_setting(recipe, "plan.participation=0.5").ok());
  EXPECT_EQ(recipe.plan.sample_groups, Amount{0.5});
  const Status status = apply_setting(recipe, "plan.participation=2");
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "--set: plan.participation: 2, want a share in (0, 1]");
}

TEST_F(CompositionTest, WhatABaseOrTaskSaysGivesWayWithoutAWord) {
  const std::string mine =
      write("mine.toml", "base = \"fedprox\"\n[local]\nobjective = \"plain\"\n[model]\nname = \"softmax\"\n");
  const Recipe recipe = load(mine);
  EXPECT_EQ(recipe.model.name, "softmax");
  EXPECT_TRUE(recipe.model.channels.empty());
}

TEST_F(CompositionTest, WhatTheFileItselfSaysMustHaveAnEffect) {
  const auto recipe = load_recipe(write("mine.toml", "base = \"fedavg\"\n[local]\nmu = 0.5\n"));
  ASSERT_TRUE(recipe.ok());
  const Status status = check_recipe(*recipe);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("mine.toml:3: local.mu: 0.5 has no effect"));
}

TEST_F(CompositionTest, OfTwoKeysThatSayTheSameTheLaterWins) {
  const std::string task = write("steps.toml", "[local]\nsteps = 4\n");
  const std::string mine = write("mine.toml", "base = \"fedavg\"\ntask = \"steps.toml\"\n[local]\nepochs = 2\n");
  EXPECT_EQ(load("fedavg", task).local.steps, 4u);
  const Recipe recipe = load(mine);
  EXPECT_EQ(recipe.local.steps, std::nullopt);
  EXPECT_EQ(recipe.local.epochs, 2);
}

TEST_F(CompositionTest, OldRecipesWithoutATaskAreAsTheyWere) {
  const Recipe recipe = load(write("old.toml", "[model]\nname = \"mlp\"\n"));
  EXPECT_EQ(recipe.task, "");
  EXPECT_EQ(recipe.data.source, DataOptions{}.source);
  EXPECT_EQ(recipe.plan.sample_clients, Amount{1.0});
}

TEST_F(CompositionTest, ATasksDataAreTheUsersOwnAndTheMethodIsFittedToThem) {
  write("mine.csv", "a,site,label\n1,x,0\n");
  const std::string task = write(
      "mine.toml", "[data]\nsource = \"csv\"\npath = \"mine.csv\"\nclient = \"site\"\n[model]\nname = \"softmax\"\n");
  Recipe recipe = load("fedgsp", task);
  EXPECT_EQ(recipe.data.path, (folder_.path() / "mine.csv").lexically_normal().string());
  EXPECT_TRUE(brings_own_data(recipe));
  EXPECT_TRUE(set_by_user(recipe, "model.name"));
  EXPECT_FALSE(set_by_user(recipe, "plan.groups"));
}

TEST_F(CompositionTest, SaysWhatIsWrong) {
  EXPECT_THAT(refusal("fedavg", "fashon-dirichlet"), HasSubstr("--task: unknown task 'fashon-dirichlet'"));
  EXPECT_THAT(refusal("fedavg", "no/such.toml"), HasSubstr("no/such.toml"));
  EXPECT_THAT(refusal(write("a.toml", "base = \"fedav\"\n")), HasSubstr("a.toml: base: unknown recipe 'fedav'"));
  EXPECT_THAT(refusal(write("b.toml", "\nbase = 3\n")), HasSubstr("b.toml:2: base: 3, want a name or a path"));
  EXPECT_THAT(refusal(write("c.toml", "base = \"c.toml\"\n")), HasSubstr("is it a circle?"));
  EXPECT_THAT(refusal("fedavg", write("d.toml", "[grouping]\nmethod = \"random\"\n")),
              HasSubstr("d.toml:2: grouping.method: belongs to a method"));
  EXPECT_THAT(refusal("fedavg", write("e.toml", "[data]\nalfa = 1\n")), HasSubstr("data.alfa: unknown key"));
  Recipe recipe;
  EXPECT_THAT(apply_setting(recipe, "task=synthetic").error().message, HasSubstr("--task"));
}

TEST_F(CompositionTest, LayersOfOnesOwnHoldInOrder) {
  const auto layer = [](GivenKey::By by, const char* toml) {
    return RecipeLayer{.by = by, .toml = toml, .origin = "layer", .folder = {}, .built_in = false};
  };
  const std::vector<RecipeLayer> layers{
      layer(GivenKey::By::kTask,
            "task = \"mnist-writers\"\nrounds = 7\n[local]\nepochs = 2\n[plan]\nparticipation = 0.5"),
      layer(GivenKey::By::kBase, "[grouping]\nsize = 9\nmax-cov = 0.1"),
      layer(GivenKey::By::kTask, "[local]\nepochs = 3"),
  };
  const auto recipe = load_recipe_on("naivegsp", layers);
  ASSERT_TRUE(recipe.ok()) << recipe.error().message;
  ASSERT_TRUE(check_recipe(*recipe).ok()) << "grouping.max-cov gave way";
  EXPECT_EQ(recipe->data.source, "mnist") << "a task may start from another";
  EXPECT_EQ(recipe->rounds, 7u);
  EXPECT_EQ(recipe->local.epochs, 3) << "the later task";
  EXPECT_EQ(recipe->grouping.size, 9u) << "after the method's own";

  const auto misplaced = load_recipe_on("naivegsp", std::vector{layer(GivenKey::By::kTask, "[grouping]\nsize = 9")});
  ASSERT_FALSE(misplaced.ok());
  EXPECT_THAT(misplaced.error().message, HasSubstr("belongs to a method"));
}

}  // namespace
}  // namespace muster
