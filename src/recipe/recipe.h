// Recipe: every choice of a run, as typed options. Read from TOML (a file, or a recipe built into the binary) and from
// `section.key=value` settings; written back fully resolved. One table of keys (keys.cc) drives reading, writing,
// checking and listing.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate/aggregator.h"
#include "data/federated_data.h"
#include "cost/cost.h"
#include "grouping/grouping.h"
#include "model/network.h"
#include "plan/plan.h"
#include "profile/profile.h"
#include "solver/local_solver.h"
#include "train/group_trainer.h"

namespace muster {

struct EvaluationOptions {
  std::uint32_t every = 1;  // rounds
  std::string on =
      "auto";           // global | clients | both | auto: global if there is a global test set, else clients, else none
  Amount clients{1.0};  // how many clients are asked for their own test accuracy
  bool discrepancy = false;
};

// The [newcomers] section: clients that come when groups are there already.
struct NewcomerOptions {
  std::string assign;                  // see newcomer_rules(); "" = what newcomer_rule_of() says
  std::optional<std::uint32_t> round;  // before it, `clients` of the clients are not there
  Amount clients{0.1};
};

struct Recipe {
  std::string name = "custom";
  std::string summary;
  std::uint32_t rounds = 100;
  std::uint64_t seed = 1;
  std::optional<double> target_accuracy;
  std::optional<double> budget;  // simulated seconds
  std::uint32_t checkpoint_every = 10;
  std::optional<std::uint64_t> data_seed;

  DataOptions data;
  ModelOptions model;
  LocalOptions local;
  ProfileOptions profile;
  Amount profile_clients{1.0};  // asked before groups are formed; the others are placed as newcomers
  GroupingOptions grouping;
  PlanOptions plan;
  TrainingOptions training;
  AggregationOptions aggregation;
  EvaluationOptions evaluation;
  NewcomerOptions newcomers;
  FaultOptions faults;
  CostOptions cost;
};

// A key a recipe may have.
struct RecipeKey {
  std::string section;  // "" = top level
  std::string key;
  std::string summary;
  std::string accepted;  // e.g. ">= 1", "plain | prox | ..."
};
[[nodiscard]] std::vector<RecipeKey> recipe_keys();

// `origin` names the text in errors: "recipes/my.toml:14: local.epochs: -1, want > 0".
[[nodiscard]] Result<Recipe> parse_recipe(std::string_view toml, std::string_view origin);

// A built-in recipe's name, or a path to a .toml file.
[[nodiscard]] Result<Recipe> load_recipe(const std::string& name_or_path);

// Applies "section.key=value" (or "key=value" for top-level keys); the value is TOML, bare words are strings.
[[nodiscard]] Status apply_setting(Recipe& recipe, std::string_view setting);

// Refuses combinations that cannot work, with the reason.
[[nodiscard]] Status check_recipe(const Recipe& recipe);

// Which rule places clients that are in no group: the recipe's. Where it names none: by the losses of the groups'
// models if an event forms the groups, which happens once; else nobody is placed before the next regrouping.
[[nodiscard]] std::string newcomer_rule_of(const Recipe& recipe);

// Top-level keys that may change when a run is resumed: how long it goes on, and how often it is saved.
[[nodiscard]] std::span<const std::string_view> resumable_keys();

// The fully resolved recipe as TOML: parse_recipe gives the same recipe back.
[[nodiscard]] std::string format_recipe(const Recipe& recipe);

// The composition in words, one line.
[[nodiscard]] std::string describe_recipe(const Recipe& recipe);

struct BuiltInRecipe {
  std::string_view name;
  std::string_view toml;
};
[[nodiscard]] std::span<const BuiltInRecipe> built_in_recipes();

}  // namespace muster
