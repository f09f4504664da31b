// Grouping: who trains together. From what is known of the clients -> groups, each an ascending list of clients, in
// the order of their first members. Clients in no group are idle and listed, never lost.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/rows.h"

namespace muster {

class Grouping {
 public:
  // Room for as many clients in groups, without more.
  void reserve(std::uint32_t clients) { members_.reserve(clients); }
  // Appends a group; its id is its position.
  void add(std::span<const ClientId> members);
  void add_idle(ClientId client) { idle_.push_back(client); }

  [[nodiscard]] std::uint32_t count() const {
    return static_cast<std::uint32_t>(ends_.empty() ? members_.size() : ends_.size());
  }
  [[nodiscard]] std::span<const ClientId> members(GroupId group) const {
    if (ends_.empty()) return std::span(members_).subspan(group.value, 1);
    const std::uint32_t begin = group.value == 0 ? 0 : ends_[group.value - 1];
    return std::span(members_).subspan(begin, ends_[group.value] - begin);
  }
  [[nodiscard]] std::span<const ClientId> idle() const { return idle_; }
  // In groups, that is, not idle.
  [[nodiscard]] std::uint32_t clients() const { return static_cast<std::uint32_t>(members_.size()); }
  // Whether every group is of one client.
  [[nodiscard]] bool all_alone() const { return ends_.empty(); }

 private:
  std::vector<ClientId> members_;    // group after group
  std::vector<std::uint32_t> ends_;  // of each group in members_; empty while all groups are of one client
  std::vector<ClientId> idle_;
};

// Stands for "in no group" where a group is looked up by client.
inline constexpr GroupId kNoGroup{0xffffffffu};
[[nodiscard]] std::vector<GroupId> groups_of_clients(const Grouping& grouping, std::uint32_t clients);

// The [grouping] section of a recipe. A key that is not set takes its method's default; a key that is set must be one
// of the method's.
struct GroupingOptions {
  std::string method = "singletons";
  std::optional<std::uint32_t> size;            // clients per group
  std::optional<std::uint32_t> groups;          // number of groups
  std::optional<std::uint32_t> max_iterations;  // of balanced k-means
  std::string rows;                             // all | exact: as many groups as clusters have members, or `groups`
  std::string score;                            // kl | gini | cosine | wasserstein
  std::optional<std::uint64_t> min_samples;     // a group is complete when its members have so many in all
  std::optional<std::uint32_t> max_clients;     // or when it has so many members
  std::string first;                            // random | uniform: a group's first member
  std::optional<std::uint32_t> clusters;        // of like clients, which are then dealt to groups
  std::optional<std::uint32_t> min_size;        // clients per group at least
  std::optional<double> max_cov;                // a group is complete when its coefficient of variation is below
  std::string tail;                             // discard | keep | merge: a last group that is too small
  std::optional<double> lambda;                 // weight of rarely selected clients
  std::string metric;                           // l1 | l2 | cosine
  std::string linkage;                          // single | complete | average | ward
  std::optional<double> threshold;              // clusters nearer than this are merged
  std::optional<double> min_gap;                // share of the largest distance that a gap must have
  std::optional<bool> weighted;                 // votes count by samples
  std::optional<double> epsilon_mean;           // split only if the mean update is shorter than this; default 0.4
  std::optional<double> epsilon_max;            // and the longest update is longer than this; default 1.6
};

// What a method may look at. Rows and lists have an entry per client, or are empty where a method does without.
// Borrowed for the call.
struct GroupingInput {
  std::span<const std::uint32_t> samples;   // training samples of each client; its size is the number of clients
  RowsView<std::uint32_t> labels;           // label counts
  RowsView<float> vectors;                  // updates, weights, confidences, or losses (a column per model)
  std::span<const std::uint32_t> edges;     // the edge each client belongs to; empty = all to one
  std::span<const std::uint32_t> selected;  // how often each client was selected before; empty = never
  RowsView<float> centres;                  // where groups are now (nearest-centre); empty = to be found
};

// What changes each time groups are formed.
struct GroupingCall {
  std::uint64_t seed = 1;
  std::uint32_t round = 1;                 // from 1
  std::optional<std::uint32_t> groups;     // overrides GroupingOptions::groups, for counts that grow
  std::uint32_t edge = 0;                  // set by form_groups() for each edge in turn
  std::span<const std::uint32_t> clients;  // likewise: the ids of the edge's clients; empty = 0, 1, 2, ...
};

// The part of GroupingInput that a method cannot do without.
enum class GroupingNeed { kNothing, kLabels, kVectors, kLabelsOrVectors };

struct GrouperEntry {
  std::string name;
  std::string summary;
  std::vector<std::string> keys;
  GroupingNeed need = GroupingNeed::kNothing;
  bool takes_broken_vectors = false;  // others refuse vectors that are not finite
  bool needs_groups = false;          // cannot do without a number of groups
  bool by_losses = false;             // vectors are the losses of given models, a column each
  bool alone = false;                 // every client is its own group
  // The newcomer rule by which clients join groups that a run begins with: a model each, drawn at random, and no
  // members yet. Empty: the method cannot do without what clients tell.
  std::string joined_by = {};
};
// Every method: the built-in ones in the order of the documentation, then those of add_grouping_method().
[[nodiscard]] std::vector<GrouperEntry> groupers();

// Whether every client is its own group.
[[nodiscard]] bool forms_singletons(const GroupingOptions& options);
// Every client alone, in id order; clients without samples are idle. What form_groups() does for "singletons".
[[nodiscard]] Grouping group_singletons(const GroupingInput& input);

// What a caller of check_grouping() knows about the calls of form_groups() that will follow.
struct KnownAhead {
  bool groups_in_call = false;  // GroupingCall::groups will be set, e.g. from plan.groups
  bool vectors_only = false;    // there will be vectors and no label counts
  bool centres = false;         // centres will be given
};
// Fails if the method is unknown, if a key is set that is not one of the method's, if the method needs a number of
// groups and gets none, or if its keys contradict each other. What depends on the clients is left to form_groups().
[[nodiscard]] Status check_grouping(const GroupingOptions& options, const KnownAhead& ahead = {});

struct FormedGroups {
  Grouping grouping;
  std::vector<std::string> notes;  // what was out of the ordinary, a line each
};

// Groups the clients of every edge on their own, so that no group crosses edges; where a number of groups is wanted it
// is shared out by clients, at least one per edge. Clients without samples are idle. Errors name the key or the input,
// the bad value and what is accepted. Deterministic in options, input and call.
[[nodiscard]] Result<FormedGroups> form_groups(const GroupingOptions& options, const GroupingInput& input,
                                               const GroupingCall& call);

}  // namespace muster
