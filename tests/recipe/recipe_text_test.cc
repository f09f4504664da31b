#include "recipe/recipe_text.h"

#include "recipe/recipe.h"

namespace muster {
namespace {

TEST(RecipeText, HasEveryKeyOfAWrittenRecipe) {
  for (const char* name : {"fedavg", "fedgsp", "fedgroup"}) {
    const std::string toml = format_recipe(load_recipe(name).value());
    const auto keys = recipe_keys_of(toml);
    ASSERT_TRUE(keys.ok()) << keys.error().message;
    EXPECT_EQ(keys->at("name"), name);
    EXPECT_EQ(keys->at("seed"), "1");
    // What is given back as a setting means the same.
    Recipe again = load_recipe(name).value();
    EXPECT_TRUE(apply_setting(again, "local.learning-rate=" + keys->at("local.learning-rate")).ok());
    EXPECT_EQ(format_recipe(again), toml);
  }
}

TEST(RecipeText, ValuesAreComparedByWhatTheyMean) {
  EXPECT_EQ(recipe_value("0.50"), "0.5");
  EXPECT_EQ(recipe_value("1e-1"), "0.1");
  EXPECT_EQ(recipe_value("7"), "7");
  EXPECT_EQ(recipe_value("cnn"), "cnn");
  EXPECT_EQ(recipe_value("\"cnn\""), "cnn");
  EXPECT_EQ(recipe_value("[ 6,16 ]"), "[6, 16]");
  EXPECT_EQ(recipe_value("[\"a\"]"), "[\"a\"]");
  EXPECT_EQ(recipe_value("{growth=\"log\",alpha=2.0}"), "{alpha = 2.0, growth = \"log\"}");
  EXPECT_EQ(recipe_value("true"), "true");
  EXPECT_EQ(recipe_value("1\nb = 2"), "1\nb = 2");
  EXPECT_EQ(recipe_value(""), "");
}

TEST(RecipeText, RefusesWhatIsNoRecipe) {
  EXPECT_FALSE(recipe_keys_of("name = ").ok());
  EXPECT_FALSE(recipe_keys_of("a = " + std::string(1000, '[')).ok());
  EXPECT_TRUE(recipe_keys_of("").ok());
}

}  // namespace
}  // namespace muster
