// Who is there: peers that dial, say for whom they speak, are welcomed or refused, and go.
#include "wire/remote_clients.h"

#include <algorithm>
#include <utility>

#include "wire/remote_peer.h"

namespace muster {
namespace {

std::string shown(const v1::Client& client) {
  return client.has_name() ? client.name() : fmt::format("client {}", client.simulated());
}

}  // namespace

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
      if (known == route_.end() || known->second != peer) continue;
      route_.erase(known);
      note_gone(id, "it is no longer at its edge");
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
        note_came(*peer, {id}, clients[i]);
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
  changed_.wait_until(lock, deadline, [&] { return told_.size() >= seen_.size(); });
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
      note_gone({id}, why);
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

// With the lock held, both.
void RemoteClients::note_came(const Peer& peer, ClientId client, const v1::Client& who) {
  seen_[client.value] = {.client = client,
                         .name = who.name(),
                         .peer = peer.name_,
                         .by_edge = peer.hosts_groups_,
                         .here = true,
                         .since = std::chrono::system_clock::now()};
}

void RemoteClients::note_gone(ClientId client, const std::string& why) {
  Attendance& seen = seen_[client.value];
  seen.here = false;
  seen.since = std::chrono::system_clock::now();
  seen.why = told_text(why);
}

std::vector<RemoteClients::Attendance> RemoteClients::attendance() const {
  const std::lock_guard lock(mutex_);
  std::vector<Attendance> all;
  all.reserve(seen_.size());
  for (const auto& [id, seen] : seen_) all.push_back(seen);
  return all;
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

}  // namespace muster
