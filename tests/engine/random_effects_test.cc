// No key is ignored: in any composition, a key that applies has some value that changes some record. Where it can have
// no effect, the key's conditions must say so.
#include "random_composition.h"
#include "recipe/choices.h"
#include "run_records.h"

namespace muster {
namespace {

// Keys that by nature may change nothing in a run of a few rounds.
struct Quiet {
  const char* key;
  const char* why;
  bool (*where)(const Recipe&) = [](const Recipe&) { return true; };
};
const Quiet kQuiet[] = {
    {"budget", "is never reached by so short a run, or already by the first round"},
    {"target-accuracy", "is never reached"},
    {"local.state-limit-mb", "decides where client state is kept, not what it is"},
    {"local.adapt-epochs", "nobody may lag behind the largest client so soon"},
    {"local.loss-tolerance", "the same"},
    {"local.epoch-rounding", "the same"},
    {"profile.layers", "the network of the test has one layer"},
    {"profile.variance", "groups may be the same from fewer components"},
    {"profile.form", "groups may be the same from either form"},
    {"profile.epsilon", "groups may be the same from noisy counts"},
    {"newcomers.assign", "everybody may be in a group already"},
    {"evaluation.on", "\"auto\" is one of the others, and there may be no third"},
    {"evaluation.keep", "the last round may be the best"},
    {"stop.patience", "every round may be better than the one before"},
    {"stop.min-delta", "the same"},
    {"training.mode", "a client alone trains the same way, and so does a group of which one takes part"},
    {"plan.sampling", "all groups may take part"},
    {"aggregation.global", "one group's slot is the shared model of a federation of one group",
     [](const Recipe& r) { return r.local.objective.name == "dynamic"; }},
    {"plan.sample-groups", "there may be one group only", forms_groups},
    {"aggregation.mixing", "the same", [](const Recipe& r) { return !r.grouping.groups && !r.grouping.size; }},
    {"aggregation.shared", "there may be one group only"},
    {"aggregation.trim", "of a few models none may be taken away by either share"},
    {"aggregation.attackers", "of a few models the median is taken, whatever the share"},
    {"aggregation.norm", "two models are as far from their mean as each other, by any norm",
     [](const Recipe& r) { return r.grouping.method == "bipartition"; }},
    {"local.objective", "a proximal term is zero in the first step",
     [](const Recipe& r) { return r.local.steps == 1u; }},
    {"local.lambda", "so is a discrepancy", [](const Recipe& r) { return r.local.steps == 1u; }},
    {"local.share-smoothing", "so is the slope of a share", [](const Recipe& r) { return r.local.steps == 1u; }},
    {"secure.threshold", "the same number of a few members may be either share of them"},
    {"secure.neighbours", "groups may be smaller"},
    {"faults.stragglers", "the few stragglers may be drawn in no round"},
};

// How a method goes about its groups: of a dozen clients it may find the same ones.
constexpr const char* kWaysToTheSameGroups[] = {"rows",    "score",    "first",        "clusters",   "max-iterations",
                                                "max-cov", "tail",     "metric",       "linkage",    "threshold",
                                                "min-gap", "weighted", "epsilon-mean", "epsilon-max"};

bool is_quiet(const std::string& name, const Recipe& recipe) {
  // Of a simulation nobody is late or gone but by its faults.
  return name.starts_with("deployment.") ||
         std::ranges::any_of(kQuiet, [&](const Quiet& quiet) { return name == quiet.key && quiet.where(recipe); }) ||
         std::ranges::any_of(kWaysToTheSameGroups,
                             [&](const char* key) { return name == std::string("grouping.") + key; });
}

class AnyKey : public SimulationTest, public testing::WithParamInterface<std::uint32_t> {
 protected:
  std::optional<Records> records(const Recipe& recipe) {
    const auto summary = simulate(recipe, options());
    if (!summary) return std::nullopt;
    Records left = records_of(*summary);
    std::filesystem::remove_all(summary->dir);
    return left;
  }
  static Settings with(Settings settings, const std::string& key, const std::string& value) {
    std::erase_if(settings, [&](const std::string& setting) { return setting.starts_with(key + "="); });
    settings.push_back(key + "=" + value);
    return settings;
  }
  // A composition that trains in all of its rounds: nothing ends it early, and most clients answer.
  static Settings composition(std::uint32_t number) {
    Settings settings = RandomComposition(number).draw();
    std::erase_if(settings, [](const std::string& setting) {
      return setting.starts_with("budget=") || setting.starts_with("target-accuracy=");
    });
    settings = with(settings, "local.learning-rate", "0.1");
    settings = with(settings, "rounds", "4");
    if (std::ranges::find(settings, "faults.drop=0.9") != settings.end())
      settings = with(settings, "faults.drop", "0.3");
    return settings;
  }
};

// Every composition is tried with a part of the keys, so that there is time for many.
constexpr std::uint32_t kParts = 3;
INSTANTIATE_TEST_SUITE_P(, AnyKey, testing::Range(0u, 18u));

TEST_P(AnyKey, ThatAppliesCanChangeSomeRecord) {
  const Settings settings = composition(7000 + GetParam());
  if (!check_settings(settings).ok()) GTEST_SKIP() << "needs what was taken out";
  const Recipe recipe = recipe_of({settings});
  const auto before = records(recipe);
  if (!before) GTEST_SKIP() << "does not fit its data";
  std::string without_effect;
  std::uint32_t number = 0;
  for (const Key& key : recipe_key_table()) {
    const std::string name = full_name(key.info);
    if (++number % kParts != GetParam() % kParts || is_quiet(name, recipe) || failing_condition(key, recipe)) continue;
    std::string tried;
    bool changed = false;
    const std::vector<std::string> values = small_values(key.info);
    for (std::size_t i = 0; i < values.size() && !changed; ++i) {
      const Settings other = with(settings, name, values[(i + GetParam()) % values.size()]);
      if (!check_settings(other).ok()) continue;
      const Recipe variant = recipe_of({other});
      if (variant == recipe) continue;
      const auto after = records(variant);
      if (!after) continue;
      tried += " " + key.get(variant);
      changed = *after != *before;
    }
    if (!changed && !tried.empty()) without_effect += fmt::format("{} = {}, also as{}; ", name, key.get(recipe), tried);
  }
  EXPECT_EQ(without_effect, "") << format_recipe(recipe);
}

}  // namespace
}  // namespace muster
