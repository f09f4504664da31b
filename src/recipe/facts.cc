#include "recipe/facts.h"

#include <algorithm>
#include <span>
#include <vector>

#include "grouping/group_defaults.h"
#include "recipe/attendance.h"
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

// All clients among whom groups are formed.
EdgeFacts grouped_clients(const RecipeFacts& facts) {
  EdgeFacts all;
  for (const EdgeFacts& edge : facts.edges) {
    all.clients += edge.clients;
    all.samples += edge.samples;
  }
  return all;
}

std::string clients_in_words(const RecipeFacts& facts) {
  const std::uint32_t grouped = grouped_clients(facts).clients;
  if (grouped == facts.clients_with_samples) return fmt::format("there are {} clients with samples", grouped);
  if (facts.late > 0) return fmt::format("{} clients are there in round 1", grouped);
  return fmt::format("{} clients are asked for their profile", grouped);
}

// Every edge needs the clients that one group takes.
Status check_group_sizes(const Recipe& r, const RecipeFacts& facts) {
  const GroupingOptions& g = r.grouping;
  const std::uint32_t most = groupable_clients(facts);
  const bool everyone = grouped_clients(facts).clients == facts.clients_with_samples;
  const std::string where = facts.edges.size() == 1 ? clients_in_words(facts)
                                                    : fmt::format("the smallest edge has {} clients{}", most,
                                                                  everyone ? "" : " when groups are formed");
  const struct {
    const char* key;
    std::optional<std::uint32_t> value;
  } sizes[] = {{"size", g.size}, {"min-size", g.min_size}, {"clusters", g.clusters}};
  for (const auto& [key, value] : sizes) {
    if (!value || *value <= most || !grouper_has_key(r, key)) continue;
    return usage_error("grouping.{}: {}, but {}; want at most {}", key, *value, where, most);
  }
  if (grouper_has_key(r, "min-size") && !g.min_size && most < kDefaultMinSize && g.tail != "keep") {
    return usage_error("grouping.min-size: {} where it is not set, but {}; want at most {}", kDefaultMinSize, where,
                       most);
  }
  return {};
}

// A group is complete by its samples or by its number of clients; every edge must fill one.
Status check_group_samples(const Recipe& r, const RecipeFacts& facts) {
  if (!groups_by_samples(r)) return {};
  const GroupingOptions& g = r.grouping;
  const std::uint32_t min_samples = g.min_samples.value_or(kDefaultMinSamples);
  const std::uint32_t max_clients = g.max_clients.value_or(kDefaultMaxClients);
  for (const EdgeFacts& edge : facts.edges) {
    if (edge.samples >= min_samples || edge.clients >= max_clients) continue;
    return usage_error(
        "grouping.min-samples: {}{}, but {} {} clients{} together have {} samples; {} it", with_commas(min_samples),
        g.min_samples ? "" : " where it is not set", facts.edges.size() == 1 ? "all" : "the", edge.clients,
        facts.edges.size() == 1 ? "" : " of an edge", with_commas(edge.samples), g.min_samples ? "lower" : "set");
  }
  return {};
}

Status check_group_numbers(const Recipe& r, const RecipeFacts& facts) {
  if (!forms_groups(r)) return {};
  const std::uint32_t grouped = grouped_clients(facts).clients;
  if (r.grouping.groups && *r.grouping.groups > grouped) {
    return usage_error("grouping.groups: {}, but {}; want at most {}", *r.grouping.groups, clients_in_words(facts),
                       grouped);
  }
  if (r.plan.groups && r.plan.groups->beta > grouped) {
    return usage_error("plan.groups: {}{}, but {}; want at most {}", r.plan.groups->beta,
                       r.plan.groups->growth == GroupSchedule{}.growth ? "" : " in the first round",
                       clients_in_words(facts), grouped);
  }
  MUSTER_TRY(check_group_sizes(r, facts));
  return check_group_samples(r, facts);
}

Status check_metrics(const EvaluationOptions& options, const RecipeFacts& facts, bool evaluates) {
  const auto wants = [&](const char* metric) {
    return std::ranges::find(options.metrics, metric) != options.metrics.end();
  };
  if (wants("auc") && facts.classes != 2) {
    return usage_error("evaluation.metrics: \"auc\" is for two classes, but the data have {}; want others",
                       facts.classes);
  }
  for (const char* const table : {"confusion", "per-class"}) {
    if (wants(table) && facts.classes > kMostConfusedClasses) {
      return usage_error("evaluation.metrics: \"{}\" is for at most {} classes, but the data have {}; want others",
                         table, kMostConfusedClasses, facts.classes);
    }
  }
  if (!options.metrics.empty() && !evaluates) {
    return usage_error("evaluation.metrics: \"{}\", but nobody has test samples; set data.test-fraction, e.g. 0.2",
                       options.metrics.front());
  }
  return {};
}

// Fractions of few samples may be none.
Status check_validation(const Recipe& r, const RecipeFacts& facts) {
  if (facts.client_validation || (!r.stop.patience && r.evaluation.keep != "best")) return {};
  return usage_error(
      "{}, but no client has enough samples for data.validation-fraction = {}; raise it",
      r.stop.patience ? fmt::format("stop.patience: {}", *r.stop.patience) : std::string("evaluation.keep: \"best\""),
      r.data.validation_fraction);
}

Status check_evaluation(const Recipe& r, const RecipeFacts& facts) {
  const bool separate = keeps_models_per_group(r) || scores_clients_apart(r);
  const std::string& on = r.evaluation.on;
  const EvaluationEntry& target = *find_entry(evaluation_targets(), on);
  if (target.global && !facts.global_test) {
    return usage_error("evaluation.on: \"{}\", but the data have no global test set; want \"clients\"", on);
  }
  if (target.global && separate) {
    const std::string why = !r.local.personal.empty() ? " (local.personal)"
                            : r.local.own_model       ? " (local.own-model)"
                            : r.local.fine_tune       ? " (evaluation.fine-tune)"
                                                      : "";
    return usage_error("evaluation.on: \"{}\", but no model speaks for all clients{}; want \"clients\"", on, why);
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
  // A test set of the server's alone would go unused, and the run have no accuracy; tuning would do nothing at all.
  const bool unused = facts.global_test && separate && !keeps_models_per_group(r);
  if (!facts.client_tests && (unused || r.local.fine_tune)) {
    return usage_error(
        "data.test-fraction: {}, but clients are scored with models of their own and have no test samples; want e.g. "
        "0.2",
        r.data.test_fraction.value_or(0));
  }
  const bool evaluates = chooses_global || target.global || facts.client_tests;
  if (r.target_accuracy && !evaluates) {
    if (hides_samples(r)) {
      return usage_error(
          "target-accuracy: {}, but with secure.samples = \"{}\" clients score no models, and nobody else can; want it "
          "unset, or secure.samples = \"{}\"",
          *r.target_accuracy, kHiddenSamples, kToldSamples);
    }
    return usage_error("target-accuracy: {}, but nobody has test samples; set data.test-fraction, e.g. 0.2",
                       *r.target_accuracy);
  }
  MUSTER_TRY(check_metrics(r.evaluation, facts, evaluates));
  return check_validation(r, facts);
}

Status check_classes(const Recipe& r, const RecipeFacts& facts) {
  if (facts.classes >= 2) return {};
  const bool table = r.data.source == "csv";
  return usage_error("data: all samples are of one class, want at least 2{}",
                     table ? fmt::format("; is data.label = \"{}\" the right column?", r.data.label) : std::string());
}

std::vector<ClientId> clients_with_samples(std::span<const std::uint32_t> samples,
                                           const std::vector<std::uint32_t>& without) {
  std::vector<ClientId> clients;
  clients.reserve(samples.size());
  for (std::uint32_t k = 0; k < samples.size(); ++k) {
    if (samples[k] > 0 && !std::ranges::binary_search(without, k)) clients.push_back({k});
  }
  return clients;
}

std::vector<EdgeFacts> edges_of_first_groups(const Recipe& r, const FederatedData& data,
                                             std::span<const std::uint32_t> samples) {
  std::uint32_t round = 1;
  std::vector<ClientId> clients = clients_with_samples(samples, late_clients(r, data.clients()));
  if (clients.empty() && r.newcomers.round) {  // then groups wait for those who come late
    round = *r.newcomers.round;
    clients = clients_with_samples(samples, {});
  }
  // An event goes by what everybody sends, and asks nobody.
  if (r.plan.regroup.on.empty() && told_by(r) != ProfileGives::kNothing) {
    clients = asked_clients(r, round, std::move(clients));
  }
  std::vector<EdgeFacts> edges(data.edges());
  for (const ClientId client : clients) {
    EdgeFacts& edge = edges[data.edge(client)];
    ++edge.clients;
    edge.samples += samples[client.value];
  }
  std::erase_if(edges, [](const EdgeFacts& edge) { return edge.clients == 0; });
  return edges;
}

}  // namespace

RecipeFacts recipe_facts(const Recipe& recipe, const FederatedData& data) {
  RecipeFacts facts{.clients = data.clients(), .classes = data.classes()};
  const bool hidden = hides_samples(recipe);
  std::vector<std::uint32_t> samples(facts.clients);  // asked once: virtual clients draw their sizes
  for (std::uint32_t k = 0; k < facts.clients; ++k) {
    const SampleCounts counts = data.counts({k});
    facts.client_tests = facts.client_tests || (counts.test > 0 && !hidden);
    facts.client_validation = facts.client_validation || (counts.validation > 0 && !hidden);
    samples[k] = counts.train;
    if (samples[k] > 0) ++facts.clients_with_samples;
    facts.most_samples = std::max(facts.most_samples, samples[k]);
  }
  if (recipe.newcomers.round) facts.late = recipe.newcomers.clients.of(facts.clients);
  facts.edges = edges_of_first_groups(recipe, data, samples);
  facts.global_test = data.global_test().size() > 0;
  facts.exemplars = data.exemplars().size() > 0;
  facts.images = data.shape().height > 1 && data.shape().width > 1;
  return facts;
}

std::uint32_t groupable_clients(const RecipeFacts& facts) {
  return std::ranges::min_element(facts.edges, {}, &EdgeFacts::clients)->clients;
}

Status check_recipe_for(const Recipe& r, const RecipeFacts& facts) {
  if (facts.clients_with_samples == 0) return failure("none of the {} clients has training samples", facts.clients);
  MUSTER_TRY(check_classes(r, facts));
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
