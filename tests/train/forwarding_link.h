// A link that passes everything on, for tests that change or listen to some of it.
#pragma once

#include <memory>
#include <utility>

#include "train/group_trainer.h"

namespace muster {

class ForwardingLink : public ClientLink {
 public:
  explicit ForwardingLink(ClientLink& real) : real_(real) {}
  Result<TrainReply> train(const TrainTask& task, LocalUpdate reuse) override {
    return real_.train(task, std::move(reuse));
  }
  SumHost sum_host() const override { return real_.sum_host(); }
  Status sum_each(SumPhase phase, std::span<SumAsk> asks, const TakeSumReply& take) override {
    return real_.sum_each(phase, asks, take);
  }
  Result<ProfileReply> profile(const ProfileTask& task) override { return real_.profile(task); }
  Result<EvaluateReply> evaluate(const EvaluateTask& task) override { return real_.evaluate(task); }

 protected:
  ClientLink& real_;
};

// Changes, or takes down, what a member says of its training in a secure sum.
class TalkingLink final : public ForwardingLink {
 public:
  using Said = std::function<void(ClientId client, LocalUpdate& update)>;
  TalkingLink(ClientLink& real, Said said) : ForwardingLink(real), said_(std::move(said)) {}
  Status sum_each(SumPhase phase, std::span<SumAsk> asks, const TakeSumReply& take) override {
    return real_.sum_each(phase, asks, [&](std::size_t i, SumReply reply) {
      auto* const answer = std::get_if<SumAnswer>(&reply);
      if (answer && answer->update) said_(asks[i].task.client, *answer->update);
      take(i, std::move(reply));
    });
  }

 private:
  Said said_;
};

// Trains as another does, over a link that is put around the real one.
class HostOverLink final : public GroupTrainer {
 public:
  using Around = std::function<std::unique_ptr<ClientLink>(ClientLink& real)>;
  HostOverLink(std::unique_ptr<GroupTrainer> honest, Around around)
      : honest_(std::move(honest)), around_(std::move(around)) {}
  Result<GroupUpdate> train(const RoundCall& call, const GroupTask& task, ClientLink& link,
                            GroupUpdate reuse) const override {
    return honest_->train(call, task, *around_(link), std::move(reuse));
  }
  std::uint32_t visits() const override { return honest_->visits(); }

 private:
  std::unique_ptr<GroupTrainer> honest_;
  Around around_;
};

// Makes such hosts.
using HostMaker = std::function<std::unique_ptr<GroupTrainer>(std::unique_ptr<GroupTrainer>)>;
inline HostMaker over(const HostOverLink::Around& around) {
  return [around](std::unique_ptr<GroupTrainer> honest) {
    return std::make_unique<HostOverLink>(std::move(honest), around);
  };
}

}  // namespace muster
