#include "recipe/facts.h"

#include <algorithm>
#include <vector>

#include "recipe/choices.h"
#include "recipe/keys.h"

namespace muster {
namespace {

// 3120 -> "3,120".
std::string with_commas(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

// The fewest clients among whom groups are ever formed: without those that come late, and only those asked.
std::uint32_t grouped_clients(const Recipe& r, const RecipeFacts& facts) {
  std::uint32_t present = facts.clients_with_samples - std::min(facts.clients_with_samples, facts.late);
  // Late clients are drawn from all, so that some of them may have no samples: then more are there.
  if (facts.late > 0) present = std::max(present, 1u);
  return r.plan.regroup.on.empty() && told_by(r) != ProfileGives::kNothing ? r.profile_clients.of(present) : present;
}

std::string clients_in_words(const RecipeFacts& facts, std::uint32_t grouped) {
  if (grouped == facts.clients_with_samples) return fmt::format("there are {} clients with samples", grouped);
  if (facts.late > 0) return fmt::format("{} clients are there in round 1", grouped);
  return fmt::format("{} clients are asked for their profile", grouped);
}

// What holds for a method where the recipe sets neither sizes nor samples, in words of the keys that would change it.
Status check_group_defaults(const Recipe& r, const RecipeFacts& facts, std::uint32_t most, const std::string& where) {
  constexpr std::uint32_t kMinSize = 5;
  constexpr std::uint32_t kMinSamples = 800;
  constexpr std::uint32_t kMaxClients = 11;
  const GroupingOptions& g = r.grouping;
  if (grouper_has_key(r, "min-size") && !g.min_size && most < kMinSize && g.tail != "keep") {
    return usage_error("grouping.min-size: {} where it is not set, but {}; want at most {}", kMinSize, where, most);
  }
  // "random" has a quota only where it is asked for one.
  const bool quota =
      grouper_has_key(r, "min-samples") && (!grouper_has_key(r, "size") || g.min_samples || g.max_clients);
  if (!quota) return {};
  const std::uint64_t min_samples = g.min_samples.value_or(kMinSamples);
  const std::uint32_t max_clients = g.max_clients.value_or(kMaxClients);
  if (!g.min_samples && min_samples > facts.samples && max_clients > most) {
    return usage_error(
        "grouping.min-samples: {} where it is not set, but all {} clients together have {} samples; set it",
        min_samples, facts.clients_with_samples, with_commas(facts.samples));
  }
  // No group is ever complete by its samples, so all are by their number of clients, and the rest finds no room.
  const bool by_number = std::uint64_t{max_clients} * facts.largest_client < min_samples;
  const std::uint32_t rest = most % max_clients;
  if (by_number && facts.edges == 1 && most == facts.clients_with_samples && most > max_clients && rest != 0) {
    return usage_error(
        "grouping.max-clients: {}, but of {} clients the last {} have too few samples for a group of their own "
        "(min-samples = {}) and no other group has room; want another max-clients or a lower min-samples",
        max_clients, most, rest, min_samples);
  }
  return {};
}

Status check_group_numbers(const Recipe& r, const RecipeFacts& facts) {
  if (!forms_groups(r)) return {};
  const GroupingOptions& g = r.grouping;
  const std::uint32_t grouped = grouped_clients(r, facts);
  const std::string words = clients_in_words(facts, grouped);
  if (g.groups && *g.groups > grouped) {
    return usage_error("grouping.groups: {}, but {}; want at most {}", *g.groups, words, grouped);
  }
  if (r.plan.groups && r.plan.groups->beta > grouped) {
    return usage_error("plan.groups: {}{}, but {}; want at most {}", r.plan.groups->beta,
                       r.plan.groups->growth == GroupSchedule{}.growth ? "" : " in the first round", words, grouped);
  }
  // The rest holds on each edge by itself; with all clients there the smallest one is known.
  const bool everyone = grouped == facts.clients_with_samples;
  const std::uint32_t most = groupable_clients(r, facts);
  const std::string where = facts.edges > 1 && everyone ? fmt::format("the smallest edge has {} clients", most) : words;
  const struct {
    const char* key;
    std::optional<std::uint32_t> value;
  } sizes[] = {{"size", g.size}, {"min-size", g.min_size}, {"clusters", g.clusters}};
  for (const auto& [key, value] : sizes) {
    if (!value || *value <= most || !grouper_has_key(r, key)) continue;
    return usage_error("grouping.{}: {}, but {}; want at most {}", key, *value, where, most);
  }
  MUSTER_TRY(check_group_defaults(r, facts, most, where));
  if (g.min_samples && grouper_has_key(r, "min-samples") && *g.min_samples > facts.samples &&
      (!g.max_clients || *g.max_clients > most)) {
    return usage_error("grouping.min-samples: {}, but all {} clients together have {} samples; lower it",
                       with_commas(*g.min_samples), facts.clients_with_samples, with_commas(facts.samples));
  }
  return {};
}

Status check_evaluation(const Recipe& r, const RecipeFacts& facts) {
  const bool separate = keeps_models_per_group(r);
  const std::string& on = r.evaluation.on;
  const EvaluationEntry& target = *find_entry(evaluation_targets(), on);
  if (target.global && !facts.global_test) {
    return usage_error("evaluation.on: \"{}\", but the data have no global test set; want \"clients\"", on);
  }
  if (target.global && separate) {
    return usage_error("evaluation.on: \"{}\", but no model speaks for all clients; want \"clients\"", on);
  }
  if (target.clients && !facts.client_tests) {
    return usage_error(
        "evaluation.on: \"{}\", but no client has test samples; set data.test-fraction, e.g. 0.2, or evaluation.on = "
        "\"global\"",
        on);
  }
  const bool chooses_global = !target.global && !target.clients && facts.global_test && !separate;
  // A recipe that was written out says 1.0, whether it matters or not.
  if (chooses_global && r.evaluation.clients != Amount{1.0}) {
    return usage_error(
        "evaluation.clients: has no effect with evaluation.on = \"{}\", which takes the data's global test set; want "
        "evaluation.on = \"clients\" or \"both\"",
        on);
  }
  const bool evaluates = chooses_global || target.global || facts.client_tests;
  if (r.target_accuracy && !evaluates) {
    return usage_error("target-accuracy: {}, but nobody has test samples; set data.test-fraction, e.g. 0.2",
                       *r.target_accuracy);
  }
  return {};
}

}  // namespace

RecipeFacts recipe_facts(const Recipe& recipe, const FederatedData& data) {
  RecipeFacts facts{.clients = data.clients(), .classes = data.classes()};
  std::vector<std::uint32_t> of_edge(data.edges());
  for (std::uint32_t k = 0; k < facts.clients; ++k) {
    const std::uint32_t samples = data.train_count({k});
    facts.client_tests = facts.client_tests || data.test_count({k}) > 0;
    if (samples == 0) continue;
    ++facts.clients_with_samples;
    ++of_edge[data.edge({k})];
    facts.samples += samples;
    facts.largest_client = std::max(facts.largest_client, samples);
  }
  std::erase(of_edge, 0u);
  facts.edges = static_cast<std::uint32_t>(std::max<std::size_t>(1, of_edge.size()));
  facts.smallest_edge = of_edge.empty() ? 0 : *std::ranges::min_element(of_edge);
  if (recipe.newcomers.round) facts.late = recipe.newcomers.clients.of(facts.clients);
  facts.global_test = data.global_test().size() > 0;
  facts.exemplars = data.exemplars().size() > 0;
  facts.images = data.shape().height > 1 && data.shape().width > 1;
  return facts;
}

std::uint32_t groupable_clients(const Recipe& recipe, const RecipeFacts& facts) {
  const std::uint32_t grouped = grouped_clients(recipe, facts);
  return grouped == facts.clients_with_samples ? std::min(facts.smallest_edge, grouped) : grouped;
}

Status check_recipe_for(const Recipe& r, const RecipeFacts& facts) {
  if (facts.clients_with_samples == 0) return failure("none of the {} clients has training samples", facts.clients);
  if (facts.late >= facts.clients) {
    return usage_error("newcomers.clients: {} of {} clients, but then nobody is there before round {}; want fewer",
                       facts.late, facts.clients, r.newcomers.round.value_or(1));
  }
  if (r.data.rotations && !facts.images && !failing_condition(*find_key("data.rotations"), r)) {
    return usage_error("data.rotations: {}, but the samples are not images; want another data.partition",
                       *r.data.rotations);
  }
  if (told_by(r) == ProfileGives::kProbabilities && !facts.exemplars) {
    return usage_error("profile.kind: \"{}\" is asked on exemplars, and the data gave none; want data.exemplars >= 1",
                       r.profile.kind);
  }
  MUSTER_TRY(check_group_numbers(r, facts));
  return check_evaluation(r, facts);
}

}  // namespace muster
