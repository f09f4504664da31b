// Groups: the groups of a run. Formed before the first round and whenever the plan wants new ones, from what clients
// tell; judged by their labels; kept in checkpoints. Does not know how groups train or what becomes of models.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "recipe/recipe.h"
#include "grouping/quality.h"
#include "record/checkpoint.h"
#include "train/collect_profiles.h"

namespace muster {

// What forming groups took, and the line that records it.
struct GroupsFormed {
  std::string line;  // JSON, for groups.jsonl
  std::vector<std::string> notes;
  std::vector<Dropped> dropped;  // asked for a profile, and none came
  std::uint64_t bytes_up = 0;
  std::uint64_t bytes_down = 0;
  std::uint64_t samples_trained = 0;
  double slowest_flops = 0;  // of the clients' work for their profiles
  double seconds = 0;        // of grouping itself
  double profile_s = 0;      // of waiting for the clients' profiles
};

// What the members of a round sent, as profiles: a row per client.
struct ObservedRound {
  std::vector<ClientId> clients;  // in any order, each once
  Rows<float> vectors;
};

class Groups {
 public:
  // All are borrowed.
  Groups(const Recipe& recipe, const ProfileKind& profile, const FederatedData& data, const Network& network,
         WorkerPool& pool, std::span<const std::unique_ptr<ClientLink>> links);

  // Why groups must be formed before `round`; empty = they need not.
  [[nodiscard]] std::string_view due(std::uint32_t round) const;

  // Forms the groups that `round` is the first to use. `models`: what profiles are made with; `selected`: how often
  // each client took part so far. `why` goes to the record.
  [[nodiscard]] Result<GroupsFormed> form(std::uint32_t round, std::string_view why, const RowsView<float>& models,
                                          std::span<const std::uint32_t> selected);

  // True while groups wait for an event: until then everybody is one group. bipartition never stops waiting.
  [[nodiscard]] bool waits() const { return waits_; }
  // The event has come after `round`: forms groups from what the round's members sent. Who did not take part is idle;
  // where too many did not, groups go on waiting.
  [[nodiscard]] Result<GroupsFormed> form_observed(std::uint32_t round, std::string_view why,
                                                   const ObservedRound& observed);
  // bipartition: splits each group whose updates (observed.vectors) say so. The parent of each new group is in
  // `parents`; empty = nothing was split.
  [[nodiscard]] Result<GroupsFormed> split(std::uint32_t round, const ObservedRound& observed,
                                           std::vector<GroupId>& parents);

  // True if clients in no group are placed when they are drawn, by place().
  [[nodiscard]] bool places_newcomers() const { return recipe_.newcomers.assign != "next-regroup"; }
  // Clients that may be drawn in `round`: with samples, and arrived; as one group.
  [[nodiscard]] Grouping present(std::uint32_t round) const;
  // Gives those of `clients` that are in no group one, by what they tell now; who tells nothing stays without.
  // Groups keep their ids. `models`: as in form(), and the same; argmin-loss: the models of the groups, a row each.
  [[nodiscard]] Result<GroupsFormed> place(std::uint32_t round, std::span<const ClientId> clients,
                                           const RowsView<float>& models);

  // What forming the groups suggests that each starts from, as a change to the model given; none: no change. Of
  // update-direction: the mean update of the members that were asked.
  [[nodiscard]] RowsView<float> directions() const { return directions_; }

  [[nodiscard]] const Grouping& grouping() const { return grouping_; }
  // Of all clients in groups.
  [[nodiscard]] std::uint64_t samples() const;
  // Judged anew at every call; where there are very many groups, some of them.
  [[nodiscard]] GroupQuality quality() const;
  // Each group's coefficient of variation; empty unless the plan samples by it.
  [[nodiscard]] std::span<const double> cov() const { return cov_; }

  void save(Checkpoint& checkpoint) const;
  [[nodiscard]] Status restore(const Checkpoint& checkpoint);

 private:
  [[nodiscard]] bool is_late(std::uint32_t client, std::uint32_t round) const {
    return !late_.empty() && late_[client] && round < *recipe_.newcomers.round;
  }
  void form_everyone(std::uint32_t round);
  // The profiles, and in `formed` what they took.
  Result<ClientProfiles> ask(const ProfileKind& kind, const ProfileCall& call, GroupsFormed& formed);
  // What `form` and `form_observed` share: the groups from all that is known, judged and written down.
  Status form_from(std::uint32_t round, std::string_view why, const GroupingInput& input, GroupsFormed& formed);
  [[nodiscard]] std::string line(std::uint32_t round, std::string_view why, const GroupsFormed& formed) const;
  void add_labels(std::uint32_t group, std::span<std::uint64_t> counts) const;
  void measure_cov();

  const Recipe& recipe_;
  const ProfileKind& profile_;
  const FederatedData& data_;
  const Network& network_;
  WorkerPool& pool_;
  std::span<const std::unique_ptr<ClientLink>> links_;

  std::vector<std::uint32_t> samples_;  // of each client
  std::vector<std::uint32_t> edges_;    // of each client; empty = one edge
  std::vector<bool> late_;              // who arrives at newcomers.round; empty = nobody
  std::uint32_t formed_for_ = 0;        // the round; 0 = not yet
  bool waits_ = false;
  Rows<float> directions_;  // of the groups as they were formed, where profiles are vectors and it matters
  Grouping grouping_;
  std::vector<double> cov_;
};

}  // namespace muster
