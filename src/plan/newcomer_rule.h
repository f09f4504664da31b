// NewcomerRule: where a client goes that comes when the groups are there already, or that missed their forming. From
// what it tells and what is known of the groups -> a group. One file per rule; asking clients is the engine's.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/rows.h"
#include "grouping/grouping.h"
#include "grouping/newcomers.h"

namespace muster {

// What a rule asks the client.
enum class NewcomerAsks {
  kNothing,
  kUpdates,  // the recipe's profile, which must be the change of a model
  kWeights,  // the recipe's profile, which must be part of a model's weights, as they are
  kLosses,   // the losses of the groups' models
  kSent,     // nothing: the server remembers the model that the client sent last
};

struct NewcomerEntry {
  std::string name;
  std::string summary;
  NewcomerAsks asks = NewcomerAsks::kNothing;
  bool places = true;  // false: nobody is placed; clients wait until groups are formed anew
};

// What is known of the groups.
struct KnownGroups {
  const Grouping& grouping;
  // Of the members' profiles when the groups were formed, a row each; the groups' models where kSent. May be empty.
  RowsView<float> means;
};

// Immutable.
class NewcomerRule {
 public:
  virtual ~NewcomerRule() = default;
  [[nodiscard]] virtual const NewcomerEntry& entry() const = 0;
  // A group for each client. `told`: a row per client, empty where nothing is asked. Preconditions: there is a group;
  // rows and means have one width, and there are means where the rule compares with them.
  [[nodiscard]] virtual Result<std::vector<Placement>> place(const KnownGroups& groups,
                                                             std::span<const ClientId> clients,
                                                             const RowsView<float>& told) const = 0;
};

// Every rule, in the order of the documentation.
[[nodiscard]] const std::vector<NewcomerEntry>& newcomer_rules();
// Null for rules that place nobody. Fails for an unknown name.
[[nodiscard]] Result<std::unique_ptr<NewcomerRule>> make_newcomer_rule(const std::string& name, std::uint64_t seed);

// One entry and one factory per file.
const NewcomerEntry& nearest_direction_entry();
const NewcomerEntry& nearest_head_entry();
const NewcomerEntry& argmin_loss_entry();
const NewcomerEntry& nearest_model_entry();
const NewcomerEntry& random_group_entry();
std::unique_ptr<NewcomerRule> make_nearest_direction();
std::unique_ptr<NewcomerRule> make_nearest_head();
std::unique_ptr<NewcomerRule> make_argmin_loss();
std::unique_ptr<NewcomerRule> make_nearest_model();
std::unique_ptr<NewcomerRule> make_random_group(std::uint64_t seed);

}  // namespace muster
