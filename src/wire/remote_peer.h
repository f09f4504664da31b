// What RemoteClients keeps of each peer that has dialled, and of each ask that waits for an answer. Only for the files
// that RemoteClients is written in: remote_clients.cc (who is there), remote_asks.cc (what is asked, and answered),
// remote_work.cc (the asks by what they are for).
#pragma once

#include "wire/remote_clients.h"

namespace muster {

// A reply names three vectors at most, and they come right before it.
inline constexpr std::uint32_t kReplyVectors = 4;

// One that has dialled. All but the channel and what is const is guarded by RemoteClients::mutex_.
class RemoteClients::Peer final : public PeerUser, public std::enable_shared_from_this<Peer> {
 public:
  Peer(RemoteClients& owner, std::shared_ptr<Channel> channel, std::string name, bool edge, Allowed allowed);

  void received(v1::Frame frame) override;
  void closed(const std::string& why) override { owner_.leave(*this, why); }
  // With the owner's lock not held.
  void refuse(const std::string& reason, bool again) override;

  RemoteClients& owner_;
  std::shared_ptr<Channel> channel_;
  const std::string name_;
  const bool edge_;
  const Allowed allowed_;
  bool greeted_ = false;
  bool untold_ = false;    // it is to be told how to read, which is not known yet
  bool joined_ = false;    // it is known who its clients are
  bool welcomed_ = false;  // to the present run and incarnation
  bool gone_ = false;
  bool hosts_groups_ = false;
  std::vector<v1::Client> waiting_;              // who they are is not known yet
  std::vector<std::uint32_t> ids_;               // of the Hello, in its order
  std::map<std::uint32_t, v1::Client> clients_;  // that it speaks for now
  std::optional<ChunkReader> reader_;
  std::set<std::uint64_t> sent_;  // vectors that it has
  Allowance allowance_;
  bool slowed_ = false;  // ever

 private:
  // Slows down whoever sends more than it may. False: who has not said Hello says something else.
  bool keeps_its_pace(const v1::Frame& frame);
};

struct RemoteClients::Pending {
  v1::Ask ask;
  std::vector<Vector> vectors;
  Peer* sent_to = nullptr;
  WireTime deadline;
  bool done = false;
  bool lost = false;  // of a group: the edge that it was given to is gone
  EnoughPtr enough;
  std::string unwanted;  // why nobody waits for it any more; "": somebody does
  v1::Reply reply;
  std::optional<ChunkReader> answer;  // with its vectors
  std::shared_ptr<Peer> from;         // who sent it
  std::condition_variable answered;
};

}  // namespace muster
