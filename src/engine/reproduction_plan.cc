#include "engine/reproduction_plan.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "data/catalogue.h"
#include "recipe/keys.h"
#include "recipe/tasks.h"

namespace muster {
namespace {

Result<bool> is_here(const std::string& source) {
  MUSTER_ASSIGN(const SourceState state, source_state(source));
  return state.kind == SourceKind::kGenerated || state.found.has_value();
}

// What stands in for the setting's data; null = nothing, they are here. Smoke runs use what needs no files, so that
// they are the same everywhere.
Result<const StandIn*> stand_in_for(const PaperSetting& setting, Scale scale) {
  if (setting.needs.empty()) return nullptr;
  if (scale == Scale::kSmoke) return &setting.stand_ins.back();
  MUSTER_ASSIGN(const bool own, is_here(setting.needs));
  if (own) return nullptr;
  for (const StandIn& stand_in : setting.stand_ins) {
    if (stand_in.needs.empty()) return &stand_in;
    MUSTER_ASSIGN(const bool here, is_here(stand_in.needs));
    if (here) return &stand_in;
  }
  return &setting.stand_ins.back();
}

RecipeLayers layers_at(const Target& target, const PaperSetting& setting, const StandIn* stand_in, Scale scale) {
  RecipeLayers layers = setting.keys;
  if (stand_in) add_layers(layers, stand_in->keys);
  add_layers(layers, setting.at[static_cast<std::size_t>(scale)]);
  add_layers(layers, target.scales[static_cast<std::size_t>(scale)].keys);
  return layers;
}

Result<Recipe> recipe_of(const TargetRow& row, const PaperSetting& setting, RecipeLayers layers) {
  for (const auto& [method, keys] : setting.methods) {
    if (method == row.method) add_layers(layers, keys);
  }
  MUSTER_ASSIGN(Recipe recipe, load_recipe_on(row.method, layers));
  for (const std::string& own : row.settings) MUSTER_TRY(apply_setting(recipe, own));
  const double rounds = std::max(1.0, std::round(row.rounds_share * recipe.rounds));
  if (row.rounds_share < 1) MUSTER_TRY(apply_setting(recipe, fmt::format("rounds={}", rounds)));
  return recipe;
}

std::string value_or_default(const Key& key, const Recipe& recipe) {
  const std::string value = key.get(recipe);
  return value.empty() ? "not set" : value;
}

// "data.source \"emnist\" for \"femnist\"": keys of the task that differ.
std::vector<std::string> differences(const Recipe& ours, const Recipe& paper) {
  std::vector<std::string> found;
  for (const Key& key : recipe_key_table()) {
    if (!belongs_to_task(key.info) || key.info.key == "seed") continue;
    const std::string here = value_or_default(key, ours);
    const std::string there = value_or_default(key, paper);
    if (here != there) found.push_back(fmt::format("{} {} (paper: {})", full_name(key.info), here, there));
  }
  return found;
}

bool has_recipe(const std::string& method) {
  const std::span<const BuiltInRecipe> built_in = built_in_recipes();
  return std::ranges::find(built_in, method, &BuiltInRecipe::name) != built_in.end();
}

// Which of the entries a scale has: all, or the chosen ones. The others go to `left_out`.
template <typename Entries>
std::vector<bool> chosen(const Entries& entries, const std::vector<std::string>& names,
                         std::vector<std::string>& left_out) {
  std::vector<bool> taken;
  for (const auto& entry : entries) {
    taken.push_back(names.empty() || std::ranges::find(names, entry.name) != names.end());
    if (!taken.back()) left_out.push_back(entry.name);
  }
  return taken;
}

// Settings that differ in the same are named together.
void note_difference(ReproductionPlan& plan, const std::string& title, const std::string& what) {
  for (std::string& line : plan.differs) {
    if (!line.ends_with(": " + what)) continue;
    line.insert(line.size() - what.size() - 2, "; " + title);
    return;
  }
  plan.differs.push_back(fmt::format("{}: {}", title, what));
}

// The runs of a block's setting; what differs from the paper goes to the plan.
Status plan_setting(const Target& target, Scale scale, std::size_t block, const PaperSetting& setting,
                    ReproductionPlan& plan) {
  MUSTER_ASSIGN(const StandIn* const stand_in, stand_in_for(setting, scale));
  const RecipeLayers layers = layers_at(target, setting, stand_in, scale);
  if (stand_in) plan.block_notes[block] = stand_in->note;
  bool first = true;
  for (std::size_t r = 0; r < target.rows.size(); ++r) {
    const TargetRow& row = target.rows[r];
    if (!plan.rows[r] || !plan.row_notes[r].empty()) continue;
    const std::string label = fmt::format("{}: {}: {}", target.name, setting.name, row.name);
    Result<Recipe> recipe = recipe_of(row, setting, layers);
    if (!recipe) return std::move(recipe).error().within(label);
    if (first) {
      MUSTER_ASSIGN(const Recipe paper, recipe_of(row, setting, setting.keys));
      const std::vector<std::string> differ = differences(*recipe, paper);
      if (!differ.empty()) note_difference(plan, setting.title, fmt::format("{}", fmt::join(differ, ", ")));
      first = false;
    }
    if (Status status = check_recipe(*recipe); !status) return std::move(status).error().within(label);
    for (const std::uint64_t seed : target.scales[static_cast<std::size_t>(scale)].seeds) {
      Recipe seeded = *recipe;
      MUSTER_TRY(apply_setting(seeded, fmt::format("seed={}", seed)));
      plan.runs.push_back(
          {.block = block, .row = r, .setting = setting.name, .label = label, .recipe = std::move(seeded)});
    }
  }
  return {};
}

}  // namespace

std::vector<std::string> missing_methods(const Target& target) {
  std::vector<std::string> missing;
  for (const TargetRow& row : target.rows) {
    if (!has_recipe(row.method) && std::ranges::find(missing, row.method) == missing.end())
      missing.push_back(row.method);
  }
  return missing;
}

Result<ReproductionPlan> plan_reproduction(const Target& target, Scale scale) {
  ReproductionPlan plan;
  const TargetScale& at = target.scales[static_cast<std::size_t>(scale)];
  plan.blocks = chosen(target.blocks, at.blocks, plan.left_out);
  plan.rows = chosen(target.rows, at.rows, plan.left_out);
  for (const TargetRow& row : target.rows) {
    plan.row_notes.push_back(has_recipe(row.method) ? "" : fmt::format("no recipe yet: {}", row.method));
  }
  plan.block_notes.resize(target.blocks.size());
  for (std::size_t b = 0; b < target.blocks.size(); ++b) {
    for (const std::string& setting : target.blocks[b].settings) {
      if (plan.blocks[b]) MUSTER_TRY(plan_setting(target, scale, b, target.setting(setting), plan));
    }
  }
  return plan;
}

}  // namespace muster
