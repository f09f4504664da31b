#include "recipe/recipe.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/file.h"
#include "base/names.h"
#include "recipe/choices.h"
#include "recipe/composition.h"
#include "recipe/fit_to_data.h"
#include "recipe/keys.h"
#include "recipe/tasks.h"
#include "recipe/toml_text.h"

namespace muster {
namespace {

// What people type who know other tools, for the hint only.
struct Synonym {
  std::string_view typed;  // the last part, in lower case
  std::string_view key;
};
constexpr Synonym kSynonyms[] = {
    {"lr", "local.learning-rate"},
    {"eta", "local.learning-rate"},
    {"learning_rate", "local.learning-rate"},
    {"client-lr", "local.learning-rate"},
    {"server-lr", "aggregation.server-learning-rate"},
    {"slr", "aggregation.server-learning-rate"},
    {"lr-decay", "local.learning-rate-decay"},
    {"gamma", "local.learning-rate-decay"},
    {"bs", "local.batch-size"},
    {"b", "local.batch-size"},
    {"batch", "local.batch-size"},
    {"e", "local.epochs"},
    {"local-epochs", "local.epochs"},
    {"k", "data.clients"},
    {"n", "data.clients"},
    {"num-clients", "data.clients"},
    {"n-clients", "data.clients"},
    {"clients-per-round", "plan.sample-clients"},
    {"c", "plan.sample-clients"},
    {"fraction", "plan.sample-clients"},
    {"frac", "plan.sample-clients"},
    {"participation", "plan.sample-clients"},
    {"t", "rounds"},
    {"r", "rounds"},
    {"num-rounds", "rounds"},
    {"comm-rounds", "rounds"},
    {"wd", "local.weight-decay"},
    {"l2", "local.weight-decay"},
    {"opt", "local.optimizer"},
    {"loss", "local.objective"},
    {"algorithm", "aggregation.global"},
    {"strategy", "aggregation.global"},
    {"dataset", "data.source"},
    {"split-by", "data.partition"},
    {"noniid", "data.partition"},
    {"concentration", "data.alpha"},
    {"dirichlet-alpha", "data.alpha"},
    {"arch", "model.name"},
    {"network", "model.name"},
    {"num-groups", "grouping.groups"},
    {"num-clusters", "grouping.groups"},
    {"dp-epsilon", "profile.epsilon"},
    {"dropout", "faults.drop"},
    {"random-seed", "seed"},
};

std::string key_for_synonym(std::string_view typed) {
  std::string last(typed.substr(typed.rfind('.') + 1));
  for (char& c : last) c = c == '_' ? '-' : static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  for (const Synonym& synonym : kSynonyms) {
    if (synonym.typed == last) return std::string(synonym.key);
  }
  return {};
}

Error unknown_key(std::string_view typed) {
  std::vector<std::string> names;
  for (const Key& key : recipe_key_table()) names.push_back(full_name(key.info));
  const std::string last(typed.substr(typed.rfind('.') + 1));
  std::string near = key_for_synonym(typed);
  if (near.empty() && typed.size() < 100) near = nearest_name(typed, names);  // whose time grows with the length
  if (near.empty()) {
    // A misplaced key is as likely as a misspelt one: look for the same last part in other sections.
    for (const Key& key : recipe_key_table()) {
      if (key.info.key == last) near = full_name(key.info);
    }
  }
  if (near.empty()) return usage_error("{}: unknown key; `muster list keys` shows all", shown_name(typed));
  return usage_error("{}: unknown key, did you mean '{}'?", shown_name(typed), near);
}

GivenKey* find_given(Recipe& recipe, std::string_view name) {
  const auto found = std::ranges::find(recipe.given, name, &GivenKey::key);
  return found == recipe.given.end() ? nullptr : &*found;
}

Status give(Recipe& recipe, const std::string& name, const toml::node& node, GivenKey given) {
  const Key* const key = find_key(name);
  if (!key) return unknown_key(name);
  if (Status status = key->set(recipe, node); !status) return std::move(status).error().within(name);
  given.key = name;
  given.value = key->get(recipe);
  if (GivenKey* const before = find_given(recipe, name)) {
    *before = std::move(given);
  } else {
    recipe.given.push_back(std::move(given));
  }
  return {};
}

Status give_participation(Recipe& recipe, const toml::node& node, GivenKey given) {
  const auto share = node.value<double>();
  if (!share || node.is_boolean() || !(*share > 0 && *share <= 1)) {
    return usage_error("{}: {}, want a share in (0, 1]", kParticipation, shown_value(node));
  }
  const char* const drawn = recipe.plan.sample_groups ? "plan.sample-groups" : "plan.sample-clients";
  return give(recipe, drawn, toml::value<double>(*share), std::move(given));
}

std::string joined(std::string_view section, std::string_view key) {
  return section.empty() ? std::string(key) : fmt::format("{}.{}", section, key);
}

// Whoever brings files of their own is not asked to undo how the recipe divides its data set: with a client column the
// clients are those, unless a setting says otherwise.
bool divides_other_data(const Recipe& recipe, const std::string& key) {
  static constexpr std::string_view kOfAnyPartition[] = {
      "data.partition", "data.test-fraction",    "data.merge-test", "data.edges",
      "data.augment",   "data.augment-minority", "evaluation.on"};
  if (!brings_own_data(recipe) || set_by_user(recipe, key)) return false;
  if (std::ranges::find(kOfAnyPartition, key) != std::end(kOfAnyPartition)) return true;
  return std::ranges::any_of(partitions(), [&](const CatalogueEntry& law) {
    return std::ranges::any_of(law.keys, [&](const std::string& own) { return "data." + own == key; });
  });
}

// A path that is not absolute is looked up in `beside`, then in the working folder. What is found is kept as an
// absolute path, so that the recipe means the same wherever it is run again.
void resolve_path(Recipe& recipe, const char* key, std::string& path, const std::filesystem::path& beside) {
  if (path.empty() || std::filesystem::path(path).is_absolute()) return;
  for (const std::filesystem::path& folder : {beside, std::filesystem::path()}) {
    std::error_code error;
    const std::filesystem::path found = std::filesystem::absolute(folder / path, error).lexically_normal();
    if (error || !std::filesystem::exists(found, error) || !is_utf8(found.string())) continue;
    path = found.string();
    if (GivenKey* const given = find_given(recipe, key)) given->value = find_key(key)->get(recipe);
    return;
  }
}
void resolve_paths(Recipe& recipe, const std::filesystem::path& beside) {
  resolve_path(recipe, "data.path", recipe.data.path, beside);
  resolve_path(recipe, "data.embedding", recipe.data.embedding, beside);
  resolve_path(recipe, "model.path", recipe.model.path, beside);
  resolve_path(recipe, "cost.file", recipe.cost.file, beside);
}

}  // namespace

Recipe::Recipe() = default;
Recipe::Recipe(const Recipe&) = default;
Recipe::Recipe(Recipe&&) noexcept = default;
Recipe& Recipe::operator=(const Recipe&) = default;
Recipe& Recipe::operator=(Recipe&&) noexcept = default;
Recipe::~Recipe() = default;

bool operator==(const Recipe& a, const Recipe& b) {
  return std::ranges::all_of(recipe_key_table(), [&](const Key& key) { return key.get(a) == key.get(b); });
}

std::vector<RecipeKey> recipe_keys() {
  std::vector<RecipeKey> result;
  for (const Key& key : recipe_key_table()) result.push_back(key.info);
  return result;
}

namespace {

Status give_layer(Recipe& recipe, const RecipeLayer& layer) {
  MUSTER_ASSIGN(const toml::table document, parse_toml(layer.toml, layer.origin));
  const bool task = layer.by == GivenKey::By::kTask;
  const auto give_one = [&](const std::string& name, const toml::node& node) -> Status {
    const std::string where = fmt::format("{}:{}", layer.origin, node.source().begin.line);
    GivenKey given{.key = {}, .by = layer.by, .value = {}, .where = where, .built_in = layer.built_in};
    const Key* const key = find_key(name);
    Status status;
    if (name == kParticipation) {
      status = give_participation(recipe, node, std::move(given));
    } else if (task && key && !belongs_to_task(key->info)) {
      status = usage_error("{}: belongs to a method, which a task is for any of", name);
    } else {
      status = give(recipe, name, node, std::move(given));
    }
    if (!status) return std::move(status).error().within(where);
    return {};
  };
  for (const auto& [name, node] : document) {
    const bool is_section = std::ranges::any_of(
        recipe_key_table(), [n = name.str()](const Key& key) { return key.info.section == n && !n.empty(); });
    if (names_a_layer(name.str()) || (task && (name.str() == "name" || name.str() == "summary"))) continue;
    if (const toml::table* section = node.as_table(); section && is_section) {
      for (const auto& [key, value] : *section) MUSTER_TRY(give_one(joined(name.str(), key.str()), value));
    } else if (name.str().find('.') != std::string_view::npos) {  // in quotes: no way to write a section's key
      return unknown_key(name.str()).within(fmt::format("{}:{}", layer.origin, node.source().begin.line));
    } else {
      MUSTER_TRY(give_one(std::string(name.str()), node));
    }
  }
  return {};
}

Result<Recipe> from_layers(const Composition& composition) {
  Recipe recipe;
  for (const RecipeLayer& layer : composition.layers) {
    MUSTER_TRY(give_layer(recipe, layer));
    if (!layer.built_in && !layer.folder.empty()) resolve_paths(recipe, layer.folder);
  }
  recipe.task = composition.task;
  // What the file itself gives must mean something; what it starts from gives way.
  for (GivenKey& given : recipe.given) given.applied = given.by != GivenKey::By::kFile;
  give_way(recipe);
  for (GivenKey& given : recipe.given) {
    given.applied = given.gave_way || !failing_condition(*find_key(given.key), recipe);
  }
  recipe.data.fewer_exemplars = brings_own_data(recipe) && !set_by_user(recipe, "data.exemplars");
  return recipe;
}

}  // namespace

Result<Recipe> parse_recipe(std::string_view text, std::string_view origin) {
  MUSTER_ASSIGN(const Composition composition,
                compose({.by = GivenKey::By::kFile, .toml = std::string(text), .origin = std::string(origin)}, ""));
  return from_layers(composition);
}

Result<Recipe> load_recipe(const std::string& name_or_path, const std::string& task) {
  MUSTER_ASSIGN(const Composition composition, compose_named(name_or_path, task));
  return from_layers(composition);
}

Result<Recipe> load_recipe_on(const std::string& name_or_path, std::span<const RecipeLayer> layers) {
  MUSTER_ASSIGN(const Composition composition, compose_on(name_or_path, layers));
  return from_layers(composition);
}

Status apply_setting(Recipe& recipe, std::string_view setting) {
  const auto equals = setting.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    return usage_error("--set {}: want section.key=value, e.g. local.epochs=2", shown_name(setting));
  }
  const std::string name(setting.substr(0, equals));
  const std::string value(setting.substr(equals + 1));
  if (!is_utf8(setting)) return usage_error("--set: {}: the value is not UTF-8 text", shown_name(name));

  toml::table holder;
  if (auto parsed = parse_toml("value = " + value + "\n", ""); parsed && parsed->size() == 1) {
    holder = std::move(*parsed);
  }
  if (!holder.contains("value")) {  // a bare word is a string
    holder.clear();
    holder.insert("value", value);
  }
  GivenKey given{.key = {}, .by = GivenKey::By::kSetting, .value = {}, .where = "--set"};
  const toml::node& node = *holder.get("value");
  if (names_a_layer(name)) return usage_error("--set: {}: is no setting; want it in a recipe's file, or --task", name);
  if (Status status = name == kParticipation ? give_participation(recipe, node, std::move(given))
                                             : give(recipe, name, node, std::move(given));
      !status) {
    return std::move(status).error().within("--set");
  }
  resolve_paths(recipe, {});
  give_way(recipe);
  recipe.data.fewer_exemplars = brings_own_data(recipe) && !set_by_user(recipe, "data.exemplars");
  return {};
}

void give_way(Recipe& recipe) {
  // Of two keys that say the same in two ways, the one that was given earlier is taken back for good.
  for (const Key& key : recipe_key_table()) {
    if (key.instead_of.empty()) continue;
    const std::string name = full_name(key.info);
    const GivenKey* const one = find_given(recipe, name);
    const GivenKey* const other = find_given(recipe, key.instead_of);
    if (!one || !other || one->by == other->by) continue;
    const std::string taken_back = one->by < other->by ? name : key.instead_of;
    find_key(taken_back)->reset(recipe);
    std::erase_if(recipe.given, [&](const GivenKey& given) { return given.key == taken_back; });
  }
  // What gave way before comes back; then what has no meaning is reset. That may take away the meaning
  // of another key, so go on until nothing changes: every pass but the last resets a key.
  for (GivenKey& given : recipe.given) {
    if (!std::exchange(given.gave_way, false)) continue;
    const auto document = parse_toml("value = " + given.value + "\n", "");
    MUSTER_CHECK(document.ok() && document->contains("value"), "{} = {} was read before", given.key, given.value);
    const Status status = find_key(given.key)->set(recipe, *document->get("value"));
    MUSTER_CHECK(status.ok(), "{} = {} was set before", given.key, given.value);
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (GivenKey& given : recipe.given) {
      if (given.by == GivenKey::By::kSetting || !given.applied || given.gave_way || given.value.empty()) continue;
      const Key& key = *find_key(given.key);
      if (!failing_condition(key, recipe) && !divides_other_data(recipe, given.key)) continue;
      key.reset(recipe);
      given.gave_way = changed = true;
    }
  }
}

std::string newcomer_rule_of(const Recipe& recipe) {
  if (!recipe.newcomers.assign.empty()) return recipe.newcomers.assign;
  if (seeds_models(recipe)) return joined_by(recipe);
  return recipe.plan.regroup.on.empty() ? "next-regroup" : "argmin-loss";
}

std::span<const std::string_view> resumable_keys() {
  static constexpr std::string_view keys[] = {"rounds", "target-accuracy", "budget", "stop.patience",
                                              "checkpoint-every"};
  return keys;
}

std::string format_recipe(const Recipe& recipe, bool all) {
  std::string out;
  std::string section;
  for (const Key& key : recipe_key_table()) {
    const Condition* const failing = failing_condition(key, recipe);
    const std::string value = key.get(recipe);
    if (!all && (failing || value.empty())) continue;
    if (key.info.section != section) {
      section = key.info.section;
      out += fmt::format("\n[{}]\n", section);
    }
    if (failing) {
      out += fmt::format("# {}: {}\n", key.info.key, why_no_effect(*failing, recipe));
    } else if (value.empty()) {
      out += fmt::format("# {}: not set, which means: {}\n", key.info.key, key.info.otherwise);
    } else {
      out += fmt::format("{} = {}\n", key.info.key, value);
    }
  }
  return out;
}

}  // namespace muster
