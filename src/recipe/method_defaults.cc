#include "recipe/method_defaults.h"

#include "cost/cost_defaults.h"
#include "grouping/group_defaults.h"
#include "model/model_defaults.h"
#include "plan/regroup.h"
#include "profile/profile_defaults.h"
#include "recipe/choices.h"
#include "recipe/keys.h"
#include "solver/attack_defaults.h"
#include "solver/objective.h"

namespace muster {

void unset_without_effect(Recipe& recipe, const Recipe& before) {
  for (const Key& key : recipe_key_table()) {
    const bool added = key.get(before).empty() && !key.get(recipe).empty();
    if (added && failing_condition(key, recipe)) key.reset(recipe);
  }
}

void fill_in_defaults(Recipe& recipe, std::uint32_t classes) {
  const Recipe before = recipe;
  recipe.model = with_defaults(std::move(recipe.model));
  recipe.profile = with_defaults(std::move(recipe.profile));
  if (recipe.plan.regroup.calibrate) {  // then they are not lengths
    GroupingOptions& grouping = recipe.grouping;
    if (!grouping.epsilon_mean) grouping.epsilon_mean = kShareOfMean;
    if (!grouping.epsilon_max) grouping.epsilon_max = kShareOfLongest;
  }
  recipe.grouping = with_defaults(std::move(recipe.grouping), classes);
  recipe.cost = with_defaults(std::move(recipe.cost), recipe.local.objective.name);
  if (!recipe.plan.regroup.on.empty()) recipe.plan.regroup.round = earliest_event(recipe.plan.regroup);
  if (forms_groups(recipe)) recipe.newcomers.assign = newcomer_rule_of(recipe);
  recipe.attack = with_defaults(std::move(recipe.attack));
  if (recipe.faults.stragglers.empty()) {
    if (const auto objective = make_objective(recipe.local.objective)) {
      recipe.faults.stragglers = (*objective)->takes_partial_work() ? "partial" : "drop";
    }
  }
  unset_without_effect(recipe, before);
}

}  // namespace muster
