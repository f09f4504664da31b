// Does a recipe make sense before any data are read? Values, keys without effect, and combinations that cannot work.
#include <algorithm>

#include "data/federated_data.h"
#include "model/parameter_parts.h"
#include "recipe/choices.h"
#include "recipe/keys.h"
#include "recipe/recipe.h"
#include "recipe/told_samples.h"
#include "recipe/toml_text.h"

namespace muster {
namespace {

// Fields can be assigned past the keys, so every value goes once through its key.
Status check_values(const Recipe& recipe) {
  const Recipe fresh;
  Recipe copy;
  for (const Key& key : recipe_key_table()) {
    const std::string value = key.get(recipe);
    if (value.empty() || value == key.get(fresh)) continue;
    MUSTER_ASSIGN(const toml::table document, parse_toml("value = " + value + "\n", ""));
    if (Status status = key.set(copy, *document.get("value")); !status) {
      return std::move(status).error().within(full_name(key.info));
    }
  }
  return {};
}

// A key that somebody gave, or a field that is not what it is by default, has an effect or is refused. What the file
// gave and a setting took the meaning of is back at its default.
Status check_effects(const Recipe& recipe) {
  const Recipe fresh;
  for (const Key& key : recipe_key_table()) {
    const Condition* const failing = failing_condition(key, recipe);
    if (!failing) continue;
    const std::string name = full_name(key.info);
    const std::string value = key.get(recipe);
    const auto given = std::ranges::find(recipe.given, name, &GivenKey::key);
    if (given == recipe.given.end()) {
      if (value == key.get(fresh)) continue;
      return usage_error("{}: {} {}", name, value, why_no_effect(*failing, recipe));
    }
    if (given->by != GivenKey::By::kSetting && given->applied) continue;
    return usage_error("{}: {}: {} {}", given->where, name, given->value, why_no_effect(*failing, recipe));
  }
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

std::string kinds_that(bool (*fit)(const ProfileEntry&)) {
  std::string words;
  for (const ProfileEntry& entry : profile_kinds()) {
    if (fit(entry)) words += fmt::format("{}\"{}\"", words.empty() ? "" : " | ", entry.name);
  }
  return words;
}

// Does a run that begins with models drawn at random know how many, and does every group keep its own?
Status check_seeded(const Recipe& r) {
  if (!r.grouping.groups && !r.plan.groups) {
    return usage_error("grouping.groups: not set, but {} has to be told how many groups to form", r.grouping.method);
  }
  if (!keeps_models_per_group(r)) {
    return usage_error(
        "aggregation.global: \"{}\", but grouping.method = \"{}\" lets clients choose among models that groups keep; "
        "want aggregation.global = \"none\"",
        r.aggregation.global, r.grouping.method);
  }
  return {};
}

// Do clients tell what groups are formed by, and drawn by?
Status check_profiles(const Recipe& r) {
  const GroupingNeed need = needed_by_grouper(r);
  const ProfileGives told = told_by(r);
  const bool labels = told == ProfileGives::kLabels;
  const bool vectors = tells_vectors(told);
  if (groups_by_losses(r) != (told == ProfileGives::kLosses)) {
    return groups_by_losses(r)
               ? usage_error("profile.kind: \"{}\", but grouping.method = \"{}\" groups clients by losses; want {}",
                             r.profile.kind, r.grouping.method,
                             kinds_that([](const ProfileEntry& e) { return e.gives == ProfileGives::kLosses; }))
               : usage_error(
                     "profile.kind: \"{}\" are of models that groups have from the start; want grouping.method = "
                     "\"argmin-loss\"",
                     r.profile.kind);
  }
  if (seeds_models(r)) MUSTER_TRY(check_seeded(r));
  const bool needs_labels = need == GroupingNeed::kLabels && !labels;
  const bool needs_vectors = need == GroupingNeed::kVectors && !vectors && !seeds_models(r);
  const bool needs_either = need == GroupingNeed::kLabelsOrVectors && !labels && !vectors;
  if (needs_labels || needs_vectors || needs_either) {
    return usage_error("profile.kind: \"{}\", but grouping.method = \"{}\" groups clients by {}; want {}",
                       r.profile.kind, r.grouping.method, name_of(need),
                       needs_vectors
                           ? "a kind that gives vectors (`muster list profile`)"
                           : kinds_that([](const ProfileEntry& e) { return e.gives == ProfileGives::kLabels; }));
  }
  if (samples_by_cov(r.plan.sampling) && !labels) {
    return usage_error(
        "plan.sampling: \"{}\" draws groups by their label counts, which profile.kind = \"{}\" does not tell; want "
        "profile.kind = {}",
        r.plan.sampling, r.profile.kind,
        kinds_that([](const ProfileEntry& e) { return e.gives == ProfileGives::kLabels; }));
  }
  if (told == ProfileGives::kProbabilities && r.data.exemplars == 0) {
    return usage_error("profile.kind: \"{}\" is asked on exemplars; want data.exemplars >= 1", r.profile.kind);
  }
  return {};
}

// Do the numbers and words of the grouping method go together?
Status check_method(const Recipe& r) {
  const GroupingOptions& g = r.grouping;
  const ProfileGives told = told_by(r);
  if (grouper_has_key(r, "score") && tells_vectors(told) && told != ProfileGives::kProbabilities) {
    const ScoreEntry* const chosen = find_entry(complement_scores(), g.score);
    const ScoreEntry& score = chosen ? *chosen : complement_scores().front();
    if (score.of_probabilities) {
      std::string others;
      for (const ScoreEntry& entry : complement_scores()) {
        if (!entry.of_probabilities) others += (others.empty() ? "" : " | ") + entry.name;
      }
      return usage_error(
          "grouping.score: \"{}\" compares probabilities, which profile.kind = \"{}\" does not give; want {}",
          score.name, r.profile.kind, others);
    }
  }
  if (r.plan.groups && g.groups) {
    return usage_error("plan.groups: does not go with grouping.groups = {}; want one of the two", *g.groups);
  }
  return check_grouping(g, {.groups_in_call = r.plan.groups.has_value(), .vectors_only = tells_vectors(told)});
}

// When are groups formed, and can what they wait for be seen and used?
Status check_regrouping(const Recipe& r) {
  const RegroupOptions& regroup = r.plan.regroup;
  const bool regroups = regroup.every || !regroup.on.empty() || r.newcomers.round;
  if (r.plan.groups && r.plan.groups->growth != GroupSchedule{}.growth && !regroups) {
    return usage_error(
        "plan.groups: growth = \"{}\", but groups are formed once, so their number never grows; want "
        "plan.regroup-every, or a plain number",
        r.plan.groups->growth);
  }
  if (keeps_models_per_group(r) && forms_groups(r) && regroup.every) {
    return usage_error(
        "plan.regroup-every: {}, but with aggregation.global = \"{}\" every group has a model of its own, which new "
        "groups would not know; want no regrouping",
        *regroup.every, r.aggregation.global);
  }
  if (regroup.on.empty()) return {};
  if (!forms_groups(r)) {
    return usage_error("plan.regroup-on: \"{}\", but grouping.method = \"{}\" forms no groups", regroup.on,
                       r.grouping.method);
  }
  if (told_by(r) != ProfileGives::kVectors) {
    return usage_error("plan.regroup-on: \"{}\" groups by what members send in a round; want profile.kind = {}",
                       regroup.on,
                       kinds_that([](const ProfileEntry& entry) { return entry.gives == ProfileGives::kVectors; }));
  }
  if (trains_in_sequence(r) || r.training.group_rounds != 1) {
    return usage_error(
        "plan.regroup-on: \"{}\" compares members that trained from one model; want training.mode = \"parallel\" and "
        "training.group-rounds = 1",
        regroup.on);
  }
  const std::vector<CatalogueEntry> events = regroup_events();
  if ((event_splits(r) || find_entry(events, r.grouping.method)) && regroup.on != r.grouping.method) {
    return usage_error(
        "plan.regroup-on: \"{}\" does not go with grouping.method = \"{}\": both must be \"{}\", or neither",
        regroup.on, r.grouping.method, event_splits(r) ? regroup.on : r.grouping.method);
  }
  if (!keeps_models_per_group(r)) {
    return usage_error("plan.regroup-on: \"{}\" gives every group a model; want aggregation.global = \"none\"",
                       regroup.on);
  }
  return {};
}

// Can clients choose their group, again and again?
Status check_rejoining(const Recipe& r, const NewcomerEntry& rule) {
  if (seeds_models(r) && rule.name != joined_by(r)) {
    return usage_error("newcomers.assign: \"{}\", but with grouping.method = \"{}\" clients join by \"{}\"; remove it",
                       rule.name, r.grouping.method, joined_by(r));
  }
  if (rule.asks == NewcomerAsks::kSent && (trains_in_sequence(r) || r.training.group_rounds != 1)) {
    return usage_error(
        "newcomers.assign: \"{}\" compares what every client sent; want training.mode = \"parallel\" and "
        "training.group-rounds = 1",
        rule.name);
  }
  if (!rejoins(r)) return {};
  if (r.plan.sample_groups) {
    return usage_error(
        "plan.sample-groups: clients that choose their group are drawn one by one; want plan.sample-clients");
  }
  if (event_splits(r)) {
    return usage_error("newcomers.rejoin: true does not go with plan.regroup-on = \"{}\", which needs whole groups",
                       r.plan.regroup.on);
  }
  return {};
}

// Can clients that come late, were not asked, or missed the round of an event, be placed?
Status check_newcomers(const Recipe& r) {
  const NewcomerEntry& rule = newcomer_entry(r);
  if (r.newcomers.round && r.newcomers.clients == Amount{1.0}) {
    return usage_error("newcomers.clients: 1.0, but then nobody is there before round {}; want a share below 1",
                       *r.newcomers.round);
  }
  if (!rule.places) {
    if (r.profile_clients != Amount{1.0}) {
      return usage_error("profile.clients: clients that are not asked must be placed later; want newcomers.assign");
    }
    const bool formed_once = forms_groups(r) && keeps_models_per_group(r);
    if (r.plan.regroup.on.empty() && !(r.newcomers.round && formed_once)) return {};
    return usage_error(
        "newcomers.assign: \"{}\", but groups with models of their own are formed once; want nearest-direction | "
        "nearest-head | argmin-loss | random",
        rule.name);
  }
  if (!forms_groups(r)) {
    return usage_error("newcomers.assign: \"{}\", but grouping.method = \"{}\" has no groups to join", rule.name,
                       r.grouping.method);
  }
  if (r.plan.regroup.every) {
    return usage_error("newcomers.assign: \"{}\" does not go with plan.regroup-every, which places everybody anew",
                       rule.name);
  }
  if (samples_by_cov(r.plan.sampling)) {
    return usage_error(
        "newcomers.assign: \"{}\" does not go with plan.sampling = \"{}\": clients that join later have not told their "
        "labels",
        rule.name, r.plan.sampling);
  }
  const bool compares_profiles = rule.asks == NewcomerAsks::kUpdates || rule.asks == NewcomerAsks::kWeights;
  if (compares_profiles && event_splits(r)) {
    return usage_error(
        "newcomers.assign: \"{}\" compares newcomers with profiles that groups were formed by, which groups that were "
        "split do not have; want argmin-loss | random with plan.regroup-on = \"{}\"",
        rule.name, r.plan.regroup.on);
  }
  MUSTER_TRY(check_rejoining(r, rule));
  if (places_by_models(r) && !keeps_models_per_group(r)) {
    return usage_error("newcomers.assign: \"{}\" compares the groups' models; want aggregation.global = \"none\"",
                       rule.name);
  }
  if (rule.asks == NewcomerAsks::kUpdates && !tells_updates(r)) {
    return usage_error("newcomers.assign: \"{}\" compares updates; want profile.kind = \"update-direction\"",
                       rule.name);
  }
  if (rule.asks == NewcomerAsks::kWeights && !tells_weights(r)) {
    return usage_error(
        "newcomers.assign: \"{}\" compares weights; want profile.kind = \"classifier-weights\" without "
        "profile.variance",
        rule.name);
  }
  return {};
}

// Do the models that are kept fit what merges them, and what clients minimise?
Status check_models(const Recipe& r) {
  const std::string& global = r.aggregation.global;
  if (corrects_draw(global) && !r.plan.sample_groups) {
    return usage_error(
        "aggregation.global: \"{}\" weighs groups by how likely they were drawn; want plan.sample-groups", global);
  }
  const InGroupEntry* const in_group = find_in_group(r.aggregation.in_group);
  if (in_group && in_group->judges && r.local.objective.name == "control-variate") {
    return usage_error(
        "aggregation.in-group: \"{}\" does not go with local.objective = \"{}\": what members send besides their "
        "models is summed, and nothing judges it; want samples-weighted | uniform",
        r.aggregation.in_group, r.local.objective.name);
  }
  return check_pairing(global, r.local.objective.name);
}

// Does the guarantee hold for all that clients send, and for all that is made of it?
Status check_privacy(const Recipe& r) {
  if (!r.dp.on()) return {};
  const auto refused = [&](const char* key, const std::string& value, const char* why, const char* want) {
    return usage_error("{}: {} does not go with dp.clip = {}: {}; want {}", key, value, *r.dp.clip, why, want);
  };
  const auto quoted = [](const std::string& word) { return fmt::format("\"{}\"", word); };
  if (trains_in_sequence(r) && forms_groups(r)) {
    return refused("training.mode", quoted(r.training.mode), "members see each other's models before noise is added",
                   "\"parallel\"");
  }
  if (r.training.group_rounds != 1 && forms_groups(r)) {
    return refused("training.group-rounds", fmt::format("{}", r.training.group_rounds),
                   "what members send within a round goes into models without noise", "1");
  }
  if (forms_groups(r) && r.aggregation.in_group != "uniform" && !sums_securely(r)) {
    return refused("aggregation.in-group", quoted(r.aggregation.in_group),
                   "how much a client counts must not depend on what it claims or sends",
                   "\"uniform\", or \"secure-sum\", in which all count alike then");
  }
  if (sums_securely(r) && r.training.secure.neighbours > 0) {
    return refused("secure.neighbours", fmt::format("{}", r.training.secure.neighbours),
                   "how many members' noise is in a sum follows from a threshold of all of them", "0");
  }
  if (sums_securely(r) && r.training.secure.most_samples.value_or(1) != 1) {
    return refused("secure.most-samples", fmt::format("{}", *r.training.secure.most_samples),
                   "all members of a private sum count alike", "it unset");
  }
  const std::string& global = r.aggregation.global;
  if (global != "uniform" && global != "adagrad" && global != "adam" && global != "yogi") {
    return refused("aggregation.global", quoted(global), "the server must need nothing but the noisy mean of changes",
                   "uniform | adagrad | adam | yogi");
  }
  if (r.local.adapt_epochs) {
    return refused("local.adapt-epochs", fmt::format("{}", *r.local.adapt_epochs),
                   "clients' losses decide how long they train, and no noise hides those", "it unset");
  }
  const ProfileGives told = told_by(r);
  if (forms_groups(r) && told != ProfileGives::kNothing && !(told == ProfileGives::kLabels && r.profile.epsilon)) {
    return refused("profile.kind", quoted(r.profile.kind), "groups are formed by what clients tell without noise",
                   "label-histogram with profile.epsilon, or a grouping.method that needs no profile");
  }
  return {};
}

// Can the attack be carried out?
Status check_attack(const Recipe& r) {
  if (r.attack.kind == "lying-histogram" && told_by(r) != ProfileGives::kLabels) {
    return usage_error(
        "attack.kind: \"{}\", but nobody tells labels with profile.kind = \"{}\"; want profile.kind = {}",
        r.attack.kind, r.profile.kind,
        kinds_that([](const ProfileEntry& e) { return e.gives == ProfileGives::kLabels; }));
  }
  if (r.attack.kind == "label-flip" && r.attack.source == r.attack.target) {
    return usage_error("attack.source: {}, which is attack.target, too; want another class", r.attack.source);
  }
  const AttackEntry* const entry = find_attack(r.attack.kind);
  const bool sends = entry && std::ranges::any_of(
                                  entry->keys, [](const std::string& key) { return key == "scale" || key == "noise"; });
  if (sends && keeps_models_in_clients(r)) {
    return usage_error("attack.kind: \"{}\" changes what clients send, and with {} they send no models; want {}",
                       r.attack.kind, "aggregation.global = \"none\" and groups of one", "label-flip | backdoor");
  }
  return {};
}

// Does anything need what a member sends by itself, which this choice hides?
Status check_nothing_looks(const Recipe& r, const std::string& hides) {
  const auto hidden = [&](const char* key, const std::string& value, const char* why, const char* want) {
    return usage_error("{}: {} does not go with {}: {}; want {}", key, value, hides, why, want);
  };
  const auto quoted = [](const std::string& word) { return fmt::format("\"{}\"", word); };
  if (!r.plan.regroup.on.empty()) {
    return hidden("plan.regroup-on", quoted(r.plan.regroup.on), "it looks at what every member sent in a round",
                  "plan.regroup-every, or groups that stay");
  }
  if (newcomer_entry(r).asks == NewcomerAsks::kSent) {
    return hidden("newcomers.assign", quoted(newcomer_entry(r).name), "it compares what every client sent",
                  "argmin-loss | random");
  }
  if (r.evaluation.discrepancy) {
    return hidden("evaluation.discrepancy", "true", "it measures every model that was sent", "false");
  }
  return {};
}

// Would somebody learn how many samples a client has?
Status check_hidden_samples(const Recipe& r) {
  const SecureOptions& secure = r.training.secure;
  if (!secure.hides_samples()) return {};
  if (const std::optional<TellsSamples> found = tells_samples(r)) {
    return usage_error("{}: {} does not go with secure.samples = \"{}\": {}; want {}", found->key, found->value,
                       secure.samples, found->why, found->want);
  }
  if (held_by_clients(r.data) && !r.dp.on() && !secure.most_samples) {
    return usage_error(
        "secure.most-samples: not set, and with secure.samples = \"{}\" no client tells how many it has; want a number "
        "that none exceeds",
        secure.samples);
  }
  return {};
}

// Can the members of a group be summed securely?
Status check_secure(const Recipe& r) {
  if (relays_sealed(r)) {
    if (takes_payload(r.aggregation.global)) {
      return usage_error(
          "local.objective: \"{}\" does not go with training.relay = \"sealed\": clients send more than models, which "
          "it does not hide; want plain | prox | dynamic",
          r.local.objective.name);
    }
    return check_nothing_looks(r, "training.relay = \"sealed\"");
  }
  if (!sums_securely(r)) return {};
  const SecureOptions& secure = r.training.secure;
  if (secure.neighbours % 2 != 0) return usage_error("secure.neighbours: {}, want an even number", secure.neighbours);
  if (secure.bits && *secure.bits != 32 && *secure.bits != 64) {
    return usage_error("secure.bits: {}, want 32 or 64", *secure.bits);
  }
  const std::string hides = "aggregation.in-group = \"secure-sum\"";
  if (r.deployment.over_select > 1) {
    return usage_error(
        "deployment.over-select: {} does not go with {}: members whose answers are not awaited are lost to the sum; "
        "want 1",
        r.deployment.over_select, hides);
  }
  if (r.local.adapt_epochs) {
    return usage_error(
        "local.adapt-epochs: {} does not go with {}: a server that tells every client how long to train can have all "
        "but one train nothing, and see what that one sends; want it unset",
        *r.local.adapt_epochs, hides);
  }
  if (trains_profiles(r)) {
    return usage_error(
        "profile.kind: \"{}\" does not go with {}: clients would tell what they learn from their samples; want "
        "label-histogram | none",
        r.profile.kind, hides);
  }
  MUSTER_TRY(check_hidden_samples(r));
  return check_nothing_looks(r, hides);
}

Status check_local(const Recipe& r) {
  const auto names_head = [](const std::string& part) {
    return part == "head" || part == "classifier" || part == "all";
  };
  if (!r.plan.regroup.on.empty() && tells_weights(r) && std::ranges::any_of(r.local.personal, names_head)) {
    return usage_error(
        "local.personal: \"{}\" is never sent, but plan.regroup-on = \"{}\" groups by profile.kind = \"{}\"; want "
        "profile.kind = \"update-direction\"",
        *std::ranges::find_if(r.local.personal, names_head), r.plan.regroup.on, r.profile.kind);
  }
  // The distance walked is the mean gradient only with plain steps.
  if (r.local.objective.control == ObjectiveOptions{}.control && optimizer_has_state(r) &&
      !failing_condition(*find_key("local.control"), r)) {
    return usage_error(
        "local.control: \"{}\" needs sgd without momentum, because only then is the distance walked the mean gradient; "
        "want local.control = \"gradient\"",
        r.local.objective.control);
  }
  return {};
}

Status check_data(const Recipe& r) {
  if (r.data.samples_min && r.data.samples_max && *r.data.samples_min > *r.data.samples_max) {
    return usage_error("data.samples-min: {}, want <= data.samples-max = {}", *r.data.samples_min, *r.data.samples_max);
  }
  if (!r.data.shape.empty() && r.data.shape.size() != 3) {
    return usage_error("data.shape: {} numbers, want 3: height, width, channels", r.data.shape.size());
  }
  if (r.data.rotations && *r.data.rotations == 3) return usage_error("data.rotations: 3, want 1, 2 or 4");
  return {};
}

// The key, or the condition, is about the data: what other sections choose says nothing about those.
bool concerns_data(std::string_view name) {
  return name.empty() || name.starts_with("data.");
}

Status check_data_effects(const Recipe& recipe) {
  for (const Key& key : recipe_key_table()) {
    const std::string name = full_name(key.info);
    const auto given = std::ranges::find(recipe.given, name, &GivenKey::key);
    if (given == recipe.given.end()) continue;
    if (!concerns_data(name) && name != "seed") {
      return usage_error("{}: {}: {} has no effect on the data; want keys of [data], or seed", given->where, name,
                         given->value);
    }
    for (const Condition& condition : key.conditions) {
      if (!concerns_data(condition.choice) || condition.holds(recipe)) continue;
      return usage_error("{}: {}: {} {}", given->where, name, given->value, why_no_effect(condition, recipe));
    }
  }
  return {};
}

// Nobody here knows how long it takes to train a sample of an external model.
Status check_external_time(const Recipe& r) {
  if (prices_chains(r) && !r.cost.sample_mflop) {
    return usage_error(
        "cost.sample-mflop: not set, and model.name = \"{}\" does not tell what a sample costs; want a number",
        r.model.name);
  }
  if (r.budget && r.cost.model == CostOptions{}.model) {
    return usage_error(
        "budget: {}, but cost.model = \"{}\" cannot tell how long clients train a model.name = \"{}\"; want "
        "cost.model = \"group-operations\" | \"chain\", or target-accuracy",
        *r.budget, r.cost.model, r.model.name);
  }
  return {};
}

// Does anything ask for layers that only the clients know, or for a model that only they can run?
Status check_external(const Recipe& r) {
  if (!is_external(r.model)) return {};
  const auto refused = [&](const char* key, const std::string& value, const char* why) {
    return usage_error("{}: {} does not go with model.name = \"{}\": {}", key, value, r.model.name, why);
  };
  const auto first = [](const std::vector<std::string>& words) { return fmt::format("\"{}\"", words.front()); };
  constexpr char kClientsKnow[] = "which layers it has, only its clients know; let them do it by themselves";
  if (!r.local.personal.empty()) return refused("local.personal", first(r.local.personal), kClientsKnow);
  if (!r.local.freeze.empty()) return refused("local.freeze", first(r.local.freeze), kClientsKnow);
  for (const std::string& part : r.aggregation.shared) {
    if (part != "all" && find_entry(part_words(), part)) {
      return refused("aggregation.shared", fmt::format("\"{}\"", part),
                     "which layers it has, only its clients know; want names of tensors, or what they begin with");
    }
  }
  if (seeds_models(r)) {
    return refused("grouping.method", fmt::format("\"{}\"", r.grouping.method),
                   "it begins with a model drawn for every group, and model.path has one");
  }
  if (told_by(r) == ProfileGives::kProbabilities || tells_weights(r) || r.profile.variance) {
    return refused("profile.kind", fmt::format("\"{}\"", r.profile.kind),
                   "it is about layers, which only the clients know; want label-histogram | update-direction | none");
  }
  const EvaluationEntry* const target = find_entry(evaluation_targets(), r.evaluation.on);
  if (target && target->global) {
    return refused("evaluation.on", fmt::format("\"{}\"", r.evaluation.on),
                   "only its clients can run it; want \"clients\"");
  }
  return check_external_time(r);
}

Status check_simulated_time(const Recipe& r) {
  MUSTER_TRY(check_cost(r.cost, r.local.objective.name));
  if (prices_chains(r) && !trains_in_sequence(r) && forms_groups(r)) {
    return usage_error(
        "cost.model: \"{}\" counts members one after the other; want training.mode = \"sequential\" or single clients",
        r.cost.model);
  }
  return {};
}

}  // namespace

Status check_recipe(const Recipe& r) {
  MUSTER_TRY(check_values(r));
  MUSTER_TRY(check_effects(r));
  MUSTER_TRY(check_model(r.model, fusion_of(r.local.objective)));
  MUSTER_TRY(check_profile(r.profile));
  MUSTER_TRY(check_plan(r.plan));
  MUSTER_TRY(check_profiles(r));
  MUSTER_TRY(check_regrouping(r));
  MUSTER_TRY(check_method(r));
  MUSTER_TRY(check_newcomers(r));
  MUSTER_TRY(check_models(r));
  MUSTER_TRY(check_attack(r));
  MUSTER_TRY(check_privacy(r));
  MUSTER_TRY(check_secure(r));
  MUSTER_TRY(check_local(r));
  MUSTER_TRY(check_data(r));
  MUSTER_TRY(check_external(r));
  return check_simulated_time(r);
}

Status check_data_settings(const Recipe& r) {
  MUSTER_TRY(check_data_effects(r));
  return check_data(r);
}

}  // namespace muster
