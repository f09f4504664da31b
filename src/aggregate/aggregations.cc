// The catalogue of aggregations: built-in choices, and those that a program adds before it reads recipes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <list>
#include <mutex>

#include "aggregate/aggregator.h"
#include "aggregate/merge_rule.h"
#include "base/catalogue_version.h"
#include "base/names.h"
#include "solver/objective.h"

namespace muster {
namespace {

struct Choice {
  AggregationEntry entry;
  AggregatorFactory make;  // empty unless the choice keeps one shared model
};

AggregatorFactory server_optimizer(ServerRule rule) {
  return [rule](const AggregationOptions& options, const AggregatorSizes& sizes) {
    return make_server_optimizer(rule, options, sizes);
  };
}

std::unique_ptr<Aggregator> weighted_mean(const AggregationOptions&, const AggregatorSizes& sizes) {
  return make_mean(true, sizes);
}

// Before those that keep more than one model, as the documentation has them.
std::list<Choice> with_rules(std::list<Choice> choices) {
  const auto keeps_more = std::ranges::find_if(choices, [](const Choice& choice) { return !choice.make; });
  for (const MergeRuleEntry& rule : merge_rules()) {
    choices.insert(keeps_more, {{.name = rule.name, .summary = rule.summary, .keys = rule.keys},
                                [make = rule.make](const AggregationOptions& options, const AggregatorSizes& sizes) {
                                  return make_rule_aggregator(make(options), sizes);
                                }});
  }
  return choices;
}

std::list<Choice> built_in() {
  return with_rules({
      {{.name = "samples-weighted", .summary = "mean of the models, weighted by training samples (FedAvg)"},
       weighted_mean},
      {{.name = "uniform", .summary = "plain mean of the models"},
       [](const AggregationOptions&, const AggregatorSizes& sizes) { return make_mean(false, sizes); }},
      {{.name = "unbiased",
        .summary = "sum of the groups' changes by samples over the probability of being drawn (Group-FEL, Eq. 4)",
        .draw = DrawCorrection::kUnbiased},
       [](const AggregationOptions&, const AggregatorSizes& sizes) { return make_unbiased_sum(sizes); }},
      // The same mean as samples-weighted, of groups that differ in importance.
      {{.name = "stabilised",
        .summary = "mean of the models with the same weights, made to sum to 1 (Group-FEL, Eq. 39)",
        .draw = DrawCorrection::kStabilised},
       weighted_mean},
      {{.name = "adagrad",
        .summary = "the mean update drives Adagrad on the server",
        .keys = {"server-learning-rate", "beta1", "tau"}},
       server_optimizer(ServerRule::kAdagrad)},
      {{.name = "adam",
        .summary = "the mean update drives Adam on the server",
        .keys = {"server-learning-rate", "beta1", "beta2", "tau"}},
       server_optimizer(ServerRule::kAdam)},
      {{.name = "yogi",
        .summary = "the mean update drives Yogi on the server",
        .keys = {"server-learning-rate", "beta1", "beta2", "tau"}},
       server_optimizer(ServerRule::kYogi)},
      {{.name = "control-variate",
        .summary = "mean of the models and of the changes of control variates (SCAFFOLD)",
        .keys = {"server-learning-rate"},
        .pairs_with = "control-variate"},
       [](const AggregationOptions& options, const AggregatorSizes& sizes) {
         return make_control_variate_server(options.server_learning_rate, sizes);
       }},
      {{.name = "dynamic",
        .summary = "mean of the models, corrected by accumulated updates (FedDyn)",
        .pairs_with = "dynamic"},
       [](const AggregationOptions&, const AggregatorSizes& sizes) { return make_dynamic_server(sizes); }},
      {{.name = "inverse-distance",
        .summary = "mean of the models, the nearer to their plain mean the more weight (IDA)",
        .keys = {"norm"}},
       [](const AggregationOptions& options, const AggregatorSizes& sizes) {
         return make_inverse_distance(options.norm == "l2" ? ModelNorm::kL2 : ModelNorm::kL1, sizes);
       }},
      {{.name = "slots",
        .summary = "groups take turns at a few models, which are averaged every `window` rounds (FedSeqInter)",
        .keys = {"window"},
        .models = ModelKeeping::kSlots,
        .also_serves = {"dynamic"}},
       {}},
      {{.name = "none",
        .summary = "no merging: every group keeps its own model",
        .keys = {"mixing", "mixing-normalize", "shared", "start"},
        .models = ModelKeeping::kPerGroup},
       {}},
  });
}

// A list, so that entries never move. Choices are only ever appended.
struct Catalogue {
  std::mutex mutex;
  std::list<Choice> choices = built_in();
};

Catalogue& catalogue() {
  static Catalogue instance;
  return instance;
}

const Choice* find_choice(const std::string& name) {
  Catalogue& all = catalogue();
  const std::scoped_lock lock(all.mutex);
  const auto found = std::ranges::find(all.choices, name, [](const Choice& choice) { return choice.entry.name; });
  return found == all.choices.end() ? nullptr : &*found;
}

bool is_kebab_case(const std::string& name) {
  return !name.empty() && name.front() != '-' && name.back() != '-' &&
         std::ranges::all_of(name, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; });
}

// A built-in choice is made for this objective, so the objective cannot do without such a server. Those added do not
// count: they may want an objective that others can use as well.
bool needs_server(const std::string& objective) {
  return std::ranges::any_of(built_in(), [&](const Choice& choice) { return choice.entry.pairs_with == objective; });
}

}  // namespace

std::vector<AggregationEntry> aggregations() {
  Catalogue& all = catalogue();
  const std::scoped_lock lock(all.mutex);
  std::vector<AggregationEntry> entries;
  for (const Choice& choice : all.choices) entries.push_back(choice.entry);
  return entries;
}

const AggregationEntry* find_aggregation(const std::string& name) {
  const Choice* const choice = find_choice(name);
  return choice ? &choice->entry : nullptr;
}

Status add_aggregation(AggregationEntry entry, AggregatorFactory factory) {
  if (!is_kebab_case(entry.name)) {
    return usage_error("aggregation '{}': want a name of small letters, digits and hyphens", entry.name);
  }
  if (!factory) return usage_error("aggregation '{}': has no factory", entry.name);
  if (entry.models != ModelKeeping::kShared) {
    return usage_error("aggregation '{}': an aggregation that is added must keep one shared model", entry.name);
  }
  for (const std::string& key : entry.keys) {
    const std::vector<AggregationEntry> known = aggregations();
    if (std::ranges::none_of(known, [&](const AggregationEntry& other) {
          return std::ranges::find(other.keys, key) != other.keys.end();
        })) {
      return usage_error("aggregation '{}': no built-in aggregation has the key '{}'", entry.name, key);
    }
  }
  Catalogue& all = catalogue();
  const std::scoped_lock lock(all.mutex);
  if (std::ranges::any_of(all.choices, [&](const Choice& choice) { return choice.entry.name == entry.name; })) {
    return usage_error("aggregation '{}': there is one of that name already", entry.name);
  }
  all.choices.push_back({std::move(entry), std::move(factory)});
  note_added_choice();
  return {};
}

Status check_pairing(const std::string& global, const std::string& objective) {
  const AggregationEntry* const entry = find_aggregation(global);
  const std::string wanted = entry ? entry->pairs_with : "";
  if (!wanted.empty() && wanted != objective) {
    return usage_error(
        "local.objective: \"{}\" does not go with aggregation.global = \"{}\", whose server relies on what "
        "its clients send; want local.objective = \"{}\"",
        objective, global, wanted);
  }
  const auto serves = [&](const AggregationEntry& server) {
    return server.pairs_with == objective ||
           std::ranges::find(server.also_serves, objective) != server.also_serves.end();
  };
  if (wanted.empty() && needs_server(objective) && !(entry && serves(*entry))) {
    std::vector<std::string> servers;
    for (const AggregationEntry& other : aggregations()) {
      if (serves(other)) servers.push_back(fmt::format("\"{}\"", other.name));
    }
    return usage_error(
        "aggregation.global: \"{}\" does not go with local.objective = \"{}\", which needs a server that "
        "keeps its part; want aggregation.global = {}",
        global, objective, fmt::join(servers, " or "));
  }
  return {};
}

bool takes_payload(const std::string& global) {
  const AggregationEntry* const entry = find_aggregation(global);
  if (!entry || entry->pairs_with.empty()) return false;
  const Result<std::unique_ptr<Objective>> objective = make_objective({.name = entry->pairs_with});
  return objective.ok() && (*objective)->has_payload();
}

bool corrects_draw(const std::string& global) {
  const AggregationEntry* const entry = find_aggregation(global);
  return entry && entry->draw != DrawCorrection::kNone;
}

Result<std::unique_ptr<Aggregator>> make_aggregator(const AggregationOptions& options, const AggregatorSizes& sizes) {
  const Choice* const choice = find_choice(options.global);
  if (!choice) {
    std::vector<std::string> accepted;
    for (const AggregationEntry& entry : aggregations()) accepted.push_back(entry.name);
    return Error{ErrorCode::kUsage, "aggregation.global: " + unknown_name("aggregation", options.global, accepted)};
  }
  if (!choice->make) {
    return usage_error("aggregation.global: \"{}\" keeps more than one model, so nothing merges them", options.global);
  }
  std::unique_ptr<Aggregator> made = choice->make(options, sizes);
  if (!made) return usage_error("aggregation.global: the factory of \"{}\" made nothing", options.global);
  if (sizes.smoothed.size > 0) made = make_smoothed(std::move(made), sizes.smoothed);
  return made;
}

}  // namespace muster
