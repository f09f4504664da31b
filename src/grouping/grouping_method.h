// A grouping method, and how to add one of your own: afterwards recipes (`grouping.method = "mine"`), groupers(),
// check_grouping() and form_groups() know it like the built-in ones.
//
//   Result<Draft> pairs(const GroupingOptions&, const GroupingInput& input, const GroupingCall&) {
//     Draft draft;
//     for (std::uint32_t k = 0; k + 1 < input.samples.size(); k += 2) draft.groups.push_back({k, k + 1});
//     return draft;
//   }
//   Status added = add_grouping_method({.entry = {.name = "pairs", .summary = "neighbours in twos"}, .group = pairs});
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/random.h"
#include "grouping/grouping.h"

namespace muster {

// What a method answers: its groups in any order, members in any order. Clients in no group become idle.
struct Draft {
  std::vector<std::vector<std::uint32_t>> groups;  // none empty, no client twice
  std::vector<std::string> notes;                  // what was out of the ordinary, a short line each
};

struct GroupingMethod {
  GrouperEntry entry;
  // Groups one edge's clients, numbered from 0; all of them have samples. Rows of `input` that are not empty have been
  // checked to fit, what `entry.need` names is there, and vectors are finite unless `entry.takes_broken_vectors`.
  // `call.groups` is this edge's share of the wanted groups, at most its clients; it is set if `entry.needs_groups`.
  // Where there are too few clients for a single group, the answer is a note and no group. Must be deterministic in its
  // arguments and safe to call from several threads: draw from grouping_stream() alone.
  std::function<Result<Draft>(const GroupingOptions&, const GroupingInput&, const GroupingCall&)> group;
  // Optional: refuses combinations of keys that cannot work whatever the clients are. Errors name the key, the value
  // and what is accepted. check_grouping() calls it after it has seen that only keys of `entry` are set.
  std::function<Status(const GroupingOptions&, const KnownAhead&)> check;
  // What keys of `entry` are where they are not set: `group` sees them set. A key may do without.
  GroupingOptions defaults{};
};

// Adds a method for the rest of the process. Fails if the name is empty or taken, if `group` is empty, or if the entry
// lists a key that GroupingOptions does not have. Safe to call from several threads; call it before a recipe that names
// the method is read.
[[nodiscard]] Status add_grouping_method(GroupingMethod method);

// A method's randomness: its own for every edge and round. `part` tells apart what must not share draws.
[[nodiscard]] inline Stream grouping_stream(const GroupingCall& call, std::uint32_t part = 0) {
  return Stream({.seed = call.seed, .purpose = Purpose::kGrouping, .round = call.round, .id = call.edge, .part = part});
}

}  // namespace muster
