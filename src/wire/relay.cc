#include "wire/relay.h"

#include <algorithm>

namespace muster {
namespace {

// A little less than the asker waits, so that the answer is there in time.
WireTime until(std::chrono::milliseconds within) {
  return std::chrono::steady_clock::now() + within - std::min(within / 20, std::chrono::milliseconds(500));
}

class Relay final : public Workplace {
 public:
  Relay(RemoteClients& clients, std::unique_ptr<GroupTrainer> trainer)
      : clients_(clients), trainer_(std::move(trainer)) {}

  Result<TrainAnswer> train(const TrainTask& task, GroupId group, const Memory& memory,
                            std::chrono::milliseconds within) override {
    SharedVectors shared(clients_);
    return clients_.train({.client = task.client,
                           .group = group,
                           .round = task.round,
                           .part = task.part,
                           .model = shared.add(task.model),
                           .broadcast = shared.add(task.broadcast),
                           .own_model = task.own_model,
                           .epochs = task.epochs,
                           .measure = task.measure,
                           .memory = memory},
                          until(within));
  }

  Result<ProfileReply> profile(const ProfileTask& task, const std::optional<Memory>& memory,
                               std::chrono::milliseconds within) override {
    SharedVectors shared(clients_);
    RemoteClients::ProfileAsk ask{
        .client = task.client, .kind = task.kind, .round = task.asked_in, .as_of_round = task.round, .memory = memory};
    for (std::uint32_t i = 0; i < task.models.count(); ++i) ask.models.push_back(shared.add(task.models.row(i)));
    return clients_.profile(ask, until(within));
  }

  Result<EvaluateReply> evaluate(const EvaluateTask& task, const std::optional<Memory>& memory,
                                 std::chrono::milliseconds within) override {
    SharedVectors shared(clients_);
    return clients_.evaluate({.client = task.client,
                              .round = task.round,
                              .model = shared.add(task.model),
                              .own_model = task.own_model,
                              .held_out = task.held_out,
                              .details = task.details,
                              .memory = memory},
                             until(within));
  }

  Result<GroupAnswer> train_group(const RoundCall& call, const GroupTask& task, std::span<const Memory> memories,
                                  std::chrono::milliseconds within) override {
    SharedVectors shared(clients_);
    shared.add(call.models[0]);
    shared.add(call.broadcast);
    StateBook book;
    for (std::size_t i = 0; i < task.members.size(); ++i) book.begin(task.members[i], memories[i]);
    const std::size_t visits = trainer_->in_sequence() ? task.members.size() * trainer_->visits() : 0;
    GroupLink link(clients_, book, shared, task.group, until(within), visits);
    GroupAnswer answer;
    MUSTER_ASSIGN(answer.update, trainer_->train(call, task, link, {}));
    for (const MemberReport& report : answer.update.members) {
      answer.bases.push_back(book.memory_of(report.client).basis);
    }
    return answer;
  }

 private:
  RemoteClients& clients_;
  std::unique_ptr<GroupTrainer> trainer_;
};

}  // namespace

std::shared_ptr<Workplace> make_relay(RemoteClients& clients, std::unique_ptr<GroupTrainer> trainer) {
  return std::make_shared<Relay>(clients, std::move(trainer));
}

}  // namespace muster
