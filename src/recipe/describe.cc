// A recipe in words.
#include <fmt/ranges.h>

#include <algorithm>

#include "recipe/choices.h"
#include "recipe/keys.h"
#include "recipe/recipe.h"

namespace muster {
namespace {

std::string in_words(const Amount& amount, const char* things) {
  if (const auto* count = std::get_if<std::uint32_t>(&amount.value)) return fmt::format("{} {}", *count, things);
  const double share = std::get<double>(amount.value);
  return share == 1 ? fmt::format("all {}", things) : fmt::format("{:g} % of the {}", 100 * share, things);
}

std::string how_groups_form(const Recipe& r) {
  if (seeds_models(r)) {
    return fmt::format("groups begin with random models, and whoever takes part joins one by {}", joined_by(r));
  }
  std::string text;
  if (told_by(r) != ProfileGives::kNothing) {
    text += fmt::format("{} tell their {}, ", in_words(r.profile_clients, "clients"), r.profile.kind);
  }
  text += fmt::format("groups are formed by {}", r.grouping.method);
  if (r.data.edges > 1) text += fmt::format(" on each of {} edges", r.data.edges);
  if (r.plan.groups) {
    text += r.plan.groups->growth == GroupSchedule{}.growth
                ? fmt::format(", {} of them", r.plan.groups->beta)
                : fmt::format(", their number grows ({})", r.plan.groups->growth);
  }
  if (r.plan.regroup.every) {
    return text + (*r.plan.regroup.every == 1 ? ", anew every round"
                                              : fmt::format(", anew every {} rounds", *r.plan.regroup.every));
  }
  return text + (r.plan.regroup.on.empty() ? ", once" : fmt::format(", on the event {}", r.plan.regroup.on));
}

std::string how_members_train(const Recipe& r) {
  if (trains_in_sequence(r)) {
    return r.training.passes == 1 ? "one member after the other"
                                  : fmt::format("one member after the other, {} times", r.training.passes);
  }
  return r.training.group_rounds == 1
             ? "members side by side"
             : fmt::format("members side by side for {} group rounds", r.training.group_rounds);
}

std::string what_becomes_of_models(const Recipe& r) {
  const AggregationEntry* const entry = find_aggregation(r.aggregation.global);
  switch (entry ? entry->models : ModelKeeping::kShared) {
    case ModelKeeping::kPerGroup:
      return forms_groups(r) ? "every group keeps its model" : "keep their own models";
    case ModelKeeping::kSlots:
      return "models pass from group to group between averages";
    case ModelKeeping::kShared:
      break;
  }
  return fmt::format("are merged by {}", r.aggregation.global);
}

// The first round from which every group is a single client, if the schedule gets there.
std::optional<std::uint32_t> round_of_single_clients(const Recipe& r) {
  const std::optional<std::uint32_t> clients = known_clients(r);
  if (!forms_groups(r) || !r.plan.groups || !r.plan.regroup.every || r.data.edges > 1 || !clients || *clients < 2) {
    return std::nullopt;
  }
  // A group with a client of every cluster has as many members as there are clusters, which is a whole number.
  const bool whole_clusters = grouper_has_key(r, "rows");
  for (std::uint64_t round = 1; round <= r.rounds; round += *r.plan.regroup.every) {
    const std::uint32_t groups = scheduled_groups(*r.plan.groups, static_cast<std::uint32_t>(round), *clients);
    if (whole_clusters ? *clients / groups == 1 : groups == *clients) return static_cast<std::uint32_t>(round);
    if (r.plan.groups->growth == GroupSchedule{}.growth) break;
  }
  return std::nullopt;
}

}  // namespace

std::string describe_recipe(const Recipe& r) {
  std::string text = fmt::format("{} on {}: ", r.model.name, r.data.source);
  if (forms_groups(r)) text += how_groups_form(r) + "; ";
  const std::string drawn =
      r.plan.sample_groups ? in_words(*r.plan.sample_groups, "groups") : in_words(r.plan.sample_clients, "clients");
  std::string work = r.local.steps ? fmt::format("{} step{}", *r.local.steps, *r.local.steps == 1 ? "" : "s")
                                   : fmt::format("{:g} epoch{}", r.local.epochs, r.local.epochs == 1 ? "" : "s");
  if (r.local.adapt_epochs) work += " (more where losses lag)";
  text += fmt::format(
      "each round {} are sampled ({}), train {} of {} at rate {:g} in batches of {} with the {} objective, ", drawn,
      r.plan.sampling, work, r.local.optimizer, r.local.learning_rate, r.local.batch_size, r.local.objective.name);
  if (forms_groups(r)) text += how_members_train(r) + ", ";
  if (!r.local.personal.empty())
    text += fmt::format("keep their {} to themselves, ", fmt::join(r.local.personal, ", "));
  if (r.local.own_model) text += "train a model of their own besides, ";
  return text + "and " + what_becomes_of_models(r);
}

std::vector<std::string> recipe_notes(const Recipe& r) {
  std::vector<std::string> notes;
  if (const auto round = round_of_single_clients(r)) {
    notes.push_back(fmt::format(
        "from round {} on every group is a single client: plan.groups reaches the {} clients; for groups to the end "
        "take more clients, fewer rounds or slower growth",
        *round, *known_clients(r)));
  }
  return notes;
}

}  // namespace muster
