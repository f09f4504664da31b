// The catalogue of aggregation.in-group.
#include "aggregate/member_merge.h"

#include <algorithm>

#include "aggregate/merge_rule.h"

namespace muster {
namespace {

std::vector<InGroupEntry> all_choices() {
  std::vector<InGroupEntry> choices{
      {.name = "samples-weighted",
       .summary = "mean of the members' models, weighted by training samples",
       .make = [](const AggregationOptions&, std::uint64_t) { return make_member_mean(true); }},
      {.name = "uniform",
       .summary = "plain mean of the members' models",
       .make = [](const AggregationOptions&, std::uint64_t) { return make_member_mean(false); }},
      {.name = std::string(kSecureSum),
       .summary = "mean weighted by training samples, of which nobody sees what one member sends"},
  };
  for (const MergeRuleEntry& rule : merge_rules()) {
    choices.push_back({.name = rule.name,
                       .summary = rule.summary,
                       .keys = rule.keys,
                       .judges = true,
                       .changes_one = true,
                       .make = [name = rule.name](const AggregationOptions& options, std::uint64_t seed) {
                         return make_member_rule(name, options, seed);
                       }});
  }
  return choices;
}

}  // namespace

const std::vector<InGroupEntry>& in_group_choices() {
  static const std::vector<InGroupEntry> choices = all_choices();
  return choices;
}

const InGroupEntry* find_in_group(std::string_view name) {
  const auto found = std::ranges::find(in_group_choices(), name, &InGroupEntry::name);
  return found == in_group_choices().end() ? nullptr : &*found;
}

}  // namespace muster
