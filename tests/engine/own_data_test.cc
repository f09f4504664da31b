// Every built-in recipe on a user's own table of sites, with nothing given but where it is and what its columns are.
#include <random>

#include "small_run.h"

namespace muster {
namespace {

// Sites of very different sizes; two of three features tell the class.
std::string table_of_sites(std::uint32_t sites) {
  std::mt19937 random(sites);
  std::normal_distribution<double> normal;
  std::string text = "site,age,pressure,noise,outcome\n";
  for (std::uint32_t site = 0; site < sites; ++site) {
    const std::uint32_t rows = 40 + random() % 160;
    for (std::uint32_t row = 0; row < rows; ++row) {
      const double age = normal(random), pressure = normal(random);
      const char* const outcome = age + pressure > 0.5 ? "ill" : (age - pressure > 0 ? "watched" : "well");
      text += fmt::format("site {},{:.2f},{:.1f},{:.3f},{}\n", site, 50 + 10 * age, 120 + 15 * pressure, normal(random),
                          outcome);
    }
  }
  return text;
}

class OwnData : public SimulationTest, public testing::WithParamInterface<std::tuple<std::string, std::uint32_t>> {};

TEST_P(OwnData, RunsWithItsPlaceAndItsColumnsGiven) {
  const auto& [name, sites] = GetParam();
  const auto table = folder_.write("sites.csv", table_of_sites(sites));
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
