// The conditions of keys: what a recipe must say for a key to have an effect. Those that a catalogue of choices knows
// are derived from it.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "recipe/keys.h"

namespace muster {

// A key whose value is one of some words.
struct ChoiceKey {
  const char* key;
  const std::string& (*word)(const Recipe&);
};
inline constexpr ChoiceKey kNetwork{"model.name", [](const Recipe& r) -> const std::string& { return r.model.name; }};
inline constexpr ChoiceKey kOptimizer{"local.optimizer",
                                      [](const Recipe& r) -> const std::string& { return r.local.optimizer; }};
inline constexpr ChoiceKey kSchedule{"local.schedule",
                                     [](const Recipe& r) -> const std::string& { return r.local.schedule; }};
inline constexpr ChoiceKey kObjective{"local.objective",
                                      [](const Recipe& r) -> const std::string& { return r.local.objective.name; }};
inline constexpr ChoiceKey kProfileKind{"profile.kind",
                                        [](const Recipe& r) -> const std::string& { return r.profile.kind; }};
inline constexpr ChoiceKey kGroupingMethod{"grouping.method",
                                           [](const Recipe& r) -> const std::string& { return r.grouping.method; }};
inline constexpr ChoiceKey kEvent{"plan.regroup-on",
                                  [](const Recipe& r) -> const std::string& { return r.plan.regroup.on; }};
inline constexpr ChoiceKey kTrainingMode{"training.mode",
                                         [](const Recipe& r) -> const std::string& { return r.training.mode; }};
inline constexpr ChoiceKey kAggregation{"aggregation.global",
                                        [](const Recipe& r) -> const std::string& { return r.aggregation.global; }};
inline constexpr ChoiceKey kEvaluatedOn{"evaluation.on",
                                        [](const Recipe& r) -> const std::string& { return r.evaluation.on; }};
inline constexpr ChoiceKey kAttackKind{"attack.kind",
                                       [](const Recipe& r) -> const std::string& { return r.attack.kind; }};
inline constexpr ChoiceKey kCostModel{"cost.model", [](const Recipe& r) -> const std::string& { return r.cost.model; }};

// The choice says one of `words`.
[[nodiscard]] Condition with(ChoiceKey choice, std::vector<std::string> words);
// Some other key is set, or set in some way.
[[nodiscard]] Condition needs(const char* wants, bool (*holds)(const Recipe&));
// No other key takes its place.
[[nodiscard]] Condition unless(const char* other, bool (*excluded)(const Recipe&), std::string (*found)(const Recipe&));
// There are groups of several clients.
[[nodiscard]] Condition with_groups();
// Clients train for their profile, beside the rounds.
[[nodiscard]] Condition trains_for_profile();

// The choice's entry in its catalogue lists the key; nothing where all entries do.
[[nodiscard]] std::optional<Condition> data_key(std::string_view key);  // of the source, or of the partition
[[nodiscard]] std::optional<Condition> model_key(std::string_view key);
[[nodiscard]] std::optional<Condition> schedule_key(std::string_view key);
[[nodiscard]] std::optional<Condition> objective_key(std::string_view key);
[[nodiscard]] std::optional<Condition> profile_key(std::string_view key);
[[nodiscard]] std::optional<Condition> grouping_key(std::string_view key);
[[nodiscard]] std::optional<Condition> aggregation_key(std::string_view key);
[[nodiscard]] std::optional<Condition> attack_key(std::string_view key);
[[nodiscard]] std::optional<Condition> cost_key(std::string_view key);
// There is an event, and its entry lists the key.
[[nodiscard]] Condition event_key(std::string_view key);

// The sampler lists the key.
[[nodiscard]] bool sampler_has_key(const Recipe& recipe, std::string_view key);
// Somebody may be in no group.
[[nodiscard]] bool may_need_placing(const Recipe& recipe);
// Groups are formed by vectors that clients tell, or that are read off what they send.
[[nodiscard]] bool groups_by_vectors(const Recipe& recipe);
// Groups are formed more than once, so that the later ones can go by what happened before.
[[nodiscard]] bool groups_again(const Recipe& recipe);
// Momentum begins at zero with every visit unless it is kept, so that the first step does not know it.
[[nodiscard]] bool keeps_momentum(const Recipe& recipe);

}  // namespace muster
