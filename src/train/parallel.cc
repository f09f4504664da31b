// Parallel group training: every member trains from the group's model, the results are merged in member order, and
// that is repeated for some group rounds.
#include <algorithm>

#include "train/group_trainer.h"

namespace muster {
namespace {

class Parallel final : public GroupTrainer {
 public:
  Parallel(std::uint32_t group_rounds, MemberMerging merging)
      : group_rounds_(group_rounds), merging_(std::move(merging)) {}

  bool divisible() const override { return group_rounds_ == 1; }
  std::uint32_t visits() const override { return group_rounds_; }
  std::unique_ptr<MemberMerge> make_merge() const override { return merging_.make(); }
  bool merges_one() const override { return merging_.merges_one; }

  Result<GroupUpdate> train(const RoundCall& call, const GroupTask& task, ClientLink& link,
                            GroupUpdate reuse) const override {
    GroupUpdate result = start_update(task, std::move(reuse));
    const std::span<const float> start = call.models[task.model];
    LocalUpdate local{.model = std::move(result.model), .payload = std::move(result.payload)};
    if (task.members.size() == 1 && group_rounds_ == 1) {
      const TrainTask own = train_task(call, task, task.members[0], start, 0);
      MUSTER_ASSIGN(TrainReply reply, link.train(own, std::move(local)));
      reply = checked_reply(own, std::move(reply), {});
      if (auto* update = std::get_if<LocalUpdate>(&reply)) {
        record_member(*update, result);
        clip(call, start, *update, result);
        result.model = std::move(update->model);
        result.payload = std::move(update->payload);
      } else {
        record_drop(std::get<Dropped>(reply), result);
      }
      return result;
    }

    std::vector<float> model(start.begin(), start.end());
    std::vector<float> payload;
    const std::unique_ptr<MemberMerge> merge = merging_.make();
    std::vector<ClientId> merged;
    for (std::uint32_t group_round = 0; group_round < group_rounds_; ++group_round) {
      merge->begin(merge_call(call, task, model, group_round));
      merged.clear();
      std::vector<TrainTask> own;
      for (const ClientId client : task.members) own.push_back(train_task(call, task, client, model, group_round));
      MUSTER_TRY(link.train_each(own, std::move(local), [&](std::size_t i, TrainReply reply) -> LocalUpdate {
        reply = checked_reply(own[i], std::move(reply), payload);
        if (auto* update = std::get_if<LocalUpdate>(&reply)) {
          record_member(*update, result);
          clip(call, model, *update, result);
          // A model that stays with its client is merged with nothing.
          if (!call.own_models) {
            merge->add(update->client, update->model, update->samples);
            merged.push_back(update->client);
          }
          add_payload(update->payload, payload);
          return std::move(*update);
        }
        record_drop(std::get<Dropped>(reply), result);
        return {};
      }));
      local = {};
      if (!merged.empty()) record_merge(merge->finish(model), merged, result);
    }
    if (call.own_models) model.clear();
    result.model = std::move(model);
    result.payload = std::move(payload);
    return result;
  }

 private:
  void clip(const RoundCall& call, std::span<const float> start, LocalUpdate& update, GroupUpdate& result) const {
    if (!merging_.clip || call.own_models) return;
    if (!clip_change(start, call.parameters, *merging_.clip, update.model)) return;
    ++std::ranges::find(result.members, update.client, &MemberReport::client)->times_clipped;
  }

  std::uint32_t group_rounds_;
  MemberMerging merging_;
};

}  // namespace

std::unique_ptr<GroupTrainer> make_parallel(std::uint32_t group_rounds, MemberMerging merging) {
  return std::make_unique<Parallel>(group_rounds, std::move(merging));
}

std::unique_ptr<GroupTrainer> make_parallel(std::uint32_t group_rounds, bool by_samples) {
  return make_parallel(group_rounds, MemberMerging{.make = [by_samples] { return make_member_mean(by_samples); }});
}

}  // namespace muster
