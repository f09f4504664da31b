#include "recipe/key_conditions.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "recipe/choices.h"
#include "solver/learning_rate.h"

namespace muster {
namespace {

std::string quoted_words(const std::vector<std::string>& words) {
  return fmt::format("\"{}\"", fmt::join(words, "\" | \""));
}

template <typename Entries>
std::vector<std::string> names_with_key(const Entries& entries, std::string_view key) {
  std::vector<std::string> names;
  for (const auto& entry : entries) {
    if (std::ranges::find(entry.keys, key) != entry.keys.end()) names.emplace_back(entry.name);
  }
  return names;
}

// The choices whose catalogue entry lists `key`; nothing if all do.
template <typename Entries>
std::optional<Condition> with_entry(ChoiceKey choice, const Entries& entries, std::string_view key) {
  std::vector<std::string> words = names_with_key(entries, key);
  if (words.size() == entries.size()) return std::nullopt;
  return with(choice, std::move(words));
}

// The sources by name, or by the few that are not among them.
std::string sources_in_words(const std::vector<std::string>& names) {
  std::vector<std::string> others = names_of(data_sources());
  std::erase_if(others, [&](const std::string& name) { return std::ranges::find(names, name) != names.end(); });
  return others.size() < 3 ? fmt::format("a data.source other than {}", quoted_words(others))
                           : fmt::format("data.source = {}", quoted_words(names));
}

}  // namespace

Condition with(ChoiceKey choice, std::vector<std::string> words) {
  return {.holds = [word = choice.word,
                    words](const Recipe& r) { return std::ranges::find(words, word(r)) != words.end(); },
          .found =
              [choice](const Recipe& r) {
                return choice.word(r).empty() ? fmt::format("without {}", choice.key)
                                              : fmt::format("with {} = \"{}\"", choice.key, choice.word(r));
              },
          .verb = "belongs to",
          .wants = fmt::format("{} = {}", choice.key, quoted_words(words)),
          .choice = choice.key,
          .words = std::move(words)};
}

Condition needs(const char* wants, bool (*holds)(const Recipe&)) {
  return {.holds = holds,
          .found = [wants](const Recipe&) { return fmt::format("without {}", wants); },
          .verb = "",
          .wants = wants};
}

Condition unless(const char* other, bool (*excluded)(const Recipe&), std::string (*found)(const Recipe&)) {
  return {.holds = [excluded](const Recipe& r) { return !excluded(r); },
          .found = [found](const Recipe& r) { return "with " + found(r); },
          .verb = "applies",
          .wants = fmt::format("without {}", other)};
}

// The source lists the key, or it is divided by a law that does. Without data.partition the law is known only when the
// source is read: it is one of two.
std::optional<Condition> data_key(std::string_view key) {
  const auto has = [](const std::vector<std::string>& keys, std::string_view name) {
    return std::ranges::find(keys, name) != keys.end();
  };
  const std::vector<CatalogueEntry> sources = data_sources();
  const std::vector<std::string> own = names_with_key(sources, key);
  const std::vector<std::string> divided = names_with_key(sources, "partition");
  const std::vector<std::string> laws = names_with_key(partitions(), key);
  if (own.size() == sources.size()) return std::nullopt;
  const bool unset = has(laws, "natural") || has(laws, "iid");
  const std::string by_source = own.empty() ? "" : sources_in_words(own);
  const std::string by_law = laws.empty() ? "" : fmt::format("data.partition = {}", quoted_words(laws));
  return Condition{.holds =
                       [=](const Recipe& r) {
                         if (has(own, r.data.source)) return true;
                         if (!has(divided, r.data.source)) return false;
                         return r.data.partition.empty() ? unset : has(laws, r.data.partition);
                       },
                   .found =
                       [=](const Recipe& r) {
                         if (laws.empty() || !has(divided, r.data.source)) {
                           return fmt::format("with data.source = \"{}\"", r.data.source);
                         }
                         if (r.data.partition.empty()) return std::string("without data.partition");
                         return fmt::format("with data.partition = \"{}\"", r.data.partition);
                       },
                   .verb = "belongs to",
                   .wants = by_source.empty() || by_law.empty() ? by_source + by_law : by_law + " or " + by_source};
}

std::optional<Condition> model_key(std::string_view key) {
  return with_entry(kNetwork, model_catalogue(), key);
}
std::optional<Condition> schedule_key(std::string_view key) {
  return with_entry(kSchedule, schedules(), key);
}
std::optional<Condition> objective_key(std::string_view key) {
  return with_entry(kObjective, objectives(), key);
}
std::optional<Condition> profile_key(std::string_view key) {
  return with_entry(kProfileKind, profile_kinds(), key);
}
std::optional<Condition> grouping_key(std::string_view key) {
  return with_entry(kGroupingMethod, groupers(), key);
}
// Some rules merge members as well as groups.
std::optional<Condition> aggregation_key(std::string_view key) {
  std::optional<Condition> across = with_entry(kAggregation, aggregations(), key);
  const std::vector<std::string> inside = names_with_key(in_group_choices(), key);
  if (!across || inside.empty()) return across;
  across->holds = [across = across->holds, inside](const Recipe& r) {
    const bool merged = forms_groups(r) && !trains_in_sequence(r);
    return across(r) || (merged && std::ranges::find(inside, r.aggregation.in_group) != inside.end());
  };
  across->wants = fmt::format("aggregation.global or aggregation.in-group = {}", quoted_words(inside));
  return across;
}
std::optional<Condition> attack_key(std::string_view key) {
  return with_entry(kAttackKind, attacks(), key);
}
std::optional<Condition> cost_key(std::string_view key) {
  return with_entry(kCostModel, cost_models(), key);
}
Condition event_key(std::string_view key) {
  return with(kEvent, names_with_key(regroup_events(), key));
}

Condition with_groups() {
  return {.holds = forms_groups,
          .found = [](const Recipe& r) { return fmt::format("with grouping.method = \"{}\"", r.grouping.method); },
          .verb = "needs",
          .wants = "a grouping.method that forms groups"};
}

// Where an event forms groups it sees what members send anyway, and only newcomers may have to be asked.
Condition trains_for_profile() {
  return {.holds =
              [](const Recipe& r) {
                const NewcomerAsks asks = newcomer_entry(r).asks;
                return r.plan.regroup.on.empty() || asks == NewcomerAsks::kUpdates || asks == NewcomerAsks::kWeights;
              },
          .found = [](const Recipe& r) { return fmt::format("with plan.regroup-on = \"{}\"", r.plan.regroup.on); },
          .verb = "applies",
          .wants = "without plan.regroup-on"};
}

bool sampler_has_key(const Recipe& r, std::string_view key) {
  static const std::vector<CatalogueEntry> entries = samplers();
  const CatalogueEntry* const sampler = find_entry(entries, r.plan.sampling);
  return sampler && std::ranges::find(sampler->keys, key) != sampler->keys.end();
}

bool may_need_placing(const Recipe& r) {
  const bool may_leave_idle = needed_by_grouper(r) != GroupingNeed::kVectors;
  return seeds_models(r) || r.newcomers.rejoin || r.profile_clients != Amount{1.0} || r.newcomers.round ||
         !r.plan.regroup.on.empty() || may_leave_idle || r.faults.drop > 0 || r.faults.straggle > 0 || r.faults.nan > 0;
}

bool groups_by_vectors(const Recipe& r) {
  return forms_groups(r) && tells_vectors(told_by(r)) && !groups_by_losses(r);
}

bool groups_again(const Recipe& r) {
  return r.plan.regroup.every || (r.newcomers.round && !newcomer_entry(r).places);
}

bool keeps_momentum(const Recipe& r) {
  return r.local.steps != 1u || r.local.keep_optimizer || trains_profiles(r);
}

}  // namespace muster
