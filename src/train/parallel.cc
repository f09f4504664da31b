// Parallel group training: every member trains from the group's model, the results are averaged in member order, and
// that is repeated for some group rounds.
#include "train/group_trainer.h"

namespace muster {
namespace {

class Parallel final : public GroupTrainer {
 public:
  Parallel(std::uint32_t group_rounds, bool by_samples) : group_rounds_(group_rounds), by_samples_(by_samples) {}

  bool divisible() const override { return group_rounds_ == 1; }
  std::uint32_t visits() const override { return group_rounds_; }
  double member_weight(const GroupUpdate& member) const override {
    return by_samples_ ? static_cast<double>(member.samples) : 1.0;
  }

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
        result.model = std::move(update->model);
        result.payload = std::move(update->payload);
      } else {
        record_drop(std::get<Dropped>(reply), result);
      }
      return result;
    }

    std::vector<float> model(start.begin(), start.end());
    std::vector<float> payload;
    WeightedMean mean;
    for (std::uint32_t group_round = 0; group_round < group_rounds_; ++group_round) {
      mean.reset(model.size());
      std::vector<TrainTask> own;
      for (const ClientId client : task.members) own.push_back(train_task(call, task, client, model, group_round));
      MUSTER_TRY(link.train_each(own, std::move(local), [&](std::size_t i, TrainReply reply) -> LocalUpdate {
        reply = checked_reply(own[i], std::move(reply), payload);
        if (auto* update = std::get_if<LocalUpdate>(&reply)) {
          record_member(*update, result);
          // A model that stays with its client is merged with nothing.
          if (!call.own_models) mean.add(update->model, by_samples_ ? update->samples : 1.0);
          add_payload(update->payload, payload);
          return std::move(*update);
        }
        record_drop(std::get<Dropped>(reply), result);
        return {};
      }));
      local = {};
      if (mean.weight() > 0) mean.store(model);
    }
    if (call.own_models) model.clear();
    result.model = std::move(model);
    result.payload = std::move(payload);
    return result;
  }

 private:
  std::uint32_t group_rounds_;
  bool by_samples_;
};

}  // namespace

std::unique_ptr<GroupTrainer> make_parallel(std::uint32_t group_rounds, bool by_samples) {
  return std::make_unique<Parallel>(group_rounds, by_samples);
}

}  // namespace muster
