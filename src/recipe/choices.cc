#include "recipe/choices.h"

#include <algorithm>

#include "aggregate/merge_rule.h"
#include "data/partition.h"
#include "plan/regroup_event.h"
#include "recipe/from_catalogues.h"

namespace muster {
namespace {

const GrouperEntry* grouper_of(const Recipe& recipe) {
  static FromCatalogues<std::vector<GrouperEntry>> methods(groupers);
  return find_entry(methods.get(), recipe.grouping.method);
}

const ProfileEntry* profile_of(const Recipe& recipe) {
  static FromCatalogues<std::vector<ProfileEntry>> kinds(profile_kinds);
  return find_entry(kinds.get(), recipe.profile.kind);
}

}  // namespace

const std::vector<TrainingMode>& training_modes() {
  static const std::vector<TrainingMode> list{
      {.name = "parallel", .summary = "members train from the same model and are averaged"},
      {.name = "sequential", .summary = "the model walks from member to member", .in_sequence = true}};
  return list;
}

const std::vector<OptimizerEntry>& optimizers() {
  static const std::vector<OptimizerEntry> list{
      {.name = "sgd", .summary = "stochastic gradient descent, with momentum if wanted"},
      {.name = "adam", .summary = "Adam", .adaptive = true}};
  return list;
}

const std::vector<EvaluationEntry>& evaluation_targets() {
  static const std::vector<EvaluationEntry> list{
      {.name = "auto",
       .summary = "the server's test set where there is one and one model for all, else the clients' own, else none"},
      {.name = "global", .summary = "the server's test set", .global = true},
      {.name = "clients", .summary = "every client's own test samples", .clients = true},
      {.name = "both", .summary = "the server's test set and the clients' own", .global = true, .clients = true}};
  return list;
}

const std::vector<MetricEntry>& evaluation_metrics() {
  static const std::vector<MetricEntry> list{
      {.name = "confusion", .summary = "how many samples of each class were taken for which"},
      {.name = "per-class", .summary = "precision, recall and F1 of each class"},
      {.name = "macro-f1", .summary = "the mean F1 of the classes"},
      {.name = "auc", .summary = "area under the ROC curve, of two classes"}};
  return list;
}

const std::vector<ScoreEntry>& complement_scores() {
  static const std::vector<ScoreEntry> list{{"kl", true}, {"gini", true}, {"cosine", false}, {"wasserstein", false}};
  return list;
}

bool forms_groups(const Recipe& recipe) {
  const GrouperEntry* const found = grouper_of(recipe);
  return !found || !found->alone;
}

bool sums_securely(const Recipe& recipe) {
  return forms_groups(recipe) && !trains_in_sequence(recipe) && recipe.aggregation.in_group == kSecureSum;
}

bool hides_samples(const Recipe& recipe) {
  return sums_securely(recipe) && recipe.training.secure.hides_samples();
}

bool clients_add_noise(const Recipe& recipe) {
  return (recipe.dp.on() && sums_securely(recipe)) ||
         (recipe.profile.epsilon && told_by(recipe) == ProfileGives::kLabels);
}

bool relays_sealed(const Recipe& recipe) {
  return forms_groups(recipe) && trains_in_sequence(recipe) && recipe.training.relay == kSealedRelay;
}

std::string group_operation(const Recipe& recipe) {
  const bool merges = forms_groups(recipe) && !trains_in_sequence(recipe);
  return merges && find_merge_rule(recipe.aggregation.in_group) ? recipe.aggregation.in_group : std::string(kSecureSum);
}

bool trains_in_sequence(const Recipe& recipe) {
  const TrainingMode* const mode = find_entry(training_modes(), recipe.training.mode);
  return mode && mode->in_sequence;
}

bool keeps_models_per_group(const Recipe& recipe) {
  const AggregationEntry* const entry = find_aggregation(recipe.aggregation.global);
  return entry && entry->models == ModelKeeping::kPerGroup;
}

bool keeps_models_in_clients(const Recipe& recipe) {
  return keeps_models_per_group(recipe) && !forms_groups(recipe);
}

bool keeps_parts_in_clients(const Recipe& recipe) {
  return !recipe.local.personal.empty() || recipe.local.own_model.has_value();
}

bool scores_clients_apart(const Recipe& recipe) {
  return keeps_models_in_clients(recipe) || keeps_parts_in_clients(recipe) || recipe.local.fine_tune.has_value() ||
         is_external(recipe.model);
}

bool merges_into_one(const Recipe& recipe) {
  const AggregationEntry* const entry = find_aggregation(recipe.aggregation.global);
  return entry && entry->models == ModelKeeping::kShared;
}

bool optimizer_has_state(const Recipe& recipe) {
  const OptimizerEntry* const entry = find_entry(optimizers(), recipe.local.optimizer);
  return entry && (entry->adaptive || recipe.local.momentum > 0);
}

bool clients_have_state(const Recipe& recipe) {
  const auto objective = make_objective(recipe.local.objective);
  return (objective.ok() && (*objective)->has_state()) || recipe.local.keep_optimizer ||
         keeps_models_in_clients(recipe) || keeps_parts_in_clients(recipe) || remembers_sent(recipe);
}

ProfileGives told_by(const Recipe& recipe) {
  const ProfileEntry* const found = profile_of(recipe);
  return found ? found->gives : ProfileGives::kNothing;
}

bool trains_profiles(const Recipe& recipe) {
  const ProfileEntry* const found = profile_of(recipe);
  return found && found->trains;
}

bool tells_vectors(ProfileGives gives) {
  return gives != ProfileGives::kNothing && gives != ProfileGives::kLabels;
}

GroupingNeed needed_by_grouper(const Recipe& recipe) {
  const GrouperEntry* const found = grouper_of(recipe);
  return found ? found->need : GroupingNeed::kNothing;
}

bool grouper_has_key(const Recipe& recipe, std::string_view key) {
  const GrouperEntry* const found = grouper_of(recipe);
  return found && std::ranges::find(found->keys, key) != found->keys.end();
}

bool groups_by_samples(const Recipe& recipe) {
  const GroupingOptions& g = recipe.grouping;
  // "random" has a quota only where it is asked for one.
  return grouper_has_key(recipe, "min-samples") && (!grouper_has_key(recipe, "size") || g.min_samples || g.max_clients);
}

bool groups_by_losses(const Recipe& recipe) {
  const GrouperEntry* const found = grouper_of(recipe);
  return found && found->by_losses;
}

bool seeds_models(const Recipe& recipe) {
  const GrouperEntry* const found = grouper_of(recipe);
  if (!found || found->joined_by.empty()) return false;
  return found->by_losses || told_by(recipe) == ProfileGives::kNothing;
}

std::string joined_by(const Recipe& recipe) {
  const GrouperEntry* const found = grouper_of(recipe);
  return found ? found->joined_by : std::string();
}

bool places_by_models(const Recipe& recipe) {
  const NewcomerAsks asks = newcomer_entry(recipe).asks;
  return asks == NewcomerAsks::kLosses || asks == NewcomerAsks::kSent;
}

bool rejoins(const Recipe& recipe) {
  return recipe.newcomers.rejoin || seeds_models(recipe);
}

bool remembers_sent(const Recipe& recipe) {
  const NewcomerEntry* const rule = find_entry(newcomer_rules(), newcomer_rule_of(recipe));
  return rule && rule->asks == NewcomerAsks::kSent;
}

bool event_splits(const Recipe& recipe) {
  const EventEntry* const event = find_entry(event_entries(), recipe.plan.regroup.on);
  return event && event->splits;
}

const NewcomerEntry& newcomer_entry(const Recipe& recipe) {
  return *find_entry(newcomer_rules(), newcomer_rule_of(recipe));
}

bool tells_updates(const Recipe& recipe) {
  const auto kind = make_profile_kind(recipe.profile);
  return kind.ok() && (*kind)->directs_start();
}

bool tells_weights(const Recipe& recipe) {
  const auto kind = make_profile_kind(recipe.profile);
  return kind.ok() && (*kind)->entry().observable && !(*kind)->directs_start() && !(*kind)->kept_variance();
}

bool prices_chains(const Recipe& recipe) {
  return recipe.cost.model == "chain";
}

std::optional<std::uint32_t> known_clients(const Recipe& recipe) {
  if (recipe.data.clients) return recipe.data.clients;
  // Clients of the source's own are counted when it is read.
  if (recipe.data.partition.empty() || recipe.data.partition == "natural") return std::nullopt;
  const auto law = find_partition_law(recipe.data.partition);
  if (!law) return std::nullopt;
  return (*law)->default_clients;
}

}  // namespace muster
