// The words of a recipe that no earlier stage lists itself, with what each implies; and the questions that checks,
// descriptions and keys ask of a recipe. Nobody else compares these words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plan/newcomer_rule.h"
#include "recipe/recipe.h"

namespace muster {

struct TrainingMode {
  std::string name;
  std::string summary;
  bool in_sequence = false;  // members train one after the other
};
[[nodiscard]] const std::vector<TrainingMode>& training_modes();

struct OptimizerEntry {
  std::string name;
  std::string summary;
  bool adaptive = false;  // has state also without momentum
};
[[nodiscard]] const std::vector<OptimizerEntry>& optimizers();

struct EvaluationEntry {
  std::string name;
  std::string summary;
  bool global = false;   // certainly the server's test set
  bool clients = false;  // certainly the clients' own
};
[[nodiscard]] const std::vector<EvaluationEntry>& evaluation_targets();

struct MetricEntry {
  std::string name;
  std::string summary;
};
// Of evaluation.metrics.
[[nodiscard]] const std::vector<MetricEntry>& evaluation_metrics();
// Beyond so many classes a matrix of them helps nobody, and fills the files.
inline constexpr std::uint32_t kMostConfusedClasses = 100;

struct ScoreEntry {
  std::string name;
  bool of_probabilities = false;  // means nothing for other vectors
};
// Of grouping.score; the first is the default.
[[nodiscard]] const std::vector<ScoreEntry>& complement_scores();

// The entry of that name, or null. Of a list that stays: it points into it.
template <typename Entries>
auto find_entry(const Entries&& entries, std::string_view name) = delete;
template <typename Entries>
[[nodiscard]] auto find_entry(const Entries& entries, std::string_view name) -> decltype(&*entries.begin()) {
  for (const auto& entry : entries) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}
template <typename Entries>
[[nodiscard]] std::vector<std::string> names_of(const Entries& entries) {
  std::vector<std::string> names;
  for (const auto& entry : entries) names.emplace_back(entry.name);
  return names;
}

// Questions. A word that is no entry's name answers no.
[[nodiscard]] bool forms_groups(const Recipe& recipe);  // of more than one client
[[nodiscard]] bool trains_in_sequence(const Recipe& recipe);
[[nodiscard]] bool sums_securely(const Recipe& recipe);      // the members of a group
[[nodiscard]] bool hides_samples(const Recipe& recipe);      // how many clients have: secure sums alone count
[[nodiscard]] bool clients_add_noise(const Recipe& recipe);  // to what they tell or sum, of their own
[[nodiscard]] bool relays_sealed(const Recipe& recipe);      // models, from member to member of a chain
// What the members of a group are charged for by cost.model = "group-operations": the rule that merges them, or else,
// as in Group-FEL's paper, a secure sum.
[[nodiscard]] std::string group_operation(const Recipe& recipe);
[[nodiscard]] bool keeps_models_per_group(const Recipe& recipe);   // also where every client is its own group
[[nodiscard]] bool keeps_models_in_clients(const Recipe& recipe);  // every client its own, the server none
[[nodiscard]] bool keeps_parts_in_clients(const Recipe& recipe);   // beside what they share: a part, or a model more
// Clients are scored with models that the server does not have: their own, or with a part of their own, or tuned; or
// with one that only they can run.
[[nodiscard]] bool scores_clients_apart(const Recipe& recipe);
[[nodiscard]] bool merges_into_one(const Recipe& recipe);  // everybody shares one model, which the server merges
[[nodiscard]] bool optimizer_has_state(const Recipe& recipe);
[[nodiscard]] bool clients_have_state(const Recipe& recipe);  // that outlives a round
// What profile.kind gives; nothing where the kind is unknown.
[[nodiscard]] ProfileGives told_by(const Recipe& recipe);
[[nodiscard]] bool trains_profiles(const Recipe& recipe);  // clients train to tell theirs
[[nodiscard]] bool tells_vectors(ProfileGives gives);
// What grouping.method cannot do without; nothing where the method is unknown.
[[nodiscard]] GroupingNeed needed_by_grouper(const Recipe& recipe);
[[nodiscard]] bool grouper_has_key(const Recipe& recipe, std::string_view key);
[[nodiscard]] bool groups_by_samples(const Recipe& recipe);  // a group is complete when it has enough of them
// The method goes by losses of the groups' own models.
[[nodiscard]] bool groups_by_losses(const Recipe& recipe);
// A run begins with groups that have a model each, drawn at random, and no members; clients join one by joined_by().
[[nodiscard]] bool seeds_models(const Recipe& recipe);
[[nodiscard]] std::string joined_by(const Recipe& recipe);
// Clients in no group are placed by the models that groups have now.
[[nodiscard]] bool places_by_models(const Recipe& recipe);
// Whoever takes part chooses its group anew.
[[nodiscard]] bool rejoins(const Recipe& recipe);
// The server remembers what each client sent last.
[[nodiscard]] bool remembers_sent(const Recipe& recipe);
// The event splits the groups there are, by the grouping method of its name.
[[nodiscard]] bool event_splits(const Recipe& recipe);
// The rule that places clients in no group, by newcomer_rule_of(). Precondition: there is such a rule.
[[nodiscard]] const NewcomerEntry& newcomer_entry(const Recipe& recipe);
// Profiles are changes of a model, or weights of one, as they are.
[[nodiscard]] bool tells_updates(const Recipe& recipe);
[[nodiscard]] bool tells_weights(const Recipe& recipe);

// The cost model holds only where members train one after the other.
[[nodiscard]] bool prices_chains(const Recipe& recipe);

// The number of clients, where the recipe alone says it.
[[nodiscard]] std::optional<std::uint32_t> known_clients(const Recipe& recipe);

}  // namespace muster
