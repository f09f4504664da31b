#include "recipe/fit_to_data.h"

namespace muster {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr Shape kTable{1, 1, 4};

RecipeFacts sites(std::uint32_t clients, std::uint32_t samples_each) {
  return {.clients = clients,
          .clients_with_samples = clients,
          .classes = 3,
          .edges = {{clients, std::uint64_t{clients} * samples_each}},
          .global_test = true,
          .client_tests = true,
          .exemplars = true};
}

Recipe built_in(const char* name, const std::vector<std::string>& settings = {}, const std::string& task = "") {
  Recipe recipe = *load_recipe(name, task);
  std::vector<std::string> all{"data.source=csv", "data.path=mine.csv", "data.client=site"};
  all.insert(all.end(), settings.begin(), settings.end());
  for (const std::string& setting : all) {
    const Status status = apply_setting(recipe, setting);
    EXPECT_TRUE(status.ok()) << status.error().message;
  }
  return recipe;
}

TEST(FitToData, NothingHappensToTheRecipesOwnData) {
  Recipe recipe = *load_recipe("fedseq");
  const Recipe before = recipe;
  EXPECT_FALSE(brings_own_data(recipe));
  EXPECT_THAT(fit_to_own_data(recipe, sites(5, 100), kTable), IsEmpty());
  EXPECT_TRUE(recipe == before);
}

TEST(FitToData, AFileThatNamesItsDataIsTheUsersOwnWord) {
  Recipe recipe = *parse_recipe("[data]\nsource = \"csv\"\npath = \"a.csv\"\n[model]\nname = \"cnn\"\n", "mine.toml");
  EXPECT_THAT(fit_to_own_data(recipe, sites(5, 100), kTable), IsEmpty());
  EXPECT_EQ(recipe.model.name, "cnn");
}

TEST(FitToData, SaysWhichKeysOfTheRecipeGaveWay) {
  Recipe recipe = built_in("group-fel", {}, "fashion-edges");
  EXPECT_EQ(recipe.data.edges, 1u);
  EXPECT_FALSE(recipe.data.clients);
  const auto notes = fit_to_own_data(recipe, sites(40, 100), kTable);
  ASSERT_FALSE(notes.empty());
  EXPECT_THAT(notes[0], HasSubstr("data.clients"));
  EXPECT_THAT(notes[0], HasSubstr("data.edges"));
  EXPECT_THAT(notes[0], HasSubstr("give way"));
}

TEST(FitToData, ATestFractionOfTheRecipeGivesWayToTheUsersSplit) {
  const Recipe recipe = built_in("fedgroup");
  EXPECT_FALSE(recipe.data.test_fraction);
  EXPECT_FALSE(recipe.data.merge_test);
  EXPECT_EQ(built_in("fedgroup", {"data.test-fraction=0.3"}).data.test_fraction, 0.3);
}

TEST(FitToData, ANetworkForImagesBecomesOneForTables) {
  Recipe recipe = built_in("fedavg");
  const auto notes = fit_to_own_data(recipe, sites(40, 100), kTable);
  EXPECT_EQ(recipe.model.name, "mlp");
  EXPECT_THAT(recipe.model.channels, IsEmpty());
  EXPECT_THAT(notes.back(), HasSubstr("\"mlp\" instead of the recipe's \"cnn\""));
  EXPECT_TRUE(check_recipe(recipe).ok());
}

TEST(FitToData, ANetworkThatFitsStays) {
  Recipe recipe = built_in("fedavg");
  (void)fit_to_own_data(recipe, sites(40, 100), {28, 28, 1});
  EXPECT_EQ(recipe.model.name, "cnn");
}

TEST(FitToData, NumbersThatCannotHoldBecomeOnesThatDo) {
  struct Case {
    const char* recipe;
    const char* note;
  };
  for (const Case& c : {Case{"fedseq", "grouping.min-samples: 500 instead of the recipe's 1500"},
                        Case{"fedgsp", "beta = 1 }"}, Case{"naivegsp", "grouping.size: 2 instead of the recipe's 36"},
                        Case{"group-fel", "grouping.tail: \"merge\""}}) {
    Recipe recipe = built_in(c.recipe);
    const RecipeFacts facts = sites(5, 100);
    const auto notes = fit_to_own_data(recipe, facts, kTable);
    EXPECT_THAT(notes, testing::Contains(HasSubstr(c.note))) << c.recipe;
    EXPECT_TRUE(check_recipe_for(recipe, facts).ok()) << c.recipe;
  }
}

TEST(FitToData, WhatTheUserSetIsNeverTouched) {
  Recipe recipe = built_in("fedseq", {"grouping.min-samples=4000", "model.name=cnn"});
  const RecipeFacts facts = sites(5, 100);
  (void)fit_to_own_data(recipe, facts, kTable);
  EXPECT_EQ(recipe.grouping.min_samples, 4000u);
  EXPECT_EQ(recipe.model.name, "cnn");
  EXPECT_FALSE(check_recipe_for(recipe, facts).ok());
}

TEST(FitToData, EveryBuiltInRecipeFitsAnyNumberOfSites) {
  for (const BuiltInRecipe& one : built_in_recipes()) {
    for (const std::uint32_t clients : {1u, 2u, 3u, 5u, 7u, 11u, 12u, 40u, 1000u}) {
      for (const std::uint32_t samples : {1u, 30u, 5000u}) {
        Recipe recipe = built_in(std::string(one.name).c_str());
        const RecipeFacts facts = sites(clients, samples);
        (void)fit_to_own_data(recipe, facts, kTable);
        EXPECT_TRUE(check_recipe(recipe).ok()) << one.name;
        const Status status = check_recipe_for(recipe, facts);
        EXPECT_TRUE(status.ok()) << one.name << ", " << clients << " clients of " << samples << ": "
                                 << status.error().message;
      }
    }
  }
}

}  // namespace
}  // namespace muster
