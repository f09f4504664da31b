// `model.layers`: a number or a list of layers, from TOML and settings, and back.
#include "recipe/recipe.h"

namespace muster {
namespace {

using testing::HasSubstr;

constexpr char kOwn[] =
    "[model]\nname = \"layers\"\n"
    "layers = [\"conv 16 3 pad same\", \"relu\", "
    "[\"residual padded\", \"conv 16 3 pad same\", [\"residual\", \"gelu\"]], \"dense 64\"]\n";

TEST(LayersKey, ListsRoundTrip) {
  const auto recipe = parse_recipe(kOwn, "my.toml");
  ASSERT_TRUE(recipe.ok()) << recipe.error().message;
  const LayerList want = {{"conv 16 3 pad same"},
                          {"relu"},
                          {"residual padded", {{"conv 16 3 pad same"}, {"residual", {{"gelu"}}}}},
                          {"dense 64"}};
  EXPECT_EQ(recipe->model.layers.list, want);
  EXPECT_TRUE(check_recipe(*recipe).ok());
  for (const bool all : {false, true}) {
    const auto again = parse_recipe(format_recipe(*recipe, all), "again");
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_EQ(again->model.layers.list, want);
    EXPECT_TRUE(*again == *recipe);
  }
}

TEST(LayersKey, SettingsTakeLists) {
  Recipe recipe;
  ASSERT_TRUE(apply_setting(recipe, "model.name=layers").ok());
  ASSERT_TRUE(apply_setting(recipe, "model.layers=[\"dense 64\",\"relu\"]").ok());
  EXPECT_EQ(recipe.model.layers.list, (LayerList{{"dense 64"}, {"relu"}}));
  EXPECT_TRUE(check_recipe(recipe).ok());
  ASSERT_TRUE(apply_setting(recipe, "model.name=lstm").ok());
  ASSERT_TRUE(apply_setting(recipe, "model.layers=3").ok());
  EXPECT_EQ(recipe.model.layers.depth, 3u);
  EXPECT_TRUE(recipe.model.layers.list.empty());
  EXPECT_THAT(format_recipe(recipe, false), HasSubstr("layers = 3\n"));
}

TEST(LayersKey, ErrorsNameTheKeyAndWhatIsAccepted) {
  const auto error = [](std::string_view name, std::string_view value) -> std::string {
    const auto recipe = parse_recipe(fmt::format("[model]\nname = \"{}\"\nlayers = {}\n", name, value), "my.toml");
    if (!recipe) return recipe.error().message;
    const Status status = check_recipe(*recipe);
    return status.ok() ? "accepted" : status.error().message;
  };
  EXPECT_EQ(error("lstm", "17"),
            "my.toml:3: model.layers: 17, want an integer from 1 to 16 (lstm), or a list of layers (layers)");
  EXPECT_THAT(error("layers", "[]"), HasSubstr("my.toml:3: model.layers: []"));
  EXPECT_THAT(error("layers", "[\"relu\", 3]"), HasSubstr("want a list of layers, each a string"));
  EXPECT_THAT(error("layers", "[[\"residual\"]]"), HasSubstr("want a list of layers"));
  EXPECT_THAT(error("layers", "[\"relu\\nrelu\"]"), HasSubstr("want a list of layers"));
  EXPECT_THAT(error("layers", "[\"relu\", \"dens 64\"]"),
              HasSubstr("model.layers[1]: \"dens 64\": unknown layer 'dens'"));
  EXPECT_THAT(error("layers", "2"), HasSubstr("model.layers: want a list"));
  EXPECT_THAT(error("lstm", "[\"relu\"]"), HasSubstr("model.layers: a list"));
  EXPECT_THAT(error("mlp", "[\"relu\"]"), HasSubstr("has no effect with model.name = \"mlp\""));
}

}  // namespace
}  // namespace muster
