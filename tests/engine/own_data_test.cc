// Every built-in recipe on a user's own table of sites, with nothing given but where it is and what its columns are.
#include "site_table.h"
#include "small_run.h"

namespace muster {
namespace {

class OwnData : public SimulationTest, public testing::WithParamInterface<std::tuple<std::string, std::uint32_t>> {};

TEST_P(OwnData, RunsWithItsPlaceAndItsColumnsGiven) {
  const auto& [name, sites] = GetParam();
  const auto table = folder_.write("sites.csv", site_table({.sites = sites}));
  Recipe recipe = *load_recipe(name);
  for (const std::string& setting :
       {std::string("data.source=csv"), "data.path=" + table.string(), std::string("data.label=outcome"),
        std::string("data.client=site"), std::string("rounds=1")}) {
    ASSERT_TRUE(apply_setting(recipe, setting).ok()) << setting;
  }
  const RunSummary summary = run(recipe);
  EXPECT_EQ(summary.clients, sites);
  EXPECT_EQ(summary.rounds, 1u);
  EXPECT_TRUE(summary.accuracy_last);

  const auto resolved = load_recipe((summary.dir / "recipe.toml").string());
  ASSERT_TRUE(resolved.ok()) << resolved.error().message;
  EXPECT_EQ(run(*resolved).signature, summary.signature);
}

// One in forty rows is of a third class: fewer test samples of it than FedSeq's recipe wants as exemplars.
TEST_F(SimulationTest, ARareClassOfOnesOwnDataMakesFewerExemplars) {
  std::string table = "site,x,label\n";
  for (int i = 0; i < 400; ++i) table += fmt::format("{},{},{}\n", i % 4, i, i % 40 == 0 ? "rare" : i % 2 ? "a" : "b");
  const auto path = folder_.write("rare.csv", table);
  Recipe recipe = *load_recipe("fedseq");
  for (const std::string& setting :
       {std::string("data.source=csv"), "data.path=" + path.string(), std::string("data.client=site"),
        std::string("data.test-fraction=0.5"), std::string("rounds=1")}) {
    ASSERT_TRUE(apply_setting(recipe, setting).ok()) << setting;
  }
  SimulationOptions noted = options();
  std::vector<std::string> said;
  noted.say = [&](const std::string& text) { said.push_back(text); };
  const auto summary = simulate(recipe, noted);
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  EXPECT_THAT(said, testing::Contains(testing::HasSubstr("data.exemplars: ")));
  const auto resolved = load_recipe((summary->dir / "recipe.toml").string());
  ASSERT_TRUE(resolved.ok());
  EXPECT_LT(resolved->data.exemplars, 10u);
  EXPECT_EQ(run(*resolved).signature, summary->signature);

  ASSERT_TRUE(apply_setting(recipe, "data.exemplars=10").ok());
  EXPECT_THAT(simulate(recipe, options()).error().message, testing::HasSubstr("class rare has only"));
}

std::vector<std::string> names() {
  std::vector<std::string> names;
  for (const BuiltInRecipe& recipe : built_in_recipes()) names.emplace_back(recipe.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(, OwnData, testing::Combine(testing::ValuesIn(names()), testing::Values(40u, 5u)),
                         [](const auto& test) {
                           std::string name = std::get<0>(test.param) + "_" + std::to_string(std::get<1>(test.param));
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace muster
