// Groups: the groups of a run. Formed before the first round and whenever the plan wants new ones, from what clients
// tell; by an event, from what they send; and grown by newcomers. Kept in checkpoints. Sees clients only through the
// Federation, and does not know how groups train or what becomes of models.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/random.h"
#include "engine/client_distances.h"
#include "engine/grouping_line.h"
#include "engine/models.h"
#include "engine/observed_round.h"
#include "engine/sent_models.h"
#include "plan/newcomer_rule.h"
#include "plan/regroup_event.h"
#include "recipe/recipe.h"
#include "train/federation.h"

namespace muster {

// What forming, splitting or growing groups took, and what came of it.
struct GroupsFormed {
  bool anew = false;                         // there are new groups, which the models must follow
  Rows<float> starts;                        // a model for each new group to start from; empty = from the shared one
  std::string line;                          // for groups.jsonl; "" = nothing to record
  std::optional<ClientDistances> distances;  // where they are recorded
  std::vector<std::string> notes;
  std::vector<Dropped> dropped;  // asked for a profile, and none came
  std::uint64_t bytes_up = 0;
  std::uint64_t bytes_down = 0;
  std::uint64_t samples_trained = 0;
  double slowest_flops = 0;  // of the clients' work for their profiles
  double seconds = 0;        // of grouping itself
  double profile_s = 0;      // of waiting for the clients' profiles
};

class Groups {
 public:
  // `federation` is borrowed, and so is `oracle`, which may be null. `sent`: a folder for what clients sent, where it
  // is remembered and too much for memory; empty: it stays in memory. Precondition: check_recipe() passes.
  [[nodiscard]] static Result<std::unique_ptr<Groups>> make(const Recipe& recipe, Federation& federation,
                                                            const Oracle* oracle,
                                                            const std::filesystem::path& sent = {});

  // Told of every profile that comes in: how many have, of how many that were asked for.
  void watch_profiles(std::function<void(std::size_t answered, std::size_t asked)> watcher) {
    watcher_ = std::move(watcher);
  }

  // Why groups must be formed before `round`; empty = they need not.
  [[nodiscard]] std::string_view due(std::uint32_t round) const;
  // Forms the groups that `round` is the first to use. `selected`: how often each client was drawn so far. Where so
  // many clients vanish that no groups can be formed, the groups stay as they are and a note says so.
  [[nodiscard]] Result<GroupsFormed> form(std::uint32_t round, std::string_view why,
                                          std::span<const std::uint32_t> selected);

  // What the recipe has groups wait for; null: nothing.
  [[nodiscard]] const RegroupEvent* event() const { return event_.get(); }
  // The same as long as it is waited for; null once it has happened. Until then everybody is one group; an event that
  // splits groups is waited for to the end.
  [[nodiscard]] const RegroupEvent* awaited() const { return waits_ ? event_.get() : nullptr; }
  // The first round whose updates are looked at: the event's, or the one whose updates give its thresholds a measure.
  [[nodiscard]] std::uint32_t observed_from() const;
  // Takes the measure, once, from what the members of `round` sent.
  void calibrate(std::uint32_t round, const ObservedRound& observed);
  // Forms (or splits) groups from what the members of `round` sent, now that the event has come. Who did not take part
  // is placed like a newcomer later on; where too many did not, groups go on waiting.
  [[nodiscard]] Result<GroupsFormed> follow_event(std::uint32_t round, const ObservedRound& observed,
                                                  const Models& models);

  // Whether clients in no group are given one by place(), instead of waiting until groups are formed anew.
  [[nodiscard]] bool places_newcomers() const { return rule_ != nullptr; }
  // Whether everybody who takes part chooses its group anew; groups may then be empty.
  [[nodiscard]] bool rejoins() const { return rejoins_; }
  // Those of `clients` that place() is for: who is in no group, or everybody who chooses anew.
  [[nodiscard]] std::vector<ClientId> to_place(std::span<const ClientId> clients) const;
  // Gives `waiting` a group each, or another one; who tells nothing stays where it is. Groups keep their ids.
  [[nodiscard]] Result<GroupsFormed> place(std::uint32_t round, std::span<const ClientId> waiting,
                                           const Models& models);

  // What clients sent last, where newcomers are placed by it; null: nobody needs it. To be shown every round.
  [[nodiscard]] SentModels* sent() const { return sent_.get(); }

  [[nodiscard]] const Grouping& grouping() const { return grouping_; }
  // The first round that uses them, or the round whose event formed them; 0 = there are none yet.
  [[nodiscard]] std::uint32_t formed_for() const { return formed_for_; }
  // How far they are the planted clusters. Not set where there are none, or where everybody or nobody is together.
  [[nodiscard]] std::optional<Agreement> truth() const;
  // True labels of each group, a row each, for a picture. Not set where nobody knows them, where everybody or nobody is
  // together, or where there are more groups than a picture can show.
  [[nodiscard]] std::optional<Rows<std::uint64_t>> label_counts() const;
  // Of all clients in groups.
  [[nodiscard]] std::uint64_t samples() const;
  // Each group's coefficient of variation, by the label counts that its members told; empty unless the plan draws by
  // it.
  [[nodiscard]] std::span<const double> cov() const { return cov_; }

  void save(Checkpoint& checkpoint) const;
  [[nodiscard]] Status restore(const Checkpoint& checkpoint);

 private:
  Groups(const Recipe& recipe, Federation& federation, const Oracle* oracle);
  GroupsFormed form_everyone(std::uint32_t round, std::string_view why);
  GroupsFormed form_seeded(std::uint32_t round, std::string_view why);
  Result<GroupsFormed> form_observed(std::uint32_t round, const ObservedRound& observed);
  Result<GroupsFormed> split(std::uint32_t round, const ObservedRound& observed, const Models& models);
  // The model that clients start from who train for their profile.
  [[nodiscard]] std::vector<float> profile_start() const;
  // The network as it is drawn for `key`, beside seed and purpose.
  [[nodiscard]] std::vector<float> drawn_model(const StreamKey& key) const;
  [[nodiscard]] std::uint32_t wanted_groups(std::uint32_t round, std::uint32_t clients) const;
  // What `waiting` are placed by, a row for each of those left in it: what they tell or, where they are not asked, what
  // they sent. Who vanished leaves `waiting`.
  Result<Rows<float>> hear(std::uint32_t round, std::vector<ClientId>& waiting, const Models& models,
                           GroupsFormed& formed);
  // What grouping goes by. Who is not there, is not asked or tells nothing has no samples as far as grouping is
  // concerned.
  struct Told {
    std::vector<std::uint32_t> samples;
    Rows<std::uint32_t> labels;
    Rows<float> vectors;
    std::vector<float> start;  // of those who trained for their profile
  };
  Result<Told> listen(std::uint32_t round, GroupsFormed& formed);
  void remember(const Told& told);
  // The profiles, and in `formed` what they took.
  Result<ClientProfiles> ask(const ProfileRequest& request, GroupsFormed& formed);
  // The groups from all that is known.
  Status form_from(std::uint32_t round, const GroupingInput& input, GroupsFormed& formed);
  void measure_cov(const RowsView<std::uint32_t>& labels);
  [[nodiscard]] ClientDistances distances(std::vector<ClientVector> clients) const;
  [[nodiscard]] std::string line(std::uint32_t round, std::string_view why, const GroupsFormed& formed) const;
  // Everybody that `grouping` does not have becomes idle.
  void take(Grouping grouping);

  Recipe recipe_;
  Federation& federation_;
  const Oracle* oracle_;
  std::unique_ptr<NewcomerRule> rule_;   // null: nobody is placed
  std::unique_ptr<RegroupEvent> event_;  // null: groups wait for nothing
  std::function<void(std::size_t, std::size_t)> watcher_;
  std::unique_ptr<SentModels> sent_;  // null: not needed
  bool seeded_ = false;               // the first groups have models drawn at random, and no members
  bool rejoins_ = false;
  bool separate_models_ = false;  // every group has a model of its own
  bool samples_by_cov_ = false;

  double update_length_ = 0;      // the mean when thresholds were calibrated; 0 = not yet, or not wanted
  std::uint32_t formed_for_ = 0;  // the round that groups were last formed for; 0 = there are none yet
  bool overdue_ = false;          // new ones were wanted, and too few clients answered
  bool waits_ = false;
  bool said_why_unsplit_ = false;  // since groups were last split
  Grouping grouping_;
  std::vector<double> cov_;
  // For newcomers: the mean profile of each group as it was formed, and the model that members had trained from where
  // that is not profile_start(). Empty where no rule compares with them.
  Rows<float> means_;
  std::vector<float> means_start_;
};

}  // namespace muster
