// SealedChains: what the clients of a process do in chains whose models travel sealed: their keys, opening what came,
// sealing what goes. A client is in one chain at a time, and has forgotten the key of the one before.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "deploy/client_workplace.h"

namespace muster {

// Thread-safe.
class SealedChains {
 public:
  explicit SealedChains(ClientSecrecy secrecy) : secrecy_(std::move(secrecy)) {}

  // The same one for the same chain, as long as this process lives.
  [[nodiscard]] ChainKeyReply key(ClientId client, std::uint32_t round, GroupId group);
  // The model that came sealed, if it did. Why the client cannot go on from it: it has no key any more, or what came
  // was not made for it here.
  [[nodiscard]] std::optional<DropReason> receive(const TrainTask& task, GroupId group, const ChainVisit& visit,
                                                  std::vector<float>& model) const;
  // Seals the answer for the readers, or says that it leaves openly.
  void send(const TrainTask& task, GroupId group, const ChainVisit& visit, TrainAnswer& answer) const;
  // The same for a client that is asked outside of any chain: where chains are sealed, as the only one of its own.
  void send_alone(const TrainTask& task, GroupId group, const TrainAnswer& answer) const;

 private:
  [[nodiscard]] std::shared_ptr<const ChainMember> find(const TrainTask& task, GroupId group) const;
  void say(const TrainTask& task, GroupId group, const std::string& what) const;

  ClientSecrecy secrecy_;
  mutable std::mutex mutex_;  // of members_
  std::map<ClientId, std::shared_ptr<const ChainMember>> members_;
};

}  // namespace muster
