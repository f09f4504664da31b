#include "recipe/recipe.h"

#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "base/names.h"
#include "plan/newcomer_rule.h"
#include "plan/regroup_event.h"
#include "recipe/keys.h"

namespace muster {
namespace {

// Whether profiles of this kind are changes of a model.
bool directs_start(const ProfileOptions& options) {
  const auto kind = make_profile_kind(options);
  return kind && (*kind)->directs_start();
}

std::string full_name(const RecipeKey& key) {
  return key.section.empty() ? key.key : key.section + "." + key.key;
}

const Key* find_key(const std::vector<Key>& keys, std::string_view section, std::string_view key) {
  for (const Key& candidate : keys) {
    if (candidate.info.section == section && candidate.info.key == key) return &candidate;
  }
  return nullptr;
}

Error unknown_key(const std::vector<Key>& keys, const std::string& typed) {
  std::vector<std::string> names;
  for (const Key& key : keys) names.push_back(full_name(key.info));
  std::string near = nearest_name(typed, names);
  if (near.empty()) {
    // A misplaced key is as likely as a misspelt one: look for the same last part in other sections.
    const std::string last = typed.substr(typed.rfind('.') + 1);
    for (const Key& key : keys) {
      if (key.info.key == last) near = full_name(key.info);
    }
  }
  if (near.empty()) return usage_error("{}: unknown key; `muster list keys` shows all", typed);
  return usage_error("{}: unknown key, did you mean '{}'?", typed, near);
}

Status set_key(const std::vector<Key>& keys, std::string_view section, std::string_view key, const toml::node& node) {
  const std::string typed = section.empty() ? std::string(key) : fmt::format("{}.{}", section, key);
  const Key* const found = find_key(keys, section, key);
  if (!found) return unknown_key(keys, typed);
  if (Status status = found->set(node); !status) return std::move(status).error().within(typed);
  return {};
}

const char* name_of(GroupingNeed need) {
  switch (need) {
    case GroupingNeed::kLabels:
      return "label counts";
    case GroupingNeed::kVectors:
      return "vectors";
    default:
      return "label counts or vectors";
  }
}

// Do the parts that describe, form, renew and use groups fit each other?
Status check_groups(const Recipe& r) {
  const std::vector<GrouperEntry> methods = groupers();
  const auto method = std::ranges::find(methods, r.grouping.method, &GrouperEntry::name);
  const ProfileEntry profile = profile_kind(r.profile);
  const bool labels = profile.gives == ProfileGives::kLabels;
  const bool vectors = profile.gives != ProfileGives::kLabels && profile.gives != ProfileGives::kNothing;
  const bool needs_labels = method->need == GroupingNeed::kLabels && !labels;
  const bool needs_vectors = method->need == GroupingNeed::kVectors && !vectors;
  const bool needs_either = method->need == GroupingNeed::kLabelsOrVectors && !labels && !vectors;
  if (needs_labels || needs_vectors || needs_either) {
    return usage_error("profile.kind: \"{}\", but grouping.method = \"{}\" groups clients by {}; want {}",
                       r.profile.kind, r.grouping.method, name_of(method->need),
                       needs_vectors ? "a kind that gives vectors (`muster list profile`)" : "\"label-histogram\"");
  }
  const bool by_cov = samples_by_cov(r.plan.sampling);
  if (by_cov && !labels) {
    return usage_error(
        "plan.sampling: \"{}\" draws groups by the labels that their members told; want profile.kind = "
        "\"label-histogram\"",
        r.plan.sampling);
  }
  if (method->need == GroupingNeed::kNothing && r.profile.kind != "none" && !by_cov) {
    return usage_error("profile.kind: \"{}\", but grouping.method = \"{}\" looks at no profile; want \"none\"",
                       r.profile.kind, r.grouping.method);
  }
  if (r.grouping.method == "greedy-complement" && vectors && profile.gives != ProfileGives::kProbabilities &&
      (r.grouping.score.empty() || r.grouping.score == "kl" || r.grouping.score == "gini")) {
    return usage_error(
        "grouping.score: \"{}\" compares probabilities, which profile.kind = \"{}\" does not give; want cosine | "
        "wasserstein",
        r.grouping.score.empty() ? "kl" : r.grouping.score, r.profile.kind);
  }
  if (r.grouping.method == "argmin-loss" || profile.gives == ProfileGives::kLosses) {
    return usage_error(
        "{}: groups by the losses of several models need these models before there are groups, which a run does not "
        "have; `muster group argmin-loss` groups by given losses",
        r.grouping.method == "argmin-loss" ? "grouping.method: \"argmin-loss\"" : "profile.kind: \"losses\"");
  }
  if (r.plan.groups && std::ranges::find(method->keys, "groups") == method->keys.end()) {
    return usage_error("plan.groups: {} takes no number of groups", r.grouping.method);
  }
  if (r.plan.groups && r.grouping.groups) {
    return usage_error("plan.groups: does not go with grouping.groups = {}; want one of the two", *r.grouping.groups);
  }
  if (r.data.exemplars == 0 && r.profile.kind == "confidence-vector") {
    return usage_error("profile.kind: \"confidence-vector\" is asked on exemplars; want data.exemplars >= 1");
  }
  return {};
}

// Can the event that groups wait for be seen, and used?
Status check_event(const Recipe& r) {
  const std::string& on = r.plan.regroup.on;
  if (on.empty()) return {};
  if (r.grouping.method == "singletons") {
    return usage_error("plan.regroup-on: \"{}\", but grouping.method = \"singletons\" forms no groups", on);
  }
  if (r.profile.kind != "classifier-weights" && r.profile.kind != "update-direction") {
    return usage_error(
        "plan.regroup-on: \"{}\" groups by what members send in a round; want profile.kind = \"classifier-weights\" or "
        "\"update-direction\"",
        on);
  }
  if (r.training.mode != "parallel" || r.training.group_rounds != 1) {
    return usage_error(
        "plan.regroup-on: \"{}\" compares members that trained from one model; want training.mode = "
        "\"parallel\" and training.group-rounds = 1",
        on);
  }
  if ((on == "bipartition") != (r.grouping.method == "bipartition")) {
    return usage_error("plan.regroup-on: \"{}\" does not go with grouping.method = \"{}\"; both or none is bipartition",
                       on, r.grouping.method);
  }
  if (r.aggregation.global != "none") {
    return usage_error("plan.regroup-on: \"{}\" gives every group a model; want aggregation.global = \"none\"", on);
  }
  return {};
}

// Can clients that come late, were not asked, or missed the round of an event, be placed?
Status check_newcomers(const Recipe& r) {
  const std::string assign = newcomer_rule_of(r);
  const auto& rules = newcomer_rules();
  const auto rule = std::ranges::find(rules, assign, &NewcomerEntry::name);
  if (rule == rules.end()) return {};  // the key table has refused it
  const ProfileEntry profile = profile_kind(r.profile);
  const AggregationEntry* const aggregation = find_aggregation(r.aggregation.global);
  const bool separate = aggregation && aggregation->models == ModelKeeping::kPerGroup;
  const bool alone = forms_singletons(r.grouping);
  const bool some_asked = r.profile_clients != Amount{1.0};
  if (some_asked && profile.gives == ProfileGives::kNothing) {
    return usage_error("profile.clients: nobody is asked for anything with profile.kind = \"{}\"", profile.name);
  }
  if (!rule->places) {
    if (some_asked) {
      return usage_error("profile.clients: clients that are not asked must be placed later; want newcomers.assign");
    }
    const bool never = !r.plan.regroup.on.empty() || (r.newcomers.round && separate && !alone);
    if (!never) return {};
    return usage_error(
        "newcomers.assign: \"{}\", but groups with models of their own are formed once; want nearest-direction, "
        "nearest-head, argmin-loss or random",
        assign);
  }
  if (alone) {
    return usage_error("newcomers.assign: \"{}\", but grouping.method = \"{}\" has no groups to join", assign,
                       r.grouping.method);
  }
  if (r.plan.regroup.every) {
    return usage_error("newcomers.assign: \"{}\" does not go with plan.regroup-every = {}, which places everybody anew",
                       assign, *r.plan.regroup.every);
  }
  if (samples_by_cov(r.plan.sampling)) {
    return usage_error("newcomers.assign: \"{}\" does not go with plan.sampling = \"{}\": nobody told the labels of {}",
                       assign, r.plan.sampling, "clients that join later");
  }
  const std::unique_ptr<RegroupEvent> event = make_regroup_event(r.plan.regroup);
  if (event && event->entry().splits &&
      (rule->asks == NewcomerAsks::kUpdates || rule->asks == NewcomerAsks::kWeights)) {
    return usage_error(
        "newcomers.assign: \"{}\" compares with groups as they were formed, which plan.regroup-on = \"{}\" splits again "
        "and again; want argmin-loss or random",
        assign, event->entry().name);
  }
  switch (rule->asks) {
    case NewcomerAsks::kNothing:
      return {};
    case NewcomerAsks::kLosses:
      if (separate) return {};
      return usage_error("newcomers.assign: \"{}\" compares the groups' models; want aggregation.global = \"none\"",
                         assign);
    case NewcomerAsks::kUpdates:
      if (profile.observable && directs_start(r.profile)) return {};
      return usage_error("newcomers.assign: \"{}\" compares updates; want profile.kind = \"update-direction\"", assign);
    case NewcomerAsks::kWeights:
      if (profile.observable && !directs_start(r.profile) && !r.profile.variance) return {};
      return usage_error(
          "newcomers.assign: \"{}\" compares weights; want profile.kind = \"classifier-weights\" without "
          "profile.variance",
          assign);
  }
  return {};
}

// Do the models that are kept fit what merges them?
Status check_models(const Recipe& r) {
  const std::string& global = r.aggregation.global;
  if (global != "none" && r.aggregation.mixing > 0) {
    return usage_error("aggregation.mixing: {}, but there is one model; want aggregation.global = \"none\"",
                       r.aggregation.mixing);
  }
  if (corrects_draw(global) && !r.plan.sample_groups) {
    return usage_error(
        "aggregation.global: \"{}\" weighs groups by how likely they were drawn; want plan.sample-groups", global);
  }
  if (global != "slots" && r.aggregation.window) {
    return usage_error("aggregation.window: {}, want aggregation.global = \"slots\"", *r.aggregation.window);
  }
  if (global == "none" && r.grouping.method != "singletons" && r.plan.regroup.every) {
    return usage_error(
        "plan.regroup-every: {}, but with aggregation.global = \"none\" every group has a model of its own, which new "
        "groups would not know; want no regrouping",
        *r.plan.regroup.every);
  }
  if (r.aggregation.start == "members" && (global != "none" || r.plan.regroup.on.empty())) {
    return usage_error(
        "aggregation.start: \"members\" is for groups with models of their own that an event forms; want "
        "aggregation.global = \"none\" and plan.regroup-on");
  }
  return {};
}

}  // namespace

std::vector<RecipeKey> recipe_keys() {
  Recipe recipe;
  std::vector<RecipeKey> result;
  for (Key& key : recipe_key_table(recipe)) result.push_back(std::move(key.info));
  return result;
}

Result<Recipe> parse_recipe(std::string_view text, std::string_view origin) {
  toml::table document;
  try {
    document = toml::parse(text);
  } catch (const toml::parse_error& error) {
    return usage_error("{}:{}: {}", origin, error.source().begin.line, error.description());
  }
  Recipe recipe;
  const std::vector<Key> keys = recipe_key_table(recipe);
  for (const auto& [name, node] : document) {
    const auto at = [&](const toml::node& n) { return fmt::format("{}:{}", origin, n.source().begin.line); };
    const bool is_section =
        std::any_of(keys.begin(), keys.end(), [&, n = name.str()](const Key& key) { return key.info.section == n; });
    if (const toml::table* section = node.as_table(); section && is_section) {
      for (const auto& [key, value] : *section) {
        if (Status status = set_key(keys, name.str(), key.str(), value); !status) {
          return std::move(status).error().within(at(value));
        }
      }
    } else if (Status status = set_key(keys, "", name.str(), node); !status) {
      return std::move(status).error().within(at(node));
    }
  }
  return recipe;
}

Result<Recipe> load_recipe(const std::string& name_or_path) {
  for (const BuiltInRecipe& recipe : built_in_recipes()) {
    if (recipe.name == name_or_path) return parse_recipe(recipe.toml, fmt::format("{} (built in)", recipe.name));
  }
  std::error_code ignored;
  const bool looks_like_path = name_or_path.find('/') != std::string::npos || name_or_path.ends_with(".toml") ||
                               std::filesystem::is_regular_file(name_or_path, ignored);
  if (!looks_like_path) {
    std::vector<std::string> names;
    for (const BuiltInRecipe& recipe : built_in_recipes()) names.emplace_back(recipe.name);
    return Error{ErrorCode::kUsage, unknown_name("recipe", name_or_path, names) + ", or a path to a .toml file"};
  }
  auto bytes = read_file(name_or_path, std::uint64_t{1} << 20);
  if (!bytes) return Error{ErrorCode::kUsage, bytes.error().message};
  return parse_recipe({reinterpret_cast<const char*>(bytes->data()), bytes->size()}, name_or_path);
}

Status apply_setting(Recipe& recipe, std::string_view setting) {
  const auto equals = setting.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    return usage_error("--set {}: want section.key=value, e.g. local.epochs=2", setting);
  }
  const std::string_view name = setting.substr(0, equals);
  const std::string value(setting.substr(equals + 1));
  const auto dot = name.find('.');
  const std::string_view section = dot == std::string_view::npos ? "" : name.substr(0, dot);
  const std::string_view key = dot == std::string_view::npos ? name : name.substr(dot + 1);

  toml::table holder;
  try {
    holder = toml::parse("value = " + value + "\n");
    if (holder.size() != 1 || !holder.contains("value")) holder.clear();
  } catch (const toml::parse_error&) {
    holder.clear();
  }
  if (holder.empty()) holder.insert("value", value);  // a bare word is a string
  const std::vector<Key> keys = recipe_key_table(recipe);
  if (Status status = set_key(keys, section, key, *holder.get("value")); !status) {
    return std::move(status).error().within("--set");
  }
  return {};
}

Status check_recipe(const Recipe& r) {
  MUSTER_TRY(check_profile(r.profile));
  MUSTER_TRY(check_grouping(r.grouping, {.groups_in_call = r.plan.groups.has_value()}));
  MUSTER_TRY(check_plan(r.plan));
  MUSTER_TRY(check_groups(r));
  MUSTER_TRY(check_event(r));
  MUSTER_TRY(check_newcomers(r));
  MUSTER_TRY(check_models(r));
  MUSTER_TRY(check_cost(r.cost, r.local.objective.name));
  if (r.cost.model == "chain" && r.training.mode != "sequential" && r.grouping.method != "singletons") {
    return usage_error(
        "cost.model: \"chain\" counts members one after the other; want training.mode = \"sequential\" or "
        "grouping.method = \"singletons\"");
  }
  const std::string& objective = r.local.objective.name;
  const std::string& global = r.aggregation.global;
  MUSTER_TRY(check_pairing(global, objective));
  if (objective == "control-variate" && r.local.objective.control == "steps" &&
      (r.local.momentum > 0 || r.local.optimizer != "sgd")) {
    return usage_error(
        "local.control: \"steps\" needs plain sgd, because only then is the distance walked the mean gradient; use "
        "local.control = \"gradient\"");
  }
  if (r.local.optimizer == "adam" && r.local.momentum > 0) {
    return usage_error("local.momentum: {}, want 0 with local.optimizer = \"adam\", which has its own",
                       r.local.momentum);
  }
  if (r.local.adapt_epochs && r.local.steps) {
    return usage_error("local.adapt-epochs: does not go with local.steps = {}: epochs are adapted", *r.local.steps);
  }
  if (r.local.keep_optimizer && r.local.optimizer == "sgd" && r.local.momentum == 0) {
    return usage_error("local.keep-optimizer: true, but sgd without momentum has no state to keep");
  }
  if (r.data.samples_min && r.data.samples_max && *r.data.samples_min > *r.data.samples_max) {
    return usage_error("data.samples-min: {}, want <= data.samples-max = {}", *r.data.samples_min, *r.data.samples_max);
  }
  if (!r.data.shape.empty() && r.data.shape.size() != 3) {
    return usage_error("data.shape: {} numbers, want 3: height, width, channels", r.data.shape.size());
  }
  return {};
}

std::string newcomer_rule_of(const Recipe& recipe) {
  if (!recipe.newcomers.assign.empty()) return recipe.newcomers.assign;
  return recipe.plan.regroup.on.empty() ? "next-regroup" : "argmin-loss";
}

std::span<const std::string_view> resumable_keys() {
  static constexpr std::string_view keys[] = {"rounds", "target-accuracy", "budget", "checkpoint-every"};
  return keys;
}

std::string format_recipe(const Recipe& recipe) {
  Recipe copy = recipe;
  std::string out;
  std::string section;
  for (const Key& key : recipe_key_table(copy)) {
    const std::string value = key.get();
    if (value.empty()) continue;
    if (key.info.section != section) {
      section = key.info.section;
      out += fmt::format("\n[{}]\n", section);
    }
    out += fmt::format("{} = {}\n", key.info.key, value);
  }
  return out;
}

std::string describe_recipe(const Recipe& r) {
  const auto amount = [](const Amount& a, const char* things) {
    if (const auto* count = std::get_if<std::uint32_t>(&a.value)) return fmt::format("{} {}", *count, things);
    const double share = std::get<double>(a.value);
    return share == 1 ? fmt::format("all {}", things) : fmt::format("{:g} % of the {}", 100 * share, things);
  };
  std::string text = fmt::format("{} on {}: ", r.model.name, r.data.source);
  const bool grouped = r.grouping.method != "singletons";
  if (grouped) {
    if (r.profile.kind != "none") {
      text += fmt::format("{} tell their {}, ", amount(r.profile_clients, "clients"), r.profile.kind);
    }
    text += fmt::format("groups are formed by {}", r.grouping.method);
    if (r.data.edges > 1) text += fmt::format(" on each of {} edges", r.data.edges);
    if (r.plan.groups) {
      text += r.plan.groups->growth == "constant" ? fmt::format(", {} of them", r.plan.groups->beta)
                                                  : fmt::format(", their number grows ({})", r.plan.groups->growth);
    }
    if (r.plan.regroup.every) {
      text += *r.plan.regroup.every == 1 ? ", anew every round"
                                         : fmt::format(", anew every {} rounds", *r.plan.regroup.every);
    } else {
      text += r.plan.regroup.on.empty() ? ", once" : fmt::format(", when {} says so", r.plan.regroup.on);
    }
    text += "; ";
  }
  const std::string drawn =
      r.plan.sample_groups ? amount(*r.plan.sample_groups, "groups") : amount(r.plan.sample_clients, "clients");
  text += fmt::format("each round {} are sampled ({}), ", drawn, r.plan.sampling);
  std::string work =
      r.local.steps ? fmt::format("{} steps", *r.local.steps) : fmt::format("{:g} epochs", r.local.epochs);
  if (r.local.adapt_epochs) work += " (more where losses lag)";
  text += fmt::format("train {} of {} at rate {:g} in batches of {} with the {} objective, ", work, r.local.optimizer,
                      r.local.learning_rate, r.local.batch_size, r.local.objective.name);
  if (grouped && r.training.mode == "sequential") {
    text += r.training.passes == 1 ? "one member after the other, "
                                   : fmt::format("one member after the other, {} times, ", r.training.passes);
  } else if (grouped) {
    text += r.training.group_rounds == 1
                ? "members side by side, "
                : fmt::format("members side by side for {} group rounds, ", r.training.group_rounds);
  }
  if (r.aggregation.global == "none")
    return text + (grouped ? "and every group keeps its model" : "and keep their own models");
  if (r.aggregation.global == "slots") return text + "and models pass from group to group between averages";
  return text + fmt::format("and are merged by {}", r.aggregation.global);
}

}  // namespace muster
