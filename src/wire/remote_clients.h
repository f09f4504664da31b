// RemoteClients: the clients of a run that are reached through channels, for whoever hosts their groups: the cloud, or
// an edge. Peers dial and say for whom they speak; asks wait for an answer until their deadline, also while the client
// is away: when it comes back it is asked again, with the same id. An answer counts once, for the incarnation that
// asked.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "wire/allowance.h"
#include "wire/task_log.h"
#include "wire/wire_note.h"
#include "wire/wire_values.h"

namespace muster {

using WireTime = std::chrono::steady_clock::time_point;

// What every task and every peer of a run has in common.
struct WireRun {
  v1::Welcome welcome;            // without clients
  std::uint64_t most_values = 0;  // of one vector that a client sends
};

// What happens at the wire, for logs and figures. Must not wait.
struct WireEvents {
  SayNote say;
  // Clients that came, those that wait to be admitted included, and that went, in the order in which they did: an edge
  // passes it on. Called while RemoteClients is locked, and so must not call it.
  std::function<void(const std::vector<v1::Client>& came, const std::vector<v1::Client>& went)> presence;
  TaskLog* log = nullptr;  // borrowed; null: nobody wants to know
};

// Whom the frames of a peer are for, and who can send it away: refuse() tells it why, closes its channel, and says so
// here. `again`: it may dial again.
class PeerUser : public ChannelUser {
 public:
  virtual void refuse(const std::string& reason, bool again) = 0;
};

class RemoteClients {
 public:
  // Which clients those of a Hello (or of a Presence) are; none: that is not known yet, and they wait until
  // admit_waiting() or admit(). An error is why they are refused: the peer that speaks for them, or, behind an edge,
  // they alone. Called by threads of the transport, with nothing locked.
  using Admitted = std::optional<std::vector<ClientId>>;
  using Admit = std::function<Result<Admitted>(const std::vector<v1::Client>& clients)>;

  RemoteClients(Admit admit, WireEvents events);
  ~RemoteClients();
  RemoteClients(const RemoteClients&) = delete;
  RemoteClients& operator=(const RemoteClients&) = delete;

  // A peer that has dialled; `name`: for people. `edge`: it may speak for any client and host groups; else `allowed`
  // says for whom it may speak.
  using Allowed = std::function<bool(const v1::Client&)>;
  [[nodiscard]] std::shared_ptr<PeerUser> attach(std::shared_ptr<Channel> channel, std::string name, bool edge,
                                                 Allowed allowed);

  // How clients with data of their own read them: the answer to a Hello without data sheets. Those that said theirs
  // before it was known are told now; who has read otherwise is to come again. None: nobody brings data.
  void set_how_to_read(std::optional<v1::HowToRead> how);
  // Clients that wait; all of them are asked for again by admit_waiting(), after which Admit knows everybody.
  [[nodiscard]] std::vector<v1::Client> waiting() const;
  void admit_waiting();
  // One that waits, or is here, whom somebody else has admitted (the cloud, for an edge) or refuses.
  void admit(const v1::Client& client, ClientId id);
  void refuse(const v1::Client& client, const std::string& reason, bool again);
  // Waits until so many clients wait, or the deadline; returns how many do. `go_on` as for wait_for().
  [[nodiscard]] std::size_t wait_for_waiting(std::size_t wanted, WireTime deadline,
                                             const std::function<bool(std::size_t)>& go_on);

  // The run is settled: peers are welcomed, those that are there and those that come later. Before that no ask is sent.
  void begin(WireRun run);
  // A client that joins a run that has begun may send as long a vector.
  void expect_values(std::uint64_t most_values);
  // No more asks; peers are told that the run is over. Empty signature: it was interrupted.
  void finish(const std::string& signature);
  // After that: until everybody who was ever here knows, or the deadline. Who is away learns it when it comes back.
  void wait_until_told(WireTime deadline);

  // Waits until all of `clients` are there, or the deadline; returns how many of them are. `progress` is called as they
  // come, and every second.
  [[nodiscard]] std::size_t wait_for(std::span<const ClientId> clients, WireTime deadline,
                                     const std::function<bool(std::size_t)>& go_on);
  [[nodiscard]] bool connected(ClientId client) const;
  [[nodiscard]] std::size_t peers() const;
  // The peer that speaks for all of the clients and hosts groups, if there is one: what train_group() goes to.
  [[nodiscard]] bool share_an_edge(std::span<const ClientId> clients) const;

  // A vector that several asks name, which peers are sent once. end_sharing() when no further ask names it.
  [[nodiscard]] std::shared_ptr<const WireVector> share(std::span<const float> values);
  void end_sharing(const std::shared_ptr<const WireVector>& vector);

  // Of several asks for training so many answers are enough: then the others are not needed, and told so. Null: all are
  // needed. Whoever asks counts the answers that are of use; one that comes at the same moment may be more than enough.
  struct Enough {
    std::uint32_t wanted = 0;
    std::uint32_t came = 0;  // guarded by the lock of RemoteClients
    [[nodiscard]] bool reached() const { return came >= wanted; }
  };
  using EnoughPtr = std::shared_ptr<Enough>;
  [[nodiscard]] static EnoughPtr enough(std::uint32_t wanted) {
    return wanted > 0 ? std::make_shared<Enough>(Enough{wanted}) : nullptr;
  }
  void count(const EnoughPtr& enough);
  // What was asked of this client, or of any in the group, is not needed any more.
  void withdraw(std::uint32_t round, GroupId group, std::optional<ClientId> client);

  // Asks. Each waits for its answer, the deadline, or stop(). Thread-safe. Models: what share() gave.
  using Vector = std::shared_ptr<const WireVector>;
  struct TrainAsk {
    ClientId client;
    GroupId group;
    std::uint32_t round = 0;
    std::uint32_t part = 0;
    Vector model;
    Vector broadcast;  // may be null
    bool own_model = false;
    std::optional<double> epochs;
    bool measure = false;
    Memory memory;
    EnoughPtr enough = {};
    std::optional<ChainVisit> chain = {};  // of a chain whose models travel sealed; `model` may be
  };
  [[nodiscard]] TrainAnswer train(const TrainAsk& ask, WireTime deadline);

  // One phase of a secure sum, to one of its members; `work`: what it trains in phase input, else who is meant.
  struct SumPhaseAsk {
    SumPhase phase = SumPhase::kKeys;
    std::uint64_t attempt = 0;
    std::span<const std::byte> said;
    TrainAsk work;
  };
  [[nodiscard]] SummedAnswer sum(const SumPhaseAsk& ask, WireTime deadline);

  // A member's key for the chain of this group in this round.
  [[nodiscard]] ChainKeyReply chain_key(ClientId client, GroupId group, std::uint32_t round, WireTime deadline);

  struct ProfileAsk {
    ClientId client;
    std::string kind;
    std::uint32_t round = 1;
    std::uint32_t as_of_round = 1;
    std::vector<Vector> models;
    std::optional<Memory> memory;  // not set: the answer does not depend on what the client remembers
  };
  [[nodiscard]] ProfileReply profile(const ProfileAsk& ask, WireTime deadline);

  struct EvaluateAsk {
    ClientId client;
    std::uint32_t round = 1;
    Vector model;  // may be null
    bool own_model = false;
    HeldOut held_out = HeldOut::kTest;
    Details details;
    std::optional<Memory> memory;  // as of ProfileAsk
  };
  [[nodiscard]] EvaluateReply evaluate(const EvaluateAsk& ask, WireTime deadline);

  struct GroupAsk {
    GroupId group;
    std::uint32_t round = 0;
    Vector model;
    Vector broadcast;
    bool own_models = false;
    bool measure = false;
    std::vector<ClientId> members;
    std::vector<double> epochs;
    std::vector<Memory> memories;
    std::uint32_t enough = 0;  // of the members
    std::size_t parameters = 0;
    std::uint64_t attempt = 0;  // see Workplace::GroupMembers
    std::vector<std::string> names = {};
  };
  // Precondition: share_an_edge(members) held a moment ago.
  [[nodiscard]] GroupAnswer train_group(const GroupAsk& ask, WireTime deadline);

  // A client that is here, or was.
  struct Attendance {
    ClientId client;
    std::string name;  // of one with data of its own; "" of a simulated one
    std::string peer;  // through whom it is reached, or was
    bool by_edge = false;
    bool here = false;
    std::chrono::system_clock::time_point since;  // when it came, or went
    std::string why;                              // it went
  };
  // Everybody who was ever here, by number, all of one moment.
  [[nodiscard]] std::vector<Attendance> attendance() const;

  // Bytes of vectors sent to and received from peers.
  struct Moved {
    std::uint64_t down = 0;
    std::uint64_t up = 0;
  };
  [[nodiscard]] Moved moved() const;

  // What whoever watches wants to know, all of one moment.
  struct Figures {
    std::string run;  // "": none has begun
    std::uint32_t incarnation = 0;
    std::uint32_t round = 0;  // the last that anybody was asked for
    std::size_t clients = 0;  // that are there
    std::size_t peers = 0;
    std::size_t edges = 0;  // of the peers
    std::size_t asks_open = 0;
    std::uint64_t asks = 0;
    Moved moved;
  };
  [[nodiscard]] Figures figures() const;

 private:
  class Peer;
  struct Pending;

  // Sends the ask and waits; `take` reads and checks the answer with nothing held, and what it gives lives until ask()
  // returns.
  using Take = std::function<TaskAnswer(const v1::Reply&, ChunkReader&)>;
  enum class Outcome { kAnswered, kUnreachable, kLate, kNotNeeded };
  Outcome ask(v1::Ask ask, std::vector<Vector> vectors, WireTime deadline, const Take& take,
              const EnoughPtr& enough = {});
  static DropReason why_none(Outcome outcome);
  void send(Peer& peer, Pending& pending);
  void take_hello(const std::shared_ptr<Peer>& peer, const v1::Hello& hello);
  void take_presence(const std::shared_ptr<Peer>& peer, const v1::Presence& presence);
  void take_reply(const std::shared_ptr<Peer>& peer, const v1::Reply& reply);
  struct Joining;
  void join(const std::shared_ptr<Peer>& peer, const std::vector<v1::Client>& clients);
  [[nodiscard]] Joining ask_who_they_are(const Peer& peer, const std::vector<v1::Client>& clients) const;
  [[nodiscard]] std::string held_by_another(const Peer& peer, const v1::Client& client) const;
  void enter(const std::shared_ptr<Peer>& peer, const v1::Client& client, ClientId id);
  void begin_with(const std::shared_ptr<Peer>& peer, v1::Frame told);
  void tell_how_to_read(Peer& peer) const;
  void say_refused(const Peer& edge, const v1::Client& client, const std::string& reason) const;
  [[nodiscard]] static std::string shown(const v1::Client& client);
  [[nodiscard]] std::shared_ptr<Peer> find_peer(const v1::Client& client) const;
  void leave(Peer& peer, const std::string& why);
  void note_came(const Peer& peer, ClientId client, const v1::Client& who);
  void note_gone(ClientId client, const std::string& why);
  void begin_run(WireRun run);
  void welcome(Peer& peer);
  [[nodiscard]] ChunkReader::Limits reply_limits() const;
  [[nodiscard]] Allowance::Amount answer_to_an_ask() const;
  std::size_t wait_until(std::size_t wanted, WireTime deadline, const std::function<bool(std::size_t)>& go_on,
                         const std::function<std::size_t()>& count);
  void say(const WireNote& note) const;

  Admit admit_;
  WireEvents events_;
  VectorNumbers numbers_;
  mutable std::mutex mutex_;  // of all below
  std::condition_variable changed_;
  std::optional<v1::HowToRead> how_to_read_;
  bool waited_ = false;  // who waited has been admitted: nobody has to wait any more
  std::optional<WireRun> run_;
  bool finished_ = false;
  std::string signature_;
  std::map<std::uint32_t, Attendance> seen_;  // clients that were ever here
  std::set<std::uint32_t> told_;              // that the run is over
  std::set<std::shared_ptr<Peer>> peers_;
  std::map<std::uint32_t, std::shared_ptr<Peer>> route_;  // to each client that is there
  std::map<std::uint64_t, std::shared_ptr<Pending>> pending_;
  std::uint64_t last_ask_ = 0;
  std::uint32_t last_round_ = 0;
  Moved moved_;
};

}  // namespace muster
