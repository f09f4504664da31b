// GroupTrainer: how the members of one group train — each from the same model and then averaged, or one after the
// other. Sees clients only through their link; survives any subset of members vanishing.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "aggregate/aggregator.h"
#include "aggregate/member_merge.h"
#include "aggregate/privacy_options.h"
#include "secure/secure_options.h"
#include "train/client_link.h"
#include "train/group_task.h"

namespace muster {

inline constexpr std::string_view kSealedRelay = "sealed";

// The [training] section of a recipe.
struct TrainingOptions {
  std::string mode = "parallel";   // parallel | sequential
  std::uint32_t group_rounds = 1;  // parallel: rounds inside the group per global round
  std::uint32_t passes = 1;        // sequential: how often the chain is walked
  bool shuffle = true;             // sequential: a new order of members for every pass
  std::string relay = "plain";     // sequential: plain | sealed, how models travel from member to member
  SecureOptions secure = {};       // parallel, where members are merged by a secure sum
};

// Thread-safe.
class GroupTrainer {
 public:
  virtual ~GroupTrainer() = default;
  [[nodiscard]] virtual Result<GroupUpdate> train(const RoundCall& call, const GroupTask& task, ClientLink& link,
                                                  GroupUpdate reuse) const = 0;
  // True if a group may be cut into single members, to be trained anywhere, whose updates CombinedUpdate puts together.
  [[nodiscard]] virtual bool divisible() const { return false; }
  // Whether members train one after the other, and how often each is visited in a round.
  [[nodiscard]] virtual bool in_sequence() const { return false; }
  [[nodiscard]] virtual std::uint32_t visits() const = 0;
  // What merges the members of a group that was divided. Only for divisible trainers.
  [[nodiscard]] virtual std::unique_ptr<MemberMerge> make_merge() const;
  // True if even the only member of a group must be merged: a rule may shorten its change. train() leaves that to
  // CombinedUpdate where the trainer is divisible, because it cannot tell such a group from a piece of a larger one.
  [[nodiscard]] virtual bool merges_one() const { return false; }
};

// A group's update from those of its members, given in member order: the same, bit for bit, as from training the group
// as a whole with a divisible trainer.
class CombinedUpdate {
 public:
  // Of one trainer ever. `call` and `task` are borrowed until finish().
  void begin(const GroupTrainer& trainer, const RoundCall& call, const GroupTask& task);
  void add(const GroupUpdate& member);
  // Precondition: begin(). The update lives until the next begin().
  [[nodiscard]] GroupUpdate& finish();

 private:
  std::unique_ptr<MemberMerge> merge_;
  std::vector<ClientId> merged_;  // who was added to it
  std::size_t size_ = 0;          // of a model
  GroupUpdate update_;
};

// Pieces that every mode needs: an empty update that keeps `reuse`'s memory, the task of one member, and the
// bookkeeping of what a member answered. A member that trains several times counts its samples once. One that drops
// every time is dropped once, for the first reason; one that contributes at any visit is not dropped.
[[nodiscard]] GroupUpdate start_update(const GroupTask& task, GroupUpdate reuse);
[[nodiscard]] TrainTask train_task(const RoundCall& call, const GroupTask& task, ClientId client,
                                   std::span<const float> model, std::uint32_t part);
// The reply to `task`, or the reason why it cannot be used: a client may send anything. `payload`: what members sent so
// far, which must be of one size.
[[nodiscard]] TrainReply checked_reply(const TrainTask& task, TrainReply reply, std::span<const float> payload);
void record_member(const LocalUpdate& update, GroupUpdate& result);
void record_drop(const Dropped& dropped, GroupUpdate& result);
// Shortens the change of the trained parameters to `most`; true if it was longer.
bool clip_change(std::span<const float> start, std::size_t parameters, double most, std::span<float> model);
// `added`: the clients whose models were merged, in their order.
void record_merge(const MergeReport& report, std::span<const ClientId> added, GroupUpdate& result);
[[nodiscard]] MemberMergeCall merge_call(const RoundCall& call, const GroupTask& task, std::span<const float> start,
                                         std::uint32_t part);
// Precondition: both are empty or of one size.
void add_payload(std::span<const float> payload, std::vector<float>& sum);

[[nodiscard]] Result<std::unique_ptr<GroupTrainer>> make_group_trainer(const TrainingOptions& options,
                                                                       const AggregationOptions& aggregation,
                                                                       const PrivacyOptions& privacy,
                                                                       std::uint64_t seed);
// How members' models are merged: who makes a merge, whether it must see a group of one, and how long a member's change
// is at most, which is seen to before anything else happens to it.
struct MemberMerging {
  std::function<std::unique_ptr<MemberMerge>()> make;
  bool merges_one = false;
  std::optional<double> clip = {};
};
std::unique_ptr<GroupTrainer> make_parallel(std::uint32_t group_rounds, MemberMerging merging);
// By the mean.
std::unique_ptr<GroupTrainer> make_parallel(std::uint32_t group_rounds, bool by_samples);
// `privacy`: members shorten their changes, add noise, and count alike (train/private_change.h). `sums_payload`: they
// send more than models, one value per trained parameter.
std::unique_ptr<GroupTrainer> make_secure_parallel(std::uint32_t group_rounds, const SecureOptions& options,
                                                   const PrivacyOptions& privacy = {}, bool sums_payload = false);
std::unique_ptr<GroupTrainer> make_sequential(std::uint32_t passes, bool shuffle, std::uint64_t seed,
                                              bool sealed = false);

}  // namespace muster
