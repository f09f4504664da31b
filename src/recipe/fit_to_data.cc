#include "recipe/fit_to_data.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <bit>

#include "base/names.h"
#include "data/catalogue.h"
#include "grouping/group_defaults.h"
#include "recipe/choices.h"
#include "recipe/keys.h"
#include "recipe/method_defaults.h"
#include "recipe/told_samples.h"
#include "record/cost_file.h"
#include "solver/objective.h"
#include "solver/training_flops.h"

namespace muster {
namespace {

// A group of about this many clients is worth its name, whatever the federation's size.
constexpr std::uint32_t kClientsOfGroup = 5;

// A number of the recipe and what to try in its place when the recipe is refused. `lower` changes the recipe and
// returns true, or leaves it as it is: then this number is not what is wrong, or cannot be lower.
struct Adjustable {
  const char* key;
  bool (*lower)(Recipe& recipe, const RecipeFacts& facts);
};

bool lower_to(std::optional<std::uint32_t>& value, std::uint32_t limit, std::uint32_t instead) {
  if (!value || *value <= limit) return false;
  value = std::clamp(instead, 1u, std::max(limit, 1u));
  return true;
}

bool lower_planned_groups(Recipe& recipe, const RecipeFacts& facts) {
  const std::uint32_t clients = groupable_clients(facts);
  if (!recipe.plan.groups || recipe.plan.groups->beta <= clients) return false;
  recipe.plan.groups->beta = std::max(1u, clients / kClientsOfGroup);
  return true;
}

bool lower_groups(Recipe& recipe, const RecipeFacts& facts) {
  const std::uint32_t clients = groupable_clients(facts);
  return lower_to(recipe.grouping.groups, clients, clients / 2);
}

bool lower_size(Recipe& recipe, const RecipeFacts& facts) {
  const std::uint32_t clients = groupable_clients(facts);
  return lower_to(recipe.grouping.size, clients, std::max(2u, clients / 2));
}

bool lower_min_size(Recipe& recipe, const RecipeFacts& facts) {
  if (!grouper_has_key(recipe, "min-size")) return false;
  const std::uint32_t clients = groupable_clients(facts);
  std::optional<std::uint32_t> size = recipe.grouping.min_size.value_or(kDefaultMinSize);
  if (!lower_to(size, clients, clients)) return false;
  recipe.grouping.min_size = size;
  return true;
}

bool lower_clusters(Recipe& recipe, const RecipeFacts& facts) {
  const std::uint32_t clients = groupable_clients(facts);
  return lower_to(recipe.grouping.clusters, clients, clients);
}

std::uint64_t samples_of_all(const RecipeFacts& facts) {
  std::uint64_t samples = 0;
  for (const EdgeFacts& edge : facts.edges) samples += edge.samples;
  return samples;
}

// To what some clients have between them; from there by halves, as long as the recipe is refused.
bool lower_min_samples(Recipe& recipe, const RecipeFacts& facts) {
  std::optional<std::uint64_t>& quota = recipe.grouping.min_samples;
  if (!grouper_has_key(recipe, "min-samples") || (grouper_has_key(recipe, "size") && !quota)) return false;
  const std::uint64_t groups = std::max(1u, facts.clients_with_samples / kClientsOfGroup);
  const std::uint64_t share = std::max<std::uint64_t>(1, samples_of_all(facts) / groups);
  if (quota && *quota <= 1) return false;
  quota = quota && *quota <= share ? *quota / 2 : share;
  return true;
}

constexpr Adjustable kAdjustable[] = {
    {"plan.groups", lower_planned_groups}, {"grouping.groups", lower_groups},
    {"grouping.size", lower_size},         {"grouping.min-size", lower_min_size},
    {"grouping.clusters", lower_clusters}, {"grouping.min-samples", lower_min_samples},
};

// The keys of the recipe's file that settings took back; "" = none.
std::string gave_way_to_data(const Recipe& recipe) {
  std::vector<std::string> keys;
  for (const GivenKey& given : recipe.given) {
    if (given.gave_way && given.key.starts_with("data.")) keys.push_back(given.key);
  }
  if (keys.empty()) return {};
  return fmt::format("your own data: the recipe's {} {} way", fmt::join(keys, ", "),
                     keys.size() == 1 ? "gives" : "give");
}

std::string samples_in_words(Shape shape) {
  if (shape.tokens > 0) return fmt::format("texts of {}", counted(shape.width, "token"));
  if (shape.height == 1 && shape.width == 1) return fmt::format("rows of {}", counted(shape.channels, "feature"));
  return fmt::format("samples of {} x {} x {}", shape.height, shape.width, shape.channels);
}

// A network for images on a table becomes one for tables.
std::string fit_network(Recipe& recipe, Shape shape, std::uint32_t classes) {
  if (set_by_user(recipe, "model.name") || make_network(recipe.model, shape, classes)) return {};
  Recipe fitted = recipe;
  if (shape.tokens > 0) {
    fitted.model.name = "layers";
    fitted.model.layers = LayerList{{"embedding 8"}, {"lstm 64"}};
  } else if (std::ranges::find(recipe.local.personal, "norm") != recipe.local.personal.end()) {
    fitted.model.name = "layers";  // clients keep its normalisation to themselves, so there must be some
    fitted.model.layers = LayerList{{"dense 128"}, {"batch-norm"}, {"relu"}};
  } else {
    fitted.model.name = shape.height == 1 && shape.width > 1 ? "lstm" : "mlp";
  }
  give_way(fitted);
  if (!make_network(fitted.model, shape, classes)) return {};
  const std::string before = std::exchange(recipe, std::move(fitted)).model.name;
  return fmt::format("model.name: \"{}\" instead of the recipe's \"{}\", which does not fit {}", recipe.model.name,
                     before, samples_in_words(shape));
}

// A client that is left out for good may be one of few.
std::string keep_leftovers(Recipe& recipe) {
  std::string& tail = recipe.grouping.tail;
  const bool discards = tail.empty() || tail == "discard";
  if (!forms_groups(recipe) || !grouper_has_key(recipe, "tail") || !discards || set_by_user(recipe, "grouping.tail")) {
    return {};
  }
  tail = "merge";
  return "grouping.tail: \"merge\" instead of the recipe's \"discard\", so that no client of yours is left out";
}

// A number of clients or groups that are drawn or asked.
struct DrawnCount {
  const char* key;
  Amount* (*find)(Recipe& recipe);
};

constexpr DrawnCount kDrawnCounts[] = {
    {"plan.sample-clients", [](Recipe& r) { return &r.plan.sample_clients; }},
    {"plan.sample-groups", [](Recipe& r) { return r.plan.sample_groups ? &*r.plan.sample_groups : nullptr; }},
    {"profile.clients", [](Recipe& r) { return &r.profile_clients; }},
};

// A share of many clients may be hardly anybody of a few.
constexpr std::uint32_t kFewestDrawn = 10;
std::string fit_drawn_share(Recipe& recipe, std::uint32_t clients) {
  constexpr const char* kKey = "plan.sample-clients";
  const auto* const share = std::get_if<double>(&recipe.plan.sample_clients.value);
  const std::uint32_t fewest = std::min(clients, kFewestDrawn);
  if (!share || *share * clients >= fewest || !brings_own_data(recipe) || set_by_user(recipe, kKey) ||
      failing_condition(*find_key(kKey), recipe)) {
    return {};
  }
  const std::string before = find_key(kKey)->get(recipe);
  recipe.plan.sample_clients.value = fewest;
  return fmt::format("{}: {} instead of the recipe's {}, for {}", kKey, fewest, before, counted(clients, "client"));
}

// More than there are means all. The user's own number stays as it is.
std::vector<std::string> fit_drawn_counts(Recipe& recipe, std::uint32_t clients) {
  std::vector<std::string> notes;
  for (const DrawnCount& drawn : kDrawnCounts) {
    Amount* const amount = drawn.find(recipe);
    const auto* const count = amount ? std::get_if<std::uint32_t>(&amount->value) : nullptr;
    if (!count || *count <= clients || failing_condition(*find_key(drawn.key), recipe)) continue;
    if (set_by_user(recipe, drawn.key) || !brings_own_data(recipe)) {
      notes.push_back(fmt::format("{}: {}, but there {} {}: all take part", drawn.key, *count,
                                  clients == 1 ? "is" : "are", counted(clients, "client")));
    } else {
      notes.push_back(fmt::format("{}: {} instead of the recipe's {}, for {}", drawn.key, clients, *count,
                                  counted(clients, "client")));
      amount->value = clients;
    }
  }
  return notes;
}

// Steps as the field takes them; a cosine ends with the run, however long a resumed one goes on.
void resolve_schedule(Recipe& recipe) {
  if (recipe.local.schedule_rounds) return;
  if (recipe.local.schedule == "steps") recipe.local.schedule_rounds = 50;
  if (recipe.local.schedule == "cosine") recipe.local.schedule_rounds = recipe.rounds;
}

// Sizes that a method takes where none are set are refused where they are set: the method makes do with fewer clients.
void fill_in_fitting(Recipe& recipe, const RecipeFacts& facts) {
  const GroupingOptions before = recipe.grouping;
  fill_in_defaults(recipe, facts.classes);
  for (const auto number : {&GroupingOptions::size, &GroupingOptions::min_size, &GroupingOptions::clusters}) {
    std::optional<std::uint32_t>& size = recipe.grouping.*number;
    if (!(before.*number) && size && *size > groupable_clients(facts)) size.reset();
  }
}

// The run's recipe has the numbers, so that it means the same when the file is gone or another one.
Status take_measured_costs(Recipe& recipe, const Network& network) {
  if (recipe.cost.file.empty()) return {};
  MUSTER_ASSIGN(const MeasuredCosts costs, read_cost_file(recipe.cost.file));
  MUSTER_ASSIGN(const auto objective, make_objective(recipe.local.objective));
  const NetworkSize size{.sample_flops = training_flops(network, objective->output_match() > 0),
                         .values = network.parameters()};
  Result<CostOptions> measured = with_measured(recipe.cost, costs, group_operation(recipe), size);
  if (!measured) return std::move(measured).error().within(recipe.cost.file);
  recipe.cost = *std::move(measured);
  return {};
}

// The user's own, or the clients'.
bool reads_files(const Recipe& recipe) {
  const Result<SourceState> state = source_state(recipe.data.source);
  return state && state->kind == SourceKind::kFormat;
}

void resolve_for_data(Recipe& recipe, const RecipeFacts& facts, const FederatedData& data) {
  resolve_schedule(recipe);
  const Recipe before = recipe;
  recipe.data = data.resolved(std::move(recipe.data));
  unset_without_effect(recipe, before);
  fill_in_fitting(recipe, facts);
  if (sums_securely(recipe) && !recipe.training.secure.most_samples) {
    // Rounded, so that it says less of the largest client. In private sums all members count alike.
    recipe.training.secure.most_samples = recipe.dp.on() ? 1 : std::bit_ceil(std::max(facts.most_samples, 1u));
  }
  if (recipe.evaluation.on == EvaluationOptions{}.on) {
    if (facts.global_test && !keeps_models_per_group(recipe) && !scores_clients_apart(recipe)) {
      recipe.evaluation.on = "global";
    } else if (facts.client_tests) {
      recipe.evaluation.on = "clients";
    }
  }
  if (sums_securely(recipe) && recipe.training.secure.samples.empty()) {
    // Who brings files has told of them by now.
    recipe.training.secure.samples = reads_files(recipe) || tells_samples(recipe) ? kToldSamples : kHiddenSamples;
  }
}

}  // namespace

bool set_by_user(const Recipe& recipe, std::string_view key) {
  const bool on_built_in = std::ranges::any_of(
      recipe.given, [](const GivenKey& given) { return given.by == GivenKey::By::kBase && given.built_in; });
  return std::ranges::any_of(recipe.given, [&](const GivenKey& given) {
    return given.key == key && (given.by == GivenKey::By::kSetting || (on_built_in && !given.built_in));
  });
}

bool brings_own_data(const Recipe& recipe) {
  return set_by_user(recipe, "data.source") && reads_files(recipe);
}

std::vector<std::string> fit_to_own_data(Recipe& recipe, const RecipeFacts& facts, Shape shape) {
  std::vector<std::string> notes;
  if (!brings_own_data(recipe) || facts.clients_with_samples == 0) return notes;
  if (std::string note = gave_way_to_data(recipe); !note.empty()) notes.push_back(std::move(note));
  if (std::string note = fit_network(recipe, shape, facts.classes); !note.empty()) notes.push_back(std::move(note));
  if (std::string note = keep_leftovers(recipe); !note.empty()) notes.push_back(std::move(note));
  const Recipe before = recipe;
  for (Status status = check_recipe_for(recipe, facts); !status; status = check_recipe_for(recipe, facts)) {
    const bool lowered = std::ranges::any_of(kAdjustable, [&](const Adjustable& number) {
      return !set_by_user(recipe, number.key) && number.lower(recipe, facts);
    });
    if (!lowered) break;
  }
  for (const Adjustable& number : kAdjustable) {
    const Key& key = *find_key(number.key);
    const std::string value = key.get(recipe);
    if (value == key.get(before)) continue;
    notes.push_back(fmt::format("{}: {} instead of the recipe's {}, for {} with {} together", number.key, value,
                                key.get(before).empty() ? "default" : key.get(before),
                                counted(facts.clients_with_samples, "client"),
                                counted(samples_of_all(facts), "sample")));
  }
  return notes;
}

Result<std::vector<std::string>> settle_recipe(Recipe& recipe, const FederatedData& data) {
  const RecipeFacts facts = recipe_facts(recipe, data);
  std::vector<std::string> notes = data.notes();
  std::ranges::move(fit_to_own_data(recipe, facts, data.shape()), std::back_inserter(notes));
  if (std::string note = fit_drawn_share(recipe, facts.clients_with_samples); !note.empty()) {
    notes.push_back(std::move(note));
  }
  std::ranges::move(fit_drawn_counts(recipe, facts.clients_with_samples), std::back_inserter(notes));
  MUSTER_TRY(check_recipe_for(recipe, facts));
  MUSTER_ASSIGN(const auto network,
                make_network(recipe.model, data.shape(), data.classes(), fusion_of(recipe.local.objective)));
  MUSTER_TRY(take_measured_costs(recipe, *network));
  resolve_for_data(recipe, facts, data);
  return notes;
}

}  // namespace muster
