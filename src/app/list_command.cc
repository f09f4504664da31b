// `muster list` and `muster show`: what can be chosen, and what a recipe resolves to.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "app/commands.h"
#include "base/names.h"
#include "recipe/catalogue.h"
#include "recipe/fit_to_data.h"
#include "recipe/method_defaults.h"
#include "recipe/recipe.h"
#include "record/json_text.h"

namespace muster {
namespace {

struct ListArguments {
  std::string stage;
  bool json = false;
  bool markdown = false;
};

Status list(const ListArguments& arguments) {
  if (arguments.markdown) {
    if (arguments.stage != "keys") return usage_error("--markdown works only with `muster list keys`");
    fmt::print("{}", keys_markdown());
    return {};
  }
  MUSTER_ASSIGN(std::vector<CatalogueStage> stages, catalogue());
  if (!arguments.stage.empty()) {
    std::vector<std::string> names;
    for (const auto& stage : stages) names.push_back(stage.name);
    std::erase_if(stages, [&](const CatalogueStage& stage) { return stage.name != arguments.stage; });
    if (stages.empty()) return Error{ErrorCode::kUsage, unknown_name("stage", arguments.stage, names)};
  }
  if (arguments.json) {
    nlohmann::ordered_json all = nlohmann::ordered_json::object();
    for (const auto& stage : stages) {
      all[stage.name] = nlohmann::ordered_json::array();
      for (const auto& entry : stage.entries) {
        all[stage.name].push_back({{"name", entry.name}, {"summary", entry.summary}, {"keys", entry.keys}});
      }
    }
    fmt::print("{}\n", json_text(all));
    return {};
  }
  for (const auto& stage : stages) {
    fmt::print("{}\n", stage.name);
    for (const auto& entry : stage.entries) {
      fmt::print("  {:<26} {}\n", entry.name, entry.summary);
      if (!entry.keys.empty()) fmt::print("  {:<26}   keys: {}\n", "", fmt::join(entry.keys, ", "));
    }
    fmt::print("\n");
  }
  return {};
}

struct ShowArguments {
  std::string recipe;
  std::string task;
  std::vector<std::string> settings;
  bool all = false;
};

// With what the data decide, if they are on this machine; notes for people.
std::vector<std::string> resolve(Recipe& recipe) {
  const auto data = make_federated_data(recipe.data, recipe.data_seed.value_or(recipe.seed));
  if (!data) {
    fill_in_defaults(recipe, 0);
    return {fmt::format("what depends on the data is not filled in: {}", data.error().message)};
  }
  auto notes = settle_recipe(recipe, **data);
  if (!notes) return {fmt::format("will be refused: {}", notes.error().message)};
  notes->push_back((*data)->summary());
  if (const auto network =
          make_network(recipe.model, (*data)->shape(), (*data)->classes(), fusion_of(recipe.local.objective))) {
    std::istringstream lines(describe_network(**network));
    for (std::string line; std::getline(lines, line);) notes->push_back(line);
  }
  return std::move(*notes);
}

Status show(const ShowArguments& arguments) {
  MUSTER_ASSIGN(Recipe recipe, load_recipe(arguments.recipe, arguments.task));
  for (const std::string& setting : arguments.settings) MUSTER_TRY(apply_setting(recipe, setting));
  MUSTER_TRY(check_recipe(recipe));
  const std::vector<std::string> notes = resolve(recipe);
  fmt::print("# {}\n", describe_recipe(recipe));
  for (const std::string& note : notes) fmt::print("# {}\n", note);
  for (const std::string& note : recipe_notes(recipe)) fmt::print("# note: {}\n", note);
  fmt::print("{}", format_recipe(recipe, arguments.all));
  return {};
}

}  // namespace

void add_list_command(Command program) {
  auto arguments = std::make_shared<ListArguments>();
  Command command = program.add_command("list", "List what recipes can choose from, one line each");
  command.add_option("stage", arguments->stage, "recipes, data, partitions, models, keys, ...; default: all");
  command.add_flag("--json", arguments->json, "As one JSON object");
  command.add_flag("--markdown", arguments->markdown, "With keys: the table of docs/keys.md");
  command.set_footer("Examples:\n  muster list recipes\n  muster list keys\n  muster list --json");
  command.set_action([arguments] { return list(*arguments); });
}

void add_show_command(Command program) {
  auto arguments = std::make_shared<ShowArguments>();
  Command command =
      program.add_command("show", "Print a recipe as TOML, defaults included, and say in words what it does");
  command.add_option("recipe", arguments->recipe, "A built-in recipe or a .toml file").required();
  command.add_option("--task", arguments->task, "A built-in task (see `muster list tasks`) or a .toml file");
  command.add_option("--set", arguments->settings, "section.key=value, repeatable").one_at_a_time();
  command.add_flag("--all", arguments->all, "Also list, as comments, the keys that have no effect or are not set");
  command.set_footer("Example:\n  muster show fedprox --set local.mu=0.1 > my.toml");
  command.set_action([arguments] { return show(*arguments); });
}

}  // namespace muster
