// Sequential group training: the model walks from member to member. A successor starts from the predecessor's last good
// model, and the objective's anchor is the model it received.
#include "base/random.h"
#include "train/group_trainer.h"

namespace muster {
namespace {

class Sequential final : public GroupTrainer {
 public:
  Sequential(std::uint32_t passes, bool shuffle, std::uint64_t seed)
      : passes_(passes), shuffle_(shuffle), seed_(seed) {}

  bool in_sequence() const override { return true; }
  std::uint32_t visits() const override { return passes_; }

  Result<GroupUpdate> train(const RoundCall& call, const GroupTask& task, ClientLink& link,
                            GroupUpdate reuse) const override {
    GroupUpdate result = start_update(task, std::move(reuse));
    const std::span<const float> start = call.models[task.model];
    LocalUpdate local{.model = std::move(result.model), .payload = std::move(result.payload)};
    std::vector<float> model(start.begin(), start.end());
    std::vector<float> payload;
    std::vector<ClientId> order(task.members.begin(), task.members.end());
    for (std::uint32_t pass = 0; pass < passes_; ++pass) {
      if (shuffle_) {
        Stream stream({.seed = seed_,
                       .purpose = Purpose::kClientOrder,
                       .round = call.round,
                       .id = task.group.value,
                       .part = pass});
        stream.shuffle(std::span(order));
      }
      for (const ClientId client : order) {
        const TrainTask own = train_task(call, task, client, model, pass);
        MUSTER_ASSIGN(TrainReply reply, link.train(own, std::move(local)));
        reply = checked_reply(own, std::move(reply), payload);
        local = {};
        if (auto* update = std::get_if<LocalUpdate>(&reply)) {
          record_member(*update, result);
          add_payload(update->payload, payload);
          // A model that stays with its client does not walk on.
          if (!call.own_models) std::swap(model, update->model);
          local = std::move(*update);
        } else {
          record_drop(std::get<Dropped>(reply), result);
        }
      }
    }
    if (call.own_models) model.clear();
    result.model = std::move(model);
    result.payload = std::move(payload);
    return result;
  }

 private:
  std::uint32_t passes_;
  bool shuffle_;
  std::uint64_t seed_;
};

}  // namespace

std::unique_ptr<GroupTrainer> make_sequential(std::uint32_t passes, bool shuffle, std::uint64_t seed) {
  return std::make_unique<Sequential>(passes, shuffle, seed);
}

}  // namespace muster
