#include "recipe/catalogue.h"

#include <algorithm>

#include "recipe/choices.h"
#include "recipe/composition.h"
#include "recipe/keys.h"
#include "recipe/tasks.h"
#include "recipe/toml_text.h"
#include "solver/learning_rate.h"

namespace muster {
namespace {

// The keys that say of themselves that they belong to this word of the choice. Those of the choice's own section go by
// their short names.
std::vector<std::string> keys_of(const std::string& choice, const std::string& word) {
  std::vector<std::string> names;
  const std::string section = choice.substr(0, choice.find('.'));
  for (const Key& key : recipe_key_table()) {
    const bool belongs = std::ranges::any_of(key.conditions, [&](const Condition& condition) {
      return condition.choice == choice && std::ranges::find(condition.words, word) != condition.words.end();
    });
    if (belongs) names.push_back(key.info.section == section ? key.info.key : full_name(key.info));
  }
  return names;
}

template <typename Entries>
CatalogueStage stage_of(const char* name, const char* choice, const Entries& entries) {
  CatalogueStage stage{.name = name, .entries = {}};
  for (const auto& entry : entries) stage.entries.push_back({entry.name, entry.summary, keys_of(choice, entry.name)});
  return stage;
}

}  // namespace

Result<std::vector<CatalogueStage>> catalogue() {
  std::vector<CatalogueStage> stages;

  CatalogueStage recipes{.name = "recipes", .entries = {}};
  for (const BuiltInRecipe& built_in : built_in_recipes()) {
    MUSTER_ASSIGN(const Recipe recipe, load_recipe(std::string(built_in.name)));
    recipes.entries.push_back({recipe.name, recipe.summary, {}});
  }
  stages.push_back(std::move(recipes));

  CatalogueStage tasks{.name = "tasks", .entries = {}};
  for (const BuiltInTask& built_in : built_in_tasks()) {
    MUSTER_ASSIGN(const toml::table task, parse_toml(built_in.toml, built_in.name));
    tasks.entries.push_back({std::string(built_in.name), task["summary"].value_or(std::string()), {}});
  }
  stages.push_back(std::move(tasks));

  stages.push_back({"data", data_sources()});
  stages.push_back({"partitions", partitions()});
  stages.push_back(stage_of("models", "model.name", model_catalogue()));
  // In the order in which the network lists them.
  const auto models = model_catalogue();
  for (CatalogueEntry& entry : stages.back().entries) entry.keys = find_entry(models, entry.name)->keys;

  CatalogueStage profiles{.name = "profile", .entries = {}};
  for (const ProfileEntry& entry : profile_kinds()) {
    profiles.entries.push_back(
        {entry.name, fmt::format("{}; bytes: {}; reveals {}", entry.summary, entry.bytes, entry.reveals), entry.keys});
  }
  stages.push_back(std::move(profiles));
  stages.push_back(stage_of("grouping", "grouping.method", groupers()));
  stages.push_back({"plan", samplers()});
  stages.push_back({"growth", growths()});
  stages.push_back(stage_of("regroup", "plan.regroup-on", regroup_events()));
  stages.push_back(stage_of("training", "training.mode", training_modes()));
  stages.push_back(stage_of("objective", "local.objective", objectives()));
  stages.push_back(stage_of("optimizer", "local.optimizer", optimizers()));
  stages.push_back(stage_of("schedule", "local.schedule", schedules()));
  stages.push_back(stage_of("aggregation", "aggregation.global", aggregations()));
  CatalogueStage in_group{.name = "in-group", .entries = {}};
  for (const InGroupEntry& entry : in_group_choices()) {
    in_group.entries.push_back({entry.name, entry.summary, entry.keys});
  }
  stages.push_back(std::move(in_group));
  stages.push_back(stage_of("attack", "attack.kind", attacks()));
  stages.push_back(stage_of("evaluation", "evaluation.on", evaluation_targets()));
  stages.push_back(stage_of("newcomers", "newcomers.assign", newcomer_rules()));
  stages.push_back({"cost", cost_models()});
  stages.push_back({"metrics",
                    {{"accuracy", "share of test samples classified correctly", {}},
                     {"loss", "mean cross-entropy on test samples", {}},
                     {"worst", "accuracy of the client that fares worst on its own test samples", {}},
                     {"p10", "accuracy that 90 % of the clients reach; so p50 and p90 for 50 % and 10 %", {}},
                     {"macro_f1", "mean over classes of F1, the harmonic mean of precision and recall", {}},
                     {"auc", "area under the ROC curve, of two classes", {}},
                     {"cov_mean", "coefficient of variation of label counts in a group, mean over groups", {}},
                     {"cpd_median", "class probability distance between groups, median over pairs", {}},
                     {"balance_ratio", "rarest over most frequent class in a group, mean over groups", {}},
                     {"covered_classes", "share of classes a group has, mean over groups", {}},
                     {"qcid_mean", "squared distance of class shares from uniform, mean over groups", {}},
                     {"emd_mean", "distance of a group's class shares from those of all groups, mean over groups", {}},
                     {"adjusted_rand", "agreement of groups with known clusters, 0 by chance, 1 if equal", {}},
                     {"mutual_information", "the same, in shared information, 0 to 1", {}}}});

  CatalogueStage keys{.name = "keys", .entries = {}};
  std::vector<RecipeKey> all = composing_keys();
  std::ranges::move(recipe_keys(), std::back_inserter(all));
  for (const RecipeKey& key : all) {
    std::string line = fmt::format("{}; {}", key.summary, key.accepted);
    if (!key.unit.empty()) line += fmt::format("; in {}", key.unit);
    line += fmt::format("; default: {}", key.otherwise);
    if (!key.applies.empty()) line += fmt::format("; only with {}", key.applies);
    keys.entries.push_back({full_name(key), std::move(line), {}});
  }
  stages.push_back(std::move(keys));
  return stages;
}

std::string keys_markdown() {
  // A bar would end the cell.
  const auto cell = [](std::string text) {
    for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) text.insert(at, "\\");
    return text;
  };
  std::string out =
      "# Keys of a recipe\n\n"
      "Every key that a recipe or `--set section.key=value` may give, made by `muster list keys --markdown`. A key "
      "that\n"
      "is given where the last column does not hold is an error: it would have no effect. A key of a recipe file that\n"
      "loses its meaning to a `--set` gives way silently, and so does what a base or a task says.\n\n"
      "## Composition\n\n"
      "A recipe's own keys beat those of its task, which beat those of its base. What comes of it is written without\n"
      "these keys.\n\n"
      "| key | meaning | accepted | default | applies with |\n|---|---|---|---|---|\n";
  for (const RecipeKey& key : composing_keys()) {
    out += fmt::format("| `{}` | {} | {} | {} | {} |\n", full_name(key), cell(key.summary), cell(key.accepted),
                       cell(key.otherwise), cell(key.applies));
  }
  const std::string* section = nullptr;
  for (const Key& key : recipe_key_table()) {
    const RecipeKey& info = key.info;
    if (!section || *section != info.section) {
      section = &info.section;
      out += info.section.empty() ? "\n## Top level\n\n" : fmt::format("\n## [{}]\n\n", info.section);
      out += "| key | meaning | accepted | unit | default | applies with |\n|---|---|---|---|---|---|\n";
    }
    out += fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", info.key, cell(info.summary), cell(info.accepted),
                       info.unit, cell(info.otherwise), info.applies.empty() ? "always" : cell(info.applies));
  }
  return out;
}

}  // namespace muster
