// What holds for any recipe that is accepted: it is refused before anything trains or never fails, whatever befalls its
// clients.
#include <map>
#include <set>

#include "random_composition.h"
#include "recipe/fit_to_data.h"

namespace muster {
namespace {

struct Outcome {
  std::string error;  // "" = the run ended
  ErrorCode code{};
  bool began = false;
};

class RandomRecipe : public SimulationTest {
 protected:
  Outcome outcome_of(const Settings& settings) {
    Outcome outcome;
    SimulationOptions o = options();
    o.on_round = [&](std::uint32_t) { outcome.began = true; };
    const auto summary = simulate(recipe_of({settings}), o);
    if (!summary) {
      outcome.error = summary.error().message;
      outcome.code = summary.error().code;
      EXPECT_TRUE(std::filesystem::is_empty(o.out)) << "left behind by " << outcome.error;
      return outcome;
    }
    std::filesystem::remove_all(summary->dir);
    return outcome;
  }
  static Settings with(Settings settings, const std::string& key, const std::string& value) {
    std::erase_if(settings, [&](const std::string& setting) { return setting.starts_with(key + "="); });
    settings.push_back(key + "=" + value);
    return settings;
  }
  static std::string described(const Settings& settings) {
    std::string text;
    for (const std::string& setting : settings) text += setting + " ";
    return text;
  }
  static Settings drawn(std::uint32_t number) {
    Settings settings = RandomComposition(number).draw_with_any_keys(6);
    settings = with(settings, "rounds", "3");
    return with(settings, "checkpoint-every", "1000");
  }
};

// Keys that no recipe can have with any of their values are drawn in vain.
TEST_F(RandomRecipe, KnowsAnAcceptedValueOfEveryKey) {
  for (const RecipeKey& key : recipe_keys()) {
    const std::vector<std::string> values = small_values(key);
    Recipe recipe;
    EXPECT_TRUE(values.empty() || std::ranges::any_of(values,
                                                      [&](const std::string& value) {
                                                        return apply_setting(recipe, full_name(key) + "=" + value).ok();
                                                      }))
        << full_name(key) << " takes " << key.accepted;
  }
}

// Most keys that need no files are drawn, so that what is tested over random recipes is tested for most keys.
TEST_F(RandomRecipe, NamesNearlyEveryKey) {
  std::set<std::string> seen;
  for (std::uint32_t number = 0; number < 80; ++number) {
    for (const std::string& setting : RandomComposition(number).draw_with_any_keys(8)) {
      seen.insert(setting.substr(0, setting.find('=')));
    }
  }
  std::string missing;
  std::size_t drawable = 0;
  for (const RecipeKey& key : recipe_keys()) {
    if (small_values(key).empty()) continue;
    ++drawable;
    if (!seen.contains(full_name(key))) missing += full_name(key) + " ";
  }
  EXPECT_GE(seen.size(), drawable * 3 / 5) << "never drawn: " << missing;
}

// Keys that a settled recipe may leave out though they have an effect, and what their absence says.
const std::map<std::string, std::string> kAbsenceIsTheMeaning{
    {"summary", "no summary"},
    {"target-accuracy", "no target"},
    {"budget", "no limit"},
    {"data.path", "the source is generated, or found in the usual places"},
    {"data.seed", "the run's seed, which is there"},
    {"cost.file", "constants are the recipe's, or the paper's"},
    {"dp.epsilon", "no limit: the run goes on and tells what it has spent"},
    {"data.samples-min", "sizes are equal, or as the source draws them"},
    {"data.samples-max", "sizes are equal, or as the source draws them"},
    {"local.steps", "by epochs"},
    {"local.adapt-epochs", "all train alike"},
    {"local.personal", "clients share the whole model"},
    {"local.own-model", "clients have no model beside the shared one"},
    {"local.freeze", "everything is trained"},
    {"local.personal-epochs", "personal and shared parts are trained together"},
    {"aggregation.shared", "the models of groups share nothing"},
    {"aggregation.clip", "the median length of the changes"},
    {"secure.bits", "the narrowest words that leave enough fraction"},
    {"dp.clip", "nothing is clipped and no noise is added"},
    {"evaluation.fine-tune", "models are scored as they are"},
    {"profile.epsilon", "no noise"},
    {"profile.steps", "by epochs"},
    {"profile.epochs", "by steps"},
    {"profile.variance", "no reduction"},
    {"grouping.size", "groups by samples; or the method's own is more than there are clients"},
    {"grouping.min-size", "the method's own is more than there are clients"},
    {"grouping.clusters", "there are more classes than clients"},
    {"grouping.min-samples", "groups of a size"},
    {"grouping.max-clients", "groups of a size"},
    {"grouping.groups", "plan.groups, a threshold, or as many as the method finds"},
    {"grouping.threshold", "a number of groups"},
    {"plan.groups", "grouping.groups, or what the method finds"},
    {"plan.regroup-every", "for ever"},
    {"plan.regroup-on", "before the first round"},
    {"plan.sample-groups", "clients are drawn"},
    {"aggregation.window", "as many rounds as there will be groups"},
    {"evaluation.metrics", "none"},
    {"stop.patience", "no early stop"},
    {"newcomers.assign", "there are no groups"},
    {"newcomers.round", "nobody is late"},
    {"cost.task", "all constants are given"},
    {"cost.sample-mflop", "the network's, which [model] says"},
    {"cost.merge-mflop", "the network's, which [model] says"},
    {"cost.model-mbytes", "the network's, which [model] says"},
};

TEST_F(RandomRecipe, SettledSaysAllThatShapesTheRun) {
  std::uint32_t settled = 0;
  for (std::uint32_t number = 0; number < 80; ++number) {
    const Settings settings = drawn(9000 + number);
    SCOPED_TRACE(described(settings));
    Recipe recipe = recipe_of({settings});
    const auto data = make_federated_data(recipe.data, recipe.data_seed.value_or(recipe.seed));
    if (!data || !settle_recipe(recipe, **data)) continue;
    ++settled;
    for (const Key& key : recipe_key_table()) {
      if (failing_condition(key, recipe) || !key.get(recipe).empty()) continue;
      EXPECT_TRUE(kAbsenceIsTheMeaning.contains(full_name(key.info))) << full_name(key.info);
    }
    auto again = parse_recipe(format_recipe(recipe), "settled");
    ASSERT_TRUE(again.ok()) << again.error().message;
    ASSERT_TRUE(check_recipe(*again).ok()) << check_recipe(*again).error().message;
    const auto notes = settle_recipe(*again, **data);
    ASSERT_TRUE(notes.ok()) << notes.error().message;
    EXPECT_EQ(format_recipe(*again), format_recipe(recipe));
    if (number % 16 != 0) continue;
    const auto first = simulate(recipe_of({settings}), options());
    const auto second = simulate(*again, options());
    ASSERT_EQ(first.ok(), second.ok());
    if (first.ok()) {
      EXPECT_EQ(first->signature, second->signature);
    }
  }
  EXPECT_GT(settled, 30u);
}

class AnyRecipe : public RandomRecipe, public testing::WithParamInterface<std::uint32_t> {};

INSTANTIATE_TEST_SUITE_P(, AnyRecipe, testing::Range(0u, 40u));

TEST_P(AnyRecipe, IsRefusedBeforeItTrainsOrNeverFails) {
  const Settings settings = drawn(5000 + GetParam());
  // What recipes accept and data do not have: these must be refused at once, or work.
  static const std::vector<std::string> kExtremes{"grouping.groups=25",
                                                  "grouping.size=25",
                                                  "grouping.min-size=25",
                                                  "grouping.clusters=4294967295",
                                                  "grouping.clusters=25",
                                                  "grouping.min-samples=100000",
                                                  "grouping.max-clients=1",
                                                  "local.batch-size=1048576",
                                                  "data.samples-min=100000",
                                                  "plan.sample-groups=1000",
                                                  "plan.sample-clients=1000",
                                                  "plan.groups=25",
                                                  "newcomers.clients=1000",
                                                  "profile.clients=1",
                                                  "data.edges=3",
                                                  "local.learning-rate=1e30",
                                                  "data.test-fraction=0.999",
                                                  "evaluation.clients=1",
                                                  "newcomers.round=1000000000",
                                                  "plan.regroup-round=1000000",
                                                  "faults.drop=1.0",
                                                  "faults.nan=1.0",
                                                  "profile.epsilon=1e-9",
                                                  "aggregation.window=4294967295",
                                                  "profile.steps=1",
                                                  "local.weight-decay=1e30",
                                                  "data.exemplars=1000000",
                                                  "data.clients=1",
                                                  "data.clients=2",
                                                  "data.samples-max=1",
                                                  "grouping.max-cov=0",
                                                  "local.adapt-epochs=100"};
  std::vector<Settings> variants{settings};
  for (std::uint32_t i = 0; i < 3; ++i) {
    const std::string& extreme = kExtremes[(GetParam() * 3 + i) % kExtremes.size()];
    const std::size_t equals = extreme.find('=');
    const Settings variant = with(settings, extreme.substr(0, equals), extreme.substr(equals + 1));
    if (check_settings(variant).ok()) variants.push_back(variant);
  }
  for (const Settings& variant : variants) {
    SCOPED_TRACE(described(variant));
    const Outcome first = outcome_of(variant);
    if (!first.error.empty()) {
      EXPECT_FALSE(first.began) << first.error;
      EXPECT_EQ(first.code, ErrorCode::kUsage) << first.error;
    }
    for (const char* drop : {"0.3", "0.5"}) {
      const Settings faulty = with(variant, "faults.drop", drop);
      if (!check_settings(faulty).ok()) continue;
      EXPECT_EQ(outcome_of(faulty).error, first.error) << "with faults.drop = " << drop;
    }
  }
}

}  // namespace
}  // namespace muster
