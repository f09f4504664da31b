// GroupLink: how whoever hosts a group reaches its members through the network, within the time that the round has. In
// a chain a member gets its share of what is left, so that one that is slow is passed over instead of costing the
// round.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "train/client_link.h"
#include "train/sealed_chain.h"
#include "wire/remote_clients.h"
#include "wire/state_book.h"

namespace muster {

// Vectors that several clients are sent in one piece of work, each once; gone with the object. Not thread-safe but for
// find().
class SharedVectors {
 public:
  explicit SharedVectors(RemoteClients& clients) : clients_(clients) {}
  ~SharedVectors();
  SharedVectors(const SharedVectors&) = delete;
  SharedVectors& operator=(const SharedVectors&) = delete;

  // `values` are borrowed by their address as long as the object lives. None of an empty span.
  RemoteClients::Vector add(std::span<const float> values);
  // What add() gave for these very values, or null.
  [[nodiscard]] RemoteClients::Vector find(std::span<const float> values) const;

 private:
  RemoteClients& clients_;
  std::vector<std::pair<const float*, RemoteClients::Vector>> known_;
};

class GroupLink final : public ClientLink, private SealedChain {
 public:
  struct Terms {
    GroupId group;
    WireTime deadline;
    std::size_t visits = 0;    // calls of train() to be expected one after the other; 0: they come together
    std::uint32_t enough = 0;  // of the answers to train_each(); 0: all
    RemoteClients::EnoughPtr shared_enough = {};  // of the answers to train(), with other links
    SumHost sums = {};                            // where members are summed securely
    std::uint32_t sums_expected = 0;              // that are still to begin, one after the other
  };
  // All is borrowed but the terms.
  GroupLink(RemoteClients& clients, StateBook& book, const SharedVectors& shared, Terms terms)
      : clients_(clients), book_(book), shared_(shared), terms_(std::move(terms)) {}

  Result<TrainReply> train(const TrainTask& task, LocalUpdate reuse) override;
  Status train_each(std::span<const TrainTask> tasks, LocalUpdate reuse, const TakeReply& take) override;
  SumHost sum_host() const override { return terms_.sums; }
  Status sum_each(SumPhase phase, std::span<SumAsk> asks, const TakeSumReply& take) override;
  // Groups are trained only.
  Result<ProfileReply> profile(const ProfileTask& task) override;
  Result<EvaluateReply> evaluate(const EvaluateTask& task) override;
  SealedChain* sealed_chain() override { return this; }

 private:
  Result<std::vector<Dropped>> begin(std::uint32_t round, std::span<const ClientId> members) override;
  Result<SealedReply> visit(const SealedVisit& visit) override;
  Result<TrainReply> open(const TrainTask& task, const SealedModel& sealed) override;

  // A visit's share of the time that is left.
  [[nodiscard]] WireTime deadline_of_visit();
  [[nodiscard]] RemoteClients::TrainAsk ask_for(const TrainTask& task, const RemoteClients::Vector& model) const;
  [[nodiscard]] TrainAnswer ask_in_chain(const TrainTask& task, const SealedModel* from, ChainVisit visit,
                                         WireTime deadline);
  [[nodiscard]] WireTime deadline_of(SumPhase phase) const;
  [[nodiscard]] TrainReply ask(const TrainTask& task, const RemoteClients::Vector& model, WireTime deadline,
                               const RemoteClients::EnoughPtr& enough);

  RemoteClients& clients_;
  StateBook& book_;
  const SharedVectors& shared_;
  Terms terms_;
  std::map<ClientId, ChainKey> chain_keys_;
};

}  // namespace muster
