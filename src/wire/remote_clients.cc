#include "wire/remote_clients.h"

#include <algorithm>
#include <utility>

#include "train/reply_check.h"
#include "train/update_check.h"

namespace muster {
namespace {

// A reply names three vectors at most, and they come right before it.
constexpr std::uint32_t kReplyVectors = 4;
constexpr const char* kLateReason = "the round did not wait for it any longer";

// What anybody may send without being asked: a Hello, what an edge tells of its clients, replies that it had kept.
constexpr Allowance::Amount kUnasked{.frames = 1000, .bytes = 16 << 20};
constexpr Allowance::Amount kUnaskedPerSecond{.frames = 100, .bytes = 1 << 20};
constexpr std::uint64_t kMostReplyBytes = 4 << 20;  // of the frame itself

v1::Frame refusal(std::string reason, bool again) {
  v1::Frame frame;
  frame.mutable_refusal()->set_reason(std::move(reason));
  frame.mutable_refusal()->set_again(again);
  return frame;
}

v1::Frame verdict(const v1::TaskId& id, bool used, std::string reason = "") {
  v1::Frame frame;
  *frame.mutable_verdict()->mutable_id() = id;
  frame.mutable_verdict()->set_used(used);
  frame.mutable_verdict()->set_reason(std::move(reason));
  return frame;
}

bool same(const v1::TaskId& a, const v1::TaskId& b) {
  return a.run() == b.run() && a.incarnation() == b.incarnation() && a.number() == b.number() &&
         a.round() == b.round() && a.group() == b.group() && a.client() == b.client() && a.part() == b.part();
}

std::string shown(const v1::Client& client) {
  return client.has_name() ? client.name() : fmt::format("client {}", client.simulated());
}

}  // namespace

// One that has dialled. All but the channel is guarded by RemoteClients::mutex_.
class RemoteClients::Peer final : public ChannelUser, public std::enable_shared_from_this<Peer> {
 public:
  Peer(RemoteClients& owner, std::shared_ptr<Channel> channel, std::string name, bool edge, Allowed allowed)
      : owner_(owner),
        channel_(std::move(channel)),
        name_(std::move(name)),
        edge_(edge),
        allowed_(std::move(allowed)) {}

  void received(v1::Frame frame) override {
    const std::shared_ptr<Peer> self = shared_from_this();
    if (!keeps_its_pace(frame)) return refuse("its first frame is not a Hello", false);
    switch (frame.body_case()) {
      case v1::Frame::kHello:
        return owner_.take_hello(self, frame.hello());
      case v1::Frame::kPresence:
        return owner_.take_presence(self, frame.presence());
      case v1::Frame::kReply:
        return owner_.take_reply(self, frame.reply());
      case v1::Frame::kChunk: {
        Status status;
        {
          const std::lock_guard lock(owner_.mutex_);
          if (!reader_ || gone_) return;  // before the run, or after a refusal
          owner_.moved_.up += frame.chunk().values().size();
          status = reader_->add(frame.chunk());
        }
        if (!status) refuse(status.error().message, true);
        return;
      }
      case v1::Frame::kRefusal:
        owner_.say(fmt::format("{}: {}", name_, frame.refusal().reason()));
        return channel_->close();
      default:
        refuse("a frame that is not expected here", false);
    }
  }

  void closed(const std::string& why) override { owner_.leave(*this, why); }

  // Slows down whoever sends more than it may. False: who has not said Hello says something else.
  bool keeps_its_pace(const v1::Frame& frame) {
    bool told = true;
    std::chrono::milliseconds owed;
    {
      const std::lock_guard lock(owner_.mutex_);
      if (!greeted_ && !frame.has_hello() && !frame.has_refusal()) return gone_;
      owed = allowance_.spend(frame.ByteSizeLong(), std::chrono::steady_clock::now());
      if (owed.count() > 0) told = std::exchange(slowed_, true);
    }
    if (owed.count() > 0) channel_->pause(owed);
    if (!told) owner_.say(fmt::format("{} sends more than it was asked for, and is read more slowly", name_));
    return true;
  }

  // With owner_.mutex_ not held.
  void refuse(const std::string& reason, bool again) {
    owner_.say(fmt::format("{} is refused: {}", name_, reason));
    channel_->send({refusal(reason, again)});
    channel_->close();
    owner_.leave(*this, reason);
  }

  RemoteClients& owner_;
  std::shared_ptr<Channel> channel_;
  const std::string name_;
  const bool edge_;
  const Allowed allowed_;
  bool greeted_ = false;
  bool joined_ = false;  // it is known who its clients are
  bool gone_ = false;
  bool hosts_groups_ = false;
  std::vector<v1::Client> waiting_;              // who they are is not known yet
  std::vector<std::uint32_t> ids_;               // of the Hello, in its order
  std::map<std::uint32_t, v1::Client> clients_;  // that it speaks for now
  std::optional<ChunkReader> reader_;
  std::set<std::uint64_t> sent_;  // vectors that it has
  Allowance allowance_{kUnasked, kUnaskedPerSecond, std::chrono::steady_clock::now()};
  bool slowed_ = false;  // ever
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

RemoteClients::RemoteClients(Admit admit, WireEvents events) : admit_(std::move(admit)), events_(std::move(events)) {}

RemoteClients::~RemoteClients() = default;

void RemoteClients::say(const std::string& line) const {
  if (events_.say) events_.say(told_text(line));
}

std::shared_ptr<ChannelUser> RemoteClients::attach(std::shared_ptr<Channel> channel, std::string name, bool edge,
                                                   Allowed allowed) {
  auto peer = std::make_shared<Peer>(*this, std::move(channel), std::move(name), edge, std::move(allowed));
  const std::lock_guard lock(mutex_);
  peers_.insert(peer);
  return peer;
}

void RemoteClients::take_hello(const std::shared_ptr<Peer>& peer, const v1::Hello& hello) {
  if (hello.version() != 1) return peer->refuse(fmt::format("protocol version {}, want 1", hello.version()), false);
  if (hello.hosts_groups() && !peer->edge_) return peer->refuse("only an edge hosts groups", false);
  const bool untold = std::ranges::any_of(
      hello.clients(), [](const v1::Client& client) { return client.has_name() && !client.has_data(); });
  {
    const std::lock_guard lock(mutex_);
    if (peer->greeted_ || peer->gone_) return;
    if (untold && how_to_read_) {
      v1::Frame frame;
      *frame.mutable_how_to_read() = *how_to_read_;
      peer->channel_->send({std::move(frame)});
      return;
    }
    peer->greeted_ = true;
    peer->hosts_groups_ = hello.hosts_groups();
  }
  join(peer, {hello.clients().begin(), hello.clients().end()});
}

void RemoteClients::take_presence(const std::shared_ptr<Peer>& peer, const v1::Presence& presence) {
  if (!peer->edge_) return peer->refuse("only an edge tells of other clients", false);
  std::vector<v1::Client> went(presence.went().begin(), presence.went().end());
  if (!went.empty()) {
    const Result<Admitted> ids = admit_(went);
    if (!ids) return peer->refuse(ids.error().message, true);
    const std::vector<ClientId> known_ids = ids->value_or(std::vector<ClientId>());
    const std::lock_guard lock(mutex_);
    for (const ClientId id : known_ids) {
      peer->clients_.erase(id.value);
      const auto known = route_.find(id.value);
      if (known != route_.end() && known->second == peer) route_.erase(known);
    }
    if (events_.log) events_.log->went(peer->name_, known_ids);
  }
  if (presence.came_size() > 0) join(peer, {presence.came().begin(), presence.came().end()});
}

void RemoteClients::join(const std::shared_ptr<Peer>& peer, const std::vector<v1::Client>& clients) {
  for (const v1::Client& client : clients) {
    if (!peer->edge_ && !peer->allowed_(client)) {
      return peer->refuse(fmt::format("its certificate does not speak for {}", shown(client)), false);
    }
  }
  const Result<Admitted> admitted = admit_(clients);
  if (!admitted) return peer->refuse(admitted.error().message, admitted.error().code == ErrorCode::kFailed);
  if (!*admitted) return keep_waiting(peer, clients);
  const std::vector<ClientId>* const ids = &**admitted;
  std::string twice;
  {
    const std::lock_guard lock(mutex_);
    if (peer->gone_) return;
    for (std::size_t i = 0; i < ids->size() && twice.empty(); ++i) {
      const auto known = route_.find((*ids)[i].value);
      if (known != route_.end() && known->second != peer) {
        twice = fmt::format("{} is here already, by {}", shown(clients[i]), known->second->name_);
      }
    }
    if (twice.empty()) {
      peer->joined_ = true;
      for (std::size_t i = 0; i < ids->size(); ++i) {
        const std::uint32_t id = (*ids)[i].value;
        peer->ids_.push_back(id);
        peer->clients_[id] = clients[i];
        route_[id] = peer;
        known_.insert(id);
        if (finished_) told_.insert(id);
      }
      if (events_.log) events_.log->came(peer->name_, peer->hosts_groups_, *ids);
      if (finished_) {
        v1::Frame frame;
        frame.mutable_finished()->set_signature(signature_);
        peer->channel_->send({frame});
        peer->channel_->close();
      } else if (run_) {
        welcome(*peer);
        for (const auto& [number, pending] : pending_) {
          const auto route = route_.find(pending->ask.id().client());
          const bool its_own = route != route_.end() && route->second == peer;
          if (its_own && !pending->done && !pending->lost) send(*peer, *pending);
        }
      }
      if (!clients.empty() && events_.presence) events_.presence(clients, {});
    }
  }
  if (!twice.empty()) return peer->refuse(twice, true);
  changed_.notify_all();
}

void RemoteClients::keep_waiting(const std::shared_ptr<Peer>& peer, const std::vector<v1::Client>& clients) {
  std::string twice;
  {
    const std::lock_guard lock(mutex_);
    if (peer->gone_) return;
    for (const auto& other : peers_) {
      for (const v1::Client& one : other->waiting_) {
        const auto same_name = [&](const v1::Client& client) { return shown(client) == shown(one); };
        if (other != peer && std::ranges::any_of(clients, same_name)) {
          twice = fmt::format("{} is here already, by {}", shown(one), other->name_);
        }
      }
    }
    if (twice.empty() && !waited_) peer->waiting_.insert(peer->waiting_.end(), clients.begin(), clients.end());
    if (twice.empty() && waited_) twice = "the run has just begun";
  }
  if (!twice.empty()) return peer->refuse(twice, true);
  changed_.notify_all();
}

void RemoteClients::set_how_to_read(v1::HowToRead how) {
  const std::lock_guard lock(mutex_);
  how_to_read_ = std::move(how);
}

std::vector<v1::Client> RemoteClients::waiting() const {
  const std::lock_guard lock(mutex_);
  std::vector<v1::Client> all;
  for (const auto& peer : peers_) all.insert(all.end(), peer->waiting_.begin(), peer->waiting_.end());
  return all;
}

void RemoteClients::admit_waiting() {
  std::vector<std::pair<std::shared_ptr<Peer>, std::vector<v1::Client>>> waited;
  {
    const std::lock_guard lock(mutex_);
    waited_ = true;
    for (const auto& peer : peers_) {
      if (!peer->waiting_.empty()) waited.emplace_back(peer, std::exchange(peer->waiting_, {}));
    }
  }
  // By name, so that it does not matter who came first.
  std::ranges::sort(waited, {}, [](const auto& entry) { return shown(entry.second.front()); });
  for (const auto& [peer, clients] : waited) join(peer, clients);
}

void RemoteClients::refuse_waiting(const std::string& name, const std::string& reason) {
  std::shared_ptr<Peer> refused;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& peer : peers_) {
      if (std::ranges::any_of(peer->waiting_, [&](const v1::Client& client) { return client.name() == name; })) {
        refused = peer;
      }
    }
  }
  if (refused) refused->refuse(reason, false);
}

void RemoteClients::expect_values(std::uint64_t most_values) {
  const std::lock_guard lock(mutex_);
  if (run_) run_->most_values = std::max(run_->most_values, most_values);
}

// With the lock held.
void RemoteClients::welcome(Peer& peer) {
  if (!peer.reader_) {
    peer.reader_.emplace(ChunkReader::Limits{.vector_values = run_->most_values,
                                             .held_values = kReplyVectors * run_->most_values,
                                             .held_vectors = kReplyVectors});
  }
  v1::Frame frame;
  *frame.mutable_welcome() = run_->welcome;
  frame.mutable_welcome()->mutable_clients()->Assign(peer.ids_.begin(), peer.ids_.end());
  peer.channel_->send({frame});
}

void RemoteClients::begin(WireRun run) {
  const std::lock_guard lock(mutex_);
  // Whoever asked before has started again, and asks again.
  const bool another =
      run_ && (run_->welcome.run() != run.welcome.run() || run_->welcome.incarnation() != run.welcome.incarnation());
  for (const auto& [number, pending] : pending_) {
    if (!another) break;
    pending->lost = true;
    pending->answered.notify_all();
  }
  run_ = std::move(run);
  for (const auto& peer : peers_) {
    if (peer->joined_ && !peer->gone_) welcome(*peer);
  }
}

void RemoteClients::finish(const std::string& signature) {
  const std::lock_guard lock(mutex_);
  finished_ = true;
  signature_ = signature;
  for (const auto& [number, pending] : pending_) pending->answered.notify_all();
  for (const auto& [id, peer] : route_) told_.insert(id);
  v1::Frame frame;
  frame.mutable_finished()->set_signature(signature);
  for (const auto& peer : peers_) {
    peer->channel_->send({frame});
    peer->channel_->close();
  }
}

void RemoteClients::wait_until_told(WireTime deadline) {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, deadline, [&] { return std::ranges::includes(told_, known_); });
}

void RemoteClients::leave(Peer& peer, const std::string& why) {
  std::vector<v1::Client> went;
  std::vector<ClientId> went_ids;
  bool over = false;
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(peer.gone_, true)) return;
    over = finished_;
    for (const auto& [id, client] : peer.clients_) {
      const auto known = route_.find(id);
      if (known == route_.end() || known->second.get() != &peer) continue;
      went.push_back(client);
      went_ids.push_back({id});
      route_.erase(known);
    }
    for (const auto& [number, pending] : pending_) {
      if (pending->sent_to != &peer) continue;
      pending->sent_to = nullptr;
      pending->lost = pending->ask.has_group();
      if (pending->lost) pending->answered.notify_all();
    }
    const auto self = std::ranges::find_if(peers_, [&](const auto& known) { return known.get() == &peer; });
    if (self != peers_.end()) peers_.erase(self);  // whoever called holds the peer
    if (!went.empty() && !over && events_.presence) events_.presence({}, went);
    if (!went.empty() && events_.log) events_.log->went(peer.name_, went_ids);
  }
  changed_.notify_all();
  if (went.empty() || over) return;
  say(fmt::format("{} is gone with {} clients: {}", peer.name_, went.size(), why));
}

std::size_t RemoteClients::wait_until(std::size_t wanted, WireTime deadline,
                                      const std::function<bool(std::size_t)>& go_on,
                                      const std::function<std::size_t()>& count) {
  std::unique_lock lock(mutex_);
  while (true) {
    const std::size_t there = count();
    const auto now = std::chrono::steady_clock::now();
    if (there >= wanted || now >= deadline) return there;
    lock.unlock();
    const bool more = go_on(there);
    lock.lock();
    if (!more) return there;
    changed_.wait_until(lock, std::min(deadline, now + std::chrono::seconds(1)));
  }
}

std::size_t RemoteClients::wait_for(std::span<const ClientId> clients, WireTime deadline,
                                    const std::function<bool(std::size_t)>& go_on) {
  return wait_until(clients.size(), deadline, go_on, [&] {
    return static_cast<std::size_t>(
        std::ranges::count_if(clients, [&](ClientId client) { return route_.contains(client.value); }));
  });
}

std::size_t RemoteClients::wait_for_waiting(std::size_t wanted, WireTime deadline,
                                            const std::function<bool(std::size_t)>& go_on) {
  return wait_until(wanted, deadline, go_on, [&] {
    std::size_t clients = 0;
    for (const auto& peer : peers_) clients += peer->waiting_.size();
    return clients;
  });
}

bool RemoteClients::connected(ClientId client) const {
  const std::lock_guard lock(mutex_);
  return route_.contains(client.value);
}

std::size_t RemoteClients::peers() const {
  const std::lock_guard lock(mutex_);
  return peers_.size();
}

bool RemoteClients::share_an_edge(std::span<const ClientId> clients) const {
  const std::lock_guard lock(mutex_);
  const Peer* edge = nullptr;
  for (const ClientId client : clients) {
    const auto route = route_.find(client.value);
    if (route == route_.end() || !route->second->hosts_groups_) return false;
    if (edge && edge != route->second.get()) return false;
    edge = route->second.get();
  }
  return edge != nullptr;
}

RemoteClients::Vector RemoteClients::share(std::span<const float> values) {
  return numbers_.make({values.begin(), values.end()});
}

void RemoteClients::end_sharing(const Vector& vector) {
  if (!vector) return;
  v1::Frame frame;
  frame.mutable_forget()->add_vectors(vector->number);
  const std::lock_guard lock(mutex_);
  for (const auto& peer : peers_) {
    if (peer->sent_.erase(vector->number) > 0) peer->channel_->send({frame});
  }
}

RemoteClients::Moved RemoteClients::moved() const {
  const std::lock_guard lock(mutex_);
  return moved_;
}

RemoteClients::Figures RemoteClients::figures() const {
  const std::lock_guard lock(mutex_);
  Figures figures{.round = last_round_,
                  .clients = route_.size(),
                  .peers = peers_.size(),
                  .asks_open = pending_.size(),
                  .asks = last_ask_,
                  .moved = moved_};
  figures.edges =
      static_cast<std::size_t>(std::ranges::count_if(peers_, [](const auto& peer) { return peer->hosts_groups_; }));
  if (run_) {
    figures.run = run_->welcome.run();
    figures.incarnation = run_->welcome.incarnation();
  }
  return figures;
}

// With the lock held.
void RemoteClients::send(Peer& peer, Pending& pending) {
  if (pending.sent_to == &peer) return;
  pending.sent_to = &peer;
  for (const Vector& vector : pending.vectors) {
    if (!peer.sent_.insert(vector->number).second) continue;
    moved_.down += vector->values.size() * sizeof(float);
    peer.channel_->send({{}, vector});
  }
  v1::Frame frame;
  *frame.mutable_ask() = pending.ask;
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(pending.deadline - std::chrono::steady_clock::now());
  frame.mutable_ask()->set_within_ms(static_cast<std::uint32_t>(std::clamp<std::int64_t>(left.count(), 1, INT32_MAX)));
  peer.channel_->send({std::move(frame)});
  peer.allowance_.earn(answer_to_an_ask());
}

// As much as its answer may take, twice: an answer that was on its way when the line broke comes again.
Allowance::Amount RemoteClients::answer_to_an_ask() const {
  const std::uint64_t vector_bytes = run_->most_values * sizeof(float);
  const std::uint64_t chunks = run_->most_values / kChunkValues + 1;
  return {.frames = 2.0 * static_cast<double>(kReplyVectors * chunks + 1),
          .bytes = 2.0 * static_cast<double>(kReplyVectors * (vector_bytes + chunks * 64) + kMostReplyBytes)};
}

RemoteClients::Outcome RemoteClients::ask(v1::Ask ask, std::vector<Vector> vectors, WireTime deadline, const Take& take,
                                          const EnoughPtr& enough) {
  const auto pending = std::make_shared<Pending>();
  pending->enough = enough;
  std::erase(vectors, nullptr);
  pending->vectors = std::move(vectors);
  pending->deadline = deadline;
  std::unique_lock lock(mutex_);
  MUSTER_CHECK(run_.has_value(), "an ask before the run has begun");
  if (enough && enough->reached()) return Outcome::kNotNeeded;
  const std::uint64_t number = ++last_ask_;
  last_round_ = ask.id().round();
  v1::TaskId& id = *ask.mutable_id();
  id.set_run(run_->welcome.run());
  id.set_incarnation(run_->welcome.incarnation());
  id.set_number(number);
  pending->ask = std::move(ask);
  pending_[number] = pending;
  if (events_.log) events_.log->asked(pending->ask);
  const auto route = route_.find(pending->ask.id().client());
  if (route != route_.end()) send(*route->second, *pending);
  pending->answered.wait_until(
      lock, deadline, [&] { return pending->done || pending->lost || finished_ || !pending->unwanted.empty(); });
  pending_.erase(number);
  if (!pending->done) {
    const bool late = pending->unwanted.empty();
    const Outcome outcome = !late ? Outcome::kNotNeeded : pending->sent_to ? Outcome::kLate : Outcome::kUnreachable;
    if (events_.log) events_.log->missed(pending->ask, name(why_none(outcome)));
    if (!pending->sent_to) return outcome;
    // So that the client stops, and undoes what it may have done.
    pending->sent_to->channel_->send({verdict(pending->ask.id(), false, late ? kLateReason : pending->unwanted)});
    return late ? Outcome::kLate : Outcome::kNotNeeded;
  }
  lock.unlock();
  const TaskAnswer answer = take(pending->reply, *pending->answer);
  if (events_.log) events_.log->answered(pending->ask, pending->reply.id(), answer);
  // Who says that there is nothing to be used has been taken at its word.
  const v1::Reply& reply = pending->reply;
  const bool nothing = reply.has_dropped() || (reply.has_group() && reply.group().members().empty());
  pending->from->channel_->send({verdict(reply.id(), answer.used || nothing, std::string(answer.reason))});
  return Outcome::kAnswered;
}

void RemoteClients::count(const EnoughPtr& enough) {
  if (!enough) return;
  const std::lock_guard lock(mutex_);
  ++enough->came;
  if (!enough->reached()) return;
  for (const auto& [number, pending] : pending_) {
    if (pending->enough != enough) continue;
    pending->unwanted = "enough others had answered";
    pending->answered.notify_all();
  }
}

void RemoteClients::withdraw(std::uint32_t round, GroupId group, std::optional<ClientId> client) {
  const std::lock_guard lock(mutex_);
  for (const auto& [number, pending] : pending_) {
    const v1::TaskId& id = pending->ask.id();
    if (!pending->ask.has_train() || id.round() != round || id.group() != group.value) continue;
    if (client && id.client() != client->value) continue;
    pending->unwanted = kLateReason;
    pending->answered.notify_all();
  }
}

void RemoteClients::take_reply(const std::shared_ptr<Peer>& peer, const v1::Reply& reply) {
  std::unique_lock lock(mutex_);
  if (peer->gone_) return;  // it was refused, and what it still says counts for nothing
  if (!peer->reader_ || !run_) {
    lock.unlock();
    return peer->refuse("a reply to nothing", false);
  }
  // The vectors that came before it are its own, whether it is used or not.
  ChunkReader vectors = std::exchange(*peer->reader_, ChunkReader({.vector_values = run_->most_values,
                                                                   .held_values = kReplyVectors * run_->most_values,
                                                                   .held_vectors = kReplyVectors}));
  const v1::TaskId& id = reply.id();
  const auto refuse = [&](const char* reason) {
    if (events_.log) events_.log->refused(peer->name_, id, reason);
    peer->channel_->send({verdict(id, false, reason)});
  };
  if (id.run() != run_->welcome.run() || id.incarnation() != run_->welcome.incarnation()) {
    return refuse("the cloud has started again since it was asked");
  }
  const auto found = pending_.find(id.number());
  if (found == pending_.end() || !found->second->unwanted.empty()) return refuse(kLateReason);
  if (found->second->done) return refuse("it has been answered already");
  Pending& pending = *found->second;
  // An edge may have lost the client since it answered: what counts is that the edge was asked.
  const bool its_own = pending.sent_to == peer.get() || peer->clients_.contains(id.client());
  if (!same(pending.ask.id(), id) || !its_own) {
    if (events_.log) events_.log->refused(peer->name_, id, "it is for a task that is not its own");
    lock.unlock();
    return peer->refuse(fmt::format("a reply for a task that is not its own ({})", to_text(id)), false);
  }
  pending.reply = reply;
  pending.answer = std::move(vectors);
  pending.from = peer;
  pending.done = true;
  pending.answered.notify_all();
}

namespace {

std::uint64_t number_of(const std::shared_ptr<const WireVector>& vector) {
  return vector ? vector->number : 0;
}

// What a log is told of a reply that is a T, or a client that dropped.
template <typename T>
TaskAnswer told_of(const std::variant<T, Dropped>& reply) {
  const auto* const dropped = std::get_if<Dropped>(&reply);
  if (dropped) return {.reason = name(dropped->reason)};
  return {.used = true};
}

}  // namespace

DropReason RemoteClients::why_none(Outcome outcome) {
  if (outcome == Outcome::kNotNeeded) return DropReason::kNotNeeded;
  return outcome == Outcome::kLate ? DropReason::kStraggler : DropReason::kUnreachable;
}

TrainAnswer RemoteClients::train(const TrainAsk& given, WireTime deadline) {
  v1::Ask message;
  message.mutable_id()->set_round(given.round);
  message.mutable_id()->set_group(given.group.value);
  message.mutable_id()->set_client(given.client.value);
  message.mutable_id()->set_part(given.part);
  v1::Train& train = *message.mutable_train();
  train.set_model(number_of(given.model));
  train.set_broadcast(number_of(given.broadcast));
  train.set_own_model(given.own_model);
  if (given.epochs) train.set_epochs(*given.epochs);
  train.set_measure(given.measure);
  put(given.memory, *train.mutable_memory());
  TrainAnswer answer;
  const Outcome outcome = ask(
      std::move(message), {given.model, given.broadcast}, deadline,
      [&](const v1::Reply& reply, ChunkReader& vectors) {
        answer = take_train_answer(reply, given.client, vectors);
        // As whoever merges it will judge it, so that the verdict is true.
        TrainTask task{.client = given.client, .own_model = given.own_model};
        if (given.model) task.model = given.model->values;
        if (const auto fault = fault_in(answer.reply, task, {})) return TaskAnswer{.reason = name(*fault)};
        const LocalUpdate& update = std::get<LocalUpdate>(answer.reply);
        return TaskAnswer{.used = true, .samples = update.samples, .model = update.model, .payload = update.payload};
      },
      given.enough);
  if (outcome != Outcome::kAnswered) answer.reply = Dropped{given.client, why_none(outcome)};
  return answer;
}

ProfileReply RemoteClients::profile(const ProfileAsk& given, WireTime deadline) {
  v1::Ask message;
  message.mutable_id()->set_round(given.round);
  message.mutable_id()->set_client(given.client.value);
  v1::Profile& profile = *message.mutable_profile();
  profile.set_kind(given.kind);
  profile.set_as_of_round(given.as_of_round);
  for (const Vector& model : given.models) profile.add_models(model->number);
  if (given.memory) put(*given.memory, *profile.mutable_memory());
  ProfileReply answer;
  const Outcome outcome =
      ask(std::move(message), given.models, deadline, [&](const v1::Reply& reply, ChunkReader& vectors) {
        answer = take_profile_answer(reply, given.client, vectors);
        return told_of(answer);
      });
  if (outcome != Outcome::kAnswered) answer = Dropped{given.client, why_none(outcome)};
  return answer;
}

EvaluateReply RemoteClients::evaluate(const EvaluateAsk& given, WireTime deadline) {
  v1::Ask message;
  message.mutable_id()->set_round(given.round);
  message.mutable_id()->set_client(given.client.value);
  v1::Evaluate& evaluate = *message.mutable_evaluate();
  evaluate.set_model(number_of(given.model));
  evaluate.set_own_model(given.own_model);
  evaluate.set_validation(given.held_out == HeldOut::kValidation);
  evaluate.set_predictions(given.details.predictions);
  evaluate.set_scores(given.details.scores);
  if (given.memory) put(*given.memory, *evaluate.mutable_memory());
  EvaluateReply answer;
  const Outcome outcome =
      ask(std::move(message), {given.model}, deadline, [&](const v1::Reply& reply, ChunkReader& vectors) {
        answer = take_evaluate_answer(reply, given.client, vectors);
        return told_of(answer);
      });
  if (outcome != Outcome::kAnswered) answer = Dropped{given.client, why_none(outcome)};
  return answer;
}

GroupAnswer RemoteClients::train_group(const GroupAsk& given, WireTime deadline) {
  v1::Ask message;
  message.mutable_id()->set_round(given.round);
  message.mutable_id()->set_group(given.group.value);
  message.mutable_id()->set_client(given.members[0].value);
  v1::TrainGroup& group = *message.mutable_group();
  group.set_model(number_of(given.model));
  group.set_broadcast(number_of(given.broadcast));
  group.set_own_models(given.own_models);
  group.set_measure(given.measure);
  for (const ClientId member : given.members) group.add_members(member.value);
  group.mutable_epochs()->Assign(given.epochs.begin(), given.epochs.end());
  for (const Memory& memory : given.memories) put(memory, *group.add_memories());
  group.set_enough(given.enough);
  GroupAnswer answer;
  const Outcome outcome = ask(
      std::move(message), {given.model, given.broadcast}, deadline, [&](const v1::Reply& reply, ChunkReader& vectors) {
        answer = take_group_answer(reply, given.group, given.members, vectors);
        const GroupUpdate& update = answer.update;
        const bool some = !update.members.empty();
        return TaskAnswer{.used = some,
                          .reason = some || update.dropped.empty() ? "" : name(update.dropped[0].reason),
                          .samples = update.samples,
                          .model = update.model,
                          .payload = update.payload,
                          .members = update.members,
                          .dropped = update.dropped};
      });
  if (outcome != Outcome::kAnswered) {
    answer.lost = outcome == Outcome::kUnreachable;
    drop_all(given.group, given.members, why_none(outcome), answer.update);
  }
  return answer;
}

}  // namespace muster
