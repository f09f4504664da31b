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
