#include "wire/relay.h"

#include <algorithm>
#include <deque>
#include <mutex>
#include <utility>

#include "base/hash.h"

namespace muster {
namespace {

// A little less than the asker waits, so that the answer is there in time.
WireTime until(std::chrono::milliseconds within) {
  return std::chrono::steady_clock::now() + within - std::min(within / 20, std::chrono::milliseconds(500));
}

// Vectors that the cloud has sent, on their way to clients. The same one is asked for again and again, for one client
// after the other; it is known by its values, and goes to a peer once.
class PassedOn {
 public:
  explicit PassedOn(RemoteClients& clients) : clients_(clients) {}
  ~PassedOn() {
    for (const auto& [hash, vector] : latest_) clients_.end_sharing(vector);
  }
  PassedOn(const PassedOn&) = delete;
  PassedOn& operator=(const PassedOn&) = delete;

  RemoteClients::Vector pass(std::span<const float> values) {
    if (values.empty()) return nullptr;
    const std::uint64_t hash = hash_bytes(values.data(), values.size_bytes());
    const std::lock_guard lock(mutex_);
    const auto known = std::ranges::find_if(latest_, [&](const auto& entry) {
      return entry.first == hash && entry.second->values.size() == values.size();
    });
    if (known != latest_.end()) return known->second;
    latest_.emplace_back(hash, clients_.share(values));
    if (latest_.size() > kMost) {
      clients_.end_sharing(latest_.front().second);  // who needs it after all is sent it again
      latest_.pop_front();
    }
    return latest_.back().second;
  }

 private:
  static constexpr std::size_t kMost = 8;

  RemoteClients& clients_;
  std::mutex mutex_;
  std::deque<std::pair<std::uint64_t, RemoteClients::Vector>> latest_;
};

class Relay final : public Workplace {
 public:
  Relay(RemoteClients& clients, std::unique_ptr<GroupTrainer> trainer, std::shared_ptr<const MemberVerifier> verifier)
      : clients_(clients), trainer_(std::move(trainer)), verifier_(std::move(verifier)), passed_(clients) {}

  Result<TrainAnswer> train(const TrainTask& task, GroupId group, const Memory& memory,
                            std::chrono::milliseconds within) override {
    return clients_.train(ask_for(task, group, memory), until(within));
  }

  Result<ChainKeyReply> chain_key(ClientId client, std::uint32_t round, GroupId group,
                                  std::chrono::milliseconds within) override {
    return clients_.chain_key(client, group, round, until(within));
  }

  Result<TrainAnswer> train_in_chain(const TrainTask& task, GroupId group, const Memory& memory,
                                     const ChainVisit& visit, std::chrono::milliseconds within) override {
    RemoteClients::TrainAsk ask = ask_for(task, group, memory);
    ask.chain = visit;
    return clients_.train(ask, until(within));
  }

  Result<SummedAnswer> sum(SumPhase phase, SumAsk ask, GroupId group, const Memory& memory,
                           std::chrono::milliseconds within) override {
    return clients_.sum({phase, ask.attempt, ask.message, ask_for(ask.task, group, memory)}, until(within));
  }

  Result<ProfileReply> profile(const ProfileTask& task, const std::optional<Memory>& memory,
                               std::chrono::milliseconds within) override {
    RemoteClients::ProfileAsk ask{
        .client = task.client, .kind = task.kind, .round = task.asked_in, .as_of_round = task.round, .memory = memory};
    for (std::uint32_t i = 0; i < task.models.count(); ++i) ask.models.push_back(passed_.pass(task.models.row(i)));
    return clients_.profile(ask, until(within));
  }

  Result<EvaluateReply> evaluate(const EvaluateTask& task, const std::optional<Memory>& memory,
                                 std::chrono::milliseconds within) override {
    return clients_.evaluate({.client = task.client,
                              .round = task.round,
                              .model = passed_.pass(task.model),
                              .own_model = task.own_model,
                              .held_out = task.held_out,
                              .details = task.details,
                              .memory = memory},
                             until(within));
  }

  Result<GroupAnswer> train_group(const RoundCall& call, const GroupTask& task, const GroupMembers& members,
                                  std::chrono::milliseconds within) override {
    SharedVectors shared(clients_);
    shared.add(call.models[0]);
    shared.add(call.broadcast);
    StateBook book;
    for (std::size_t i = 0; i < task.members.size(); ++i) book.begin(task.members[i], members.memories[i]);
    const std::size_t visits = trainer_->in_sequence() ? task.members.size() * trainer_->visits() : 0;
    SumHost sums{.run = clients_.figures().run, .attempt = members.attempt, .verifier = verifier_.get()};
    if (!members.names.empty()) {
      sums.name_of = [&](ClientId client) {
        return members.names[static_cast<std::size_t>(std::ranges::find(task.members, client) - task.members.begin())];
      };
    }
    GroupLink link(clients_, book, shared,
                   {.group = task.group,
                    .deadline = until(within),
                    .visits = visits,
                    .enough = task.enough,
                    .sums = std::move(sums),
                    .sums_expected = trainer_->visits()});
    GroupAnswer answer;
    MUSTER_ASSIGN(answer.update, trainer_->train(call, task, link, {}));
    for (const MemberReport& report : answer.update.members) {
      answer.bases.push_back(book.memory_of(report.client).basis);
    }
    for (const Dropped& dropped : answer.update.dropped) {
      answer.dropped_bases.push_back(book.memory_of(dropped.client).basis);
    }
    return answer;
  }

  void withdraw(std::uint32_t round, GroupId group, std::optional<ClientId> client) override {
    clients_.withdraw(round, group, client);
  }

 private:
  RemoteClients::TrainAsk ask_for(const TrainTask& task, GroupId group, const Memory& memory) {
    return {.client = task.client,
            .group = group,
            .round = task.round,
            .part = task.part,
            .model = passed_.pass(task.model),
            .broadcast = passed_.pass(task.broadcast),
            .own_model = task.own_model,
            .epochs = task.epochs,
            .measure = task.measure,
            .memory = memory};
  }

  RemoteClients& clients_;
  std::unique_ptr<GroupTrainer> trainer_;
  std::shared_ptr<const MemberVerifier> verifier_;
  PassedOn passed_;
};

}  // namespace

std::shared_ptr<Workplace> make_relay(RemoteClients& clients, std::unique_ptr<GroupTrainer> trainer,
                                      std::shared_ptr<const MemberVerifier> verifier) {
  return std::make_shared<Relay>(clients, std::move(trainer), std::move(verifier));
}

}  // namespace muster
