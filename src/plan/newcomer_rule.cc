#include "plan/newcomer_rule.h"

#include "base/names.h"

namespace muster {

const std::vector<NewcomerEntry>& newcomer_rules() {
  static const std::vector<NewcomerEntry> rules{
      nearest_direction_entry(),
      nearest_head_entry(),
      argmin_loss_entry(),
      nearest_model_entry(),
      random_group_entry(),
      {.name = "next-regroup",
       .summary = "nobody is placed: clients wait until groups are formed anew",
       .places = false}};
  return rules;
}

Result<std::unique_ptr<NewcomerRule>> make_newcomer_rule(const std::string& name, std::uint64_t seed) {
  if (name == nearest_direction_entry().name) return make_nearest_direction();
  if (name == nearest_head_entry().name) return make_nearest_head();
  if (name == argmin_loss_entry().name) return make_argmin_loss();
  if (name == nearest_model_entry().name) return make_nearest_model();
  if (name == random_group_entry().name) return make_random_group(seed);
  std::vector<std::string> names;
  for (const NewcomerEntry& rule : newcomer_rules()) {
    if (rule.name == name) return std::unique_ptr<NewcomerRule>();
    names.push_back(rule.name);
  }
  return Error{ErrorCode::kUsage, "newcomers.assign: " + unknown_name("rule", name, names)};
}

}  // namespace muster
