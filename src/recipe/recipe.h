// Recipe: every choice of a run, as typed options. Read from TOML (a file, or a recipe built into the binary) and from
// `section.key=value` settings; written back fully resolved. Every key is declared once, in keys.cc: reading, writing,
// checking and listing go by that. A key that means nothing for the choices made is refused, never ignored.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate/aggregator.h"
#include "aggregate/privacy_options.h"
#include "cost/cost.h"
#include "data/federated_data.h"
#include "grouping/grouping.h"
#include "model/network.h"
#include "plan/plan.h"
#include "profile/profile.h"
#include "solver/attack.h"
#include "solver/local_options.h"
#include "train/group_trainer.h"

namespace muster {

struct EvaluationOptions {
  std::uint32_t every = 1;  // rounds
  std::string on =
      "auto";           // global | clients | both | auto: global if there is a global test set, else clients, else none
  Amount clients{1.0};  // how many clients are asked for their own test accuracy
  bool discrepancy = false;
  bool distances = false;            // of the vectors that clients are grouped by, whenever groups are formed
  std::vector<std::string> metrics;  // what rounds are recorded with besides: see evaluation_metrics()
  std::string keep = "last";         // last | best: which round's models the run leaves
};

// The [stop] section: when a run ends before its rounds are done.
struct StopOptions {
  std::optional<std::uint32_t> patience;  // evaluations without a better validation accuracy
  double min_delta = 0;                   // a better one is higher by more than this
};

// The [newcomers] section: clients that come when groups are there already.
struct NewcomerOptions {
  std::string assign;                  // see newcomer_rules(); "" = what newcomer_rule_of() says
  bool at_once = false;                // everybody who is there is placed, not only who is drawn
  bool rejoin = false;                 // clients that take part choose their group anew, by the same rule
  std::optional<std::uint32_t> round;  // before it, `clients` of the clients are not there
  Amount clients{0.1};
};

// The [deployment] section: how a federation of real processes treats those that are late or gone. A simulation, whose
// clients are neither, does not look at it.
struct DeploymentOptions {
  double round_deadline_s = 600;  // of a round's training, its profiles and its evaluation, each
  double quorum = 0;         // share of a group's members, and of a round's groups, without which it does not count
  Amount wait_clients{1.0};  // that must be there before the first round
  double over_select = 1;    // participants that are asked for each that is needed
};

// A key that somebody set, whatever to.
struct GivenKey {
  // Each takes the place of what those before it gave.
  enum class By { kBase, kTask, kFile, kSetting };

  std::string key;  // full name, "local.epochs"
  By by = By::kFile;
  std::string value;  // as TOML
  std::string where;  // for errors: "my.toml:14", "--set"
  bool built_in = false;
  // Of the file: whether the key had a meaning there.
  bool applied = true;
  // It has lost its meaning to something that was given after it, and is at its default.
  bool gave_way = false;
};

struct Recipe {
  // Not in line: they take longer to compile than most of the files that copy a recipe.
  Recipe();
  Recipe(const Recipe&);
  Recipe(Recipe&&) noexcept;
  Recipe& operator=(const Recipe&);
  Recipe& operator=(Recipe&&) noexcept;
  ~Recipe();

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
  StopOptions stop;
  NewcomerOptions newcomers;
  FaultOptions faults;
  AttackOptions attack;
  PrivacyOptions dp;
  CostOptions cost;
  DeploymentOptions deployment;

  // The task it runs on, where it has one. Not a key: a recipe that is written has the task's keys.
  std::string task;
  // What was given, in the order of the texts and of the settings. Fields that are assigned are not, and may be
  // anything that check_recipe() accepts.
  std::vector<GivenKey> given;
};
// Every key has the same value. Where the values come from does not count.
[[nodiscard]] bool operator==(const Recipe& a, const Recipe& b);

// A key a recipe may have.
struct RecipeKey {
  std::string section;  // "" = top level
  std::string key;
  std::string summary;
  std::string accepted;        // e.g. "an integer >= 1", "plain | prox | ..."
  std::string otherwise = {};  // what holds where it is not set: a value, or words
  std::string unit = {};       // "" = none
  std::string applies = {};    // what it needs to have an effect; "" = nothing
};
[[nodiscard]] std::vector<RecipeKey> recipe_keys();
// The table of keys of the documentation, as Markdown.
[[nodiscard]] std::string keys_markdown();

// `origin` names the text in errors: "recipes/my.toml:14: local.epochs: -1, want > 0". The text may name a method to
// start from (`base`) and a task to run on (`task`); its own keys beat the task's, which beat the base's.
[[nodiscard]] Result<Recipe> parse_recipe(std::string_view toml, std::string_view origin);

// A built-in recipe's name, or a path to a .toml file. Relative paths in the file are looked up beside it, then in the
// working folder. `task`: a name or a path, in place of the recipe's own; "" = the recipe's.
[[nodiscard]] Result<Recipe> load_recipe(const std::string& name_or_path, const std::string& task = "");

// Applies "section.key=value" (or "key=value" for top-level keys); the value is TOML, bare words are strings. Keys of
// the recipe's file that lose their meaning by it go back to their defaults.
[[nodiscard]] Status apply_setting(Recipe& recipe, std::string_view setting);

// Refuses values that are out of range, given keys that have no effect, and combinations that cannot work, with the
// reason. What only the data can tell is checked by check_recipe_for() (recipe/facts.h).
[[nodiscard]] Status check_recipe(const Recipe& recipe);

// The same for a recipe of which only the data are used: a key of any other section but `seed` has no effect on them.
[[nodiscard]] Status check_data_settings(const Recipe& recipe);

// Which rule places clients that are in no group: the recipe's. Where it names none: by the losses of the groups'
// models if an event forms the groups, which happens once; else nobody is placed before the next regrouping.
[[nodiscard]] std::string newcomer_rule_of(const Recipe& recipe);

// Top-level keys that may change when a run is resumed: how long it goes on, and how often it is saved.
[[nodiscard]] std::span<const std::string_view> resumable_keys();

// Everything that matters for the recipe as TOML, defaults included: of a recipe that check_recipe() accepts,
// parse_recipe() makes an equal one that it accepts too. With `all` the other keys are there as comments that say why
// they do not matter.
[[nodiscard]] std::string format_recipe(const Recipe& recipe, bool all = false);

// The composition in words, one line.
[[nodiscard]] std::string describe_recipe(const Recipe& recipe);
// What is going to happen that the keys do not say, a line each.
[[nodiscard]] std::vector<std::string> recipe_notes(const Recipe& recipe);

struct BuiltInRecipe {
  std::string_view name;
  std::string_view toml;
  bool method = false;  // has no data of its own, and runs on a task
};
[[nodiscard]] std::span<const BuiltInRecipe> built_in_recipes();

}  // namespace muster
