// Sequential group training: the model walks from member to member. A successor starts from the predecessor's last good
// model, and the objective's anchor is the model it received. Where models travel sealed, the host holds what it cannot
// read, and only the last of the chain comes to it openly.
#include <algorithm>
#include <map>

#include "base/random.h"
#include "train/group_trainer.h"
#include "train/sealed_chain.h"

namespace muster {
namespace {

// The model of a sealed chain on its way. What a successor went on from can be read; whether the newest can is known
// only when somebody does. So the host keeps two: the newest, and what its sender went on from.
class SealedWalk {
 public:
  SealedWalk(const RoundCall& call, const GroupTask& task, SealedChain& chain)
      : call_(call), task_(task), chain_(chain) {}

  Status begin() {
    MUSTER_ASSIGN(const std::vector<Dropped> without, chain_.begin(call_.round, task_.members));
    for (const Dropped& dropped : without) keyless_.emplace(dropped.client, dropped.reason);
    return {};
  }

  // `later`: who is visited afterwards, in that order, each as often as it is.
  Status visit(ClientId client, std::uint32_t pass, std::span<const ClientId> later) {
    Visit& visit = visits_.emplace_back();
    visit.task = train_task(call_, task_, client, call_.models[task_.model], pass);
    const std::vector<ClientId> readers = readers_of(later);
    MUSTER_ASSIGN(visit.reply, ask(visit.task, readers));
    if (auto* const made = std::get_if<SealedUpdate>(&visit.reply)) {
      before_ = std::exchange(newest_, {visits_.size() - 1, std::move(made->sealed)});
    }
    return {};
  }

  // Has the last model opened, and puts down who took part.
  Status finish(GroupUpdate& result) {
    const std::span<const float> start = call_.models[task_.model];
    result.model.assign(start.begin(), start.end());
    MUSTER_ASSIGN(bool known, settle(newest_, result.model));
    if (!known) {
      MUSTER_ASSIGN(known, settle(before_, result.model));
    }
    for (Visit& visit : visits_) {
      if (const auto* const dropped = std::get_if<Dropped>(&visit.reply)) {
        record_drop(*dropped, result);
      } else if (known) {
        record_member(std::get<SealedUpdate>(visit.reply).update, result);
      } else {  // what the chain has come to went with its last members
        record_drop({visit.task.client, DropReason::kUnreachable}, result);
      }
    }
    return {};
  }

 private:
  struct Visit {
    TrainTask task;
    SealedReply reply = Dropped{};
  };
  struct Kept {
    std::optional<std::size_t> visit = {};
    std::optional<SealedModel> sealed = {};
  };

  std::vector<ClientId> readers_of(std::span<const ClientId> later) const {
    std::vector<ClientId> readers;
    for (const ClientId client : later) {
      const bool known = keyless_.contains(client) || std::ranges::find(readers, client) != readers.end();
      if (!known && readers.size() < kMostReaders) readers.push_back(client);
    }
    return readers;
  }

  Result<SealedReply> ask(const TrainTask& task, std::span<const ClientId> readers) {
    const auto keyless = keyless_.find(task.client);
    if (keyless != keyless_.end()) return SealedReply{Dropped{task.client, keyless->second}};
    const SealedModel* const from = newest_.sealed ? &*newest_.sealed : nullptr;
    if (from && std::ranges::find(from->head.keys, task.client, &WrappedKey::reader) == from->head.keys.end()) {
      return SealedReply{Dropped{task.client, DropReason::kUnreachable}};
    }
    return chain_.visit({task, from, readers});
  }

  // Whether this is the group's model, which is then in `model`. If not, its visit counts for nothing.
  Result<bool> settle(Kept& kept, std::vector<float>& model) {
    if (!kept.visit) return false;
    Visit& visit = visits_[*kept.visit];
    LocalUpdate& update = std::get<SealedUpdate>(visit.reply).update;
    if (!kept.sealed) {
      model = std::move(update.model);
      return true;
    }
    MUSTER_ASSIGN(TrainReply opened, chain_.open(visit.task, *kept.sealed));
    if (auto* const whole = std::get_if<LocalUpdate>(&opened)) {
      model = std::move(whole->model);
      return true;
    }
    visit.reply = std::get<Dropped>(opened);
    return false;
  }

  const RoundCall& call_;
  const GroupTask& task_;
  SealedChain& chain_;
  std::map<ClientId, DropReason> keyless_;
  std::vector<Visit> visits_;
  Kept newest_;
  Kept before_;
};

class Sequential final : public GroupTrainer {
 public:
  Sequential(std::uint32_t passes, bool shuffle, std::uint64_t seed, bool sealed)
      : passes_(passes), shuffle_(shuffle), seed_(seed), sealed_(sealed) {}

  bool in_sequence() const override { return true; }
  std::uint32_t visits() const override { return passes_; }

  Result<GroupUpdate> train(const RoundCall& call, const GroupTask& task, ClientLink& link,
                            GroupUpdate reuse) const override {
    SealedChain* const chain = sealed_ && task.members.size() > 1 ? link.sealed_chain() : nullptr;
    if (chain) return walk_sealed(call, task, *chain, std::move(reuse));
    GroupUpdate result = start_update(task, std::move(reuse));
    const std::span<const float> start = call.models[task.model];
    LocalUpdate local{.model = std::move(result.model), .payload = std::move(result.payload)};
    std::vector<float> model(start.begin(), start.end());
    std::vector<float> payload;
    std::vector<ClientId> order(task.members.begin(), task.members.end());
    for (std::uint32_t pass = 0; pass < passes_; ++pass) {
      put_in_order(call, task, pass, order);
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
  void put_in_order(const RoundCall& call, const GroupTask& task, std::uint32_t pass,
                    std::vector<ClientId>& order) const {
    if (!shuffle_) return;
    Stream stream(
        {.seed = seed_, .purpose = Purpose::kClientOrder, .round = call.round, .id = task.group.value, .part = pass});
    stream.shuffle(std::span(order));
  }

  Result<GroupUpdate> walk_sealed(const RoundCall& call, const GroupTask& task, SealedChain& chain,
                                  GroupUpdate reuse) const {
    std::vector<ClientId> order(task.members.begin(), task.members.end());
    std::vector<ClientId> all;
    for (std::uint32_t pass = 0; pass < passes_; ++pass) {
      put_in_order(call, task, pass, order);
      all.insert(all.end(), order.begin(), order.end());
    }
    SealedWalk walk(call, task, chain);
    MUSTER_TRY(walk.begin());
    for (std::size_t i = 0; i < all.size(); ++i) {
      // Everybody who is visited again is so within the next two passes.
      const std::size_t ahead = std::min(all.size() - i - 1, 2 * order.size());
      MUSTER_TRY(
          walk.visit(all[i], static_cast<std::uint32_t>(i / order.size()), std::span(all).subspan(i + 1, ahead)));
    }
    GroupUpdate result = start_update(task, std::move(reuse));
    result.payload.clear();
    MUSTER_TRY(walk.finish(result));
    return result;
  }

  std::uint32_t passes_;
  bool shuffle_;
  std::uint64_t seed_;
  bool sealed_;
};

}  // namespace

std::unique_ptr<GroupTrainer> make_sequential(std::uint32_t passes, bool shuffle, std::uint64_t seed, bool sealed) {
  return std::make_unique<Sequential>(passes, shuffle, seed, sealed);
}

}  // namespace muster
