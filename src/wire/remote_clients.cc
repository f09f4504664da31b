// Who is there: peers that have dialled, the run that they are welcomed to, and when they go.
#include "wire/remote_clients.h"

#include <algorithm>
#include <utility>

#include "wire/remote_peer.h"

namespace muster {
RemoteClients::RemoteClients(Admit admit, WireEvents events) : admit_(std::move(admit)), events_(std::move(events)) {}

RemoteClients::~RemoteClients() = default;

void RemoteClients::say(const WireNote& note) const {
  if (!events_.say) return;
  WireNote shown = note;
  shown.line = told_text(note.line);
  shown.client = told_text(note.client);
  events_.say(shown);
}

std::string RemoteClients::shown(const v1::Client& client) {
  return client.has_name() ? client.name() : fmt::format("client {}", client.simulated());
}

std::shared_ptr<PeerUser> RemoteClients::attach(std::shared_ptr<Channel> channel, std::string name, bool edge,
                                                Allowed allowed) {
  auto peer = std::make_shared<Peer>(*this, std::move(channel), std::move(name), edge, std::move(allowed));
  const std::lock_guard lock(mutex_);
  peers_.insert(peer);
  return peer;
}

std::vector<v1::Client> RemoteClients::waiting() const {
  const std::lock_guard lock(mutex_);
  std::vector<v1::Client> all;
  for (const auto& peer : peers_) all.insert(all.end(), peer->waiting_.begin(), peer->waiting_.end());
  return all;
}

// With the lock held.
ChunkReader::Limits RemoteClients::reply_limits() const {
  return {.vector_values = run_->most_values,
          .held_values = kReplyVectors * run_->most_values,
          .held_vectors = kReplyVectors};
}

void RemoteClients::expect_values(std::uint64_t most_values) {
  const std::lock_guard lock(mutex_);
  if (!run_ || run_->most_values >= most_values) return;
  run_->most_values = most_values;
  run_->welcome.set_most_values(most_values);
  for (const auto& peer : peers_) {
    if (peer->reader_) peer->reader_->set_limits(reply_limits());
  }
}

// With the lock held.
void RemoteClients::welcome(Peer& peer) {
  if (!peer.reader_) peer.reader_.emplace(reply_limits());
  v1::Frame frame;
  *frame.mutable_welcome() = run_->welcome;
  frame.mutable_welcome()->mutable_clients()->Assign(peer.ids_.begin(), peer.ids_.end());
  peer.channel_->send({frame});
  peer.welcomed_ = true;
}

void RemoteClients::begin(WireRun run) {
  std::vector<std::shared_ptr<Peer>> without;  // run for them: it has no data of clients' own
  {
    const std::lock_guard lock(mutex_);
    begin_run(std::move(run));
    for (const auto& peer : peers_) {
      if (peer->untold_) without.push_back(peer);
    }
  }
  for (const auto& peer : without) peer->refuse("this run's clients are simulated", false);
}

// With the lock held.
void RemoteClients::begin_run(WireRun run) {
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
    if (another) peer->welcomed_ = false;
    if (peer->joined_ && !peer->gone_ && !peer->welcomed_) welcome(*peer);
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
  std::vector<v1::Client> went;  // those that waited included
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
    went.insert(went.end(), peer.waiting_.begin(), peer.waiting_.end());
    for (const auto& [number, pending] : pending_) {
      if (pending->sent_to != &peer) continue;
      pending->sent_to = nullptr;
      pending->lost = pending->ask.has_group();
      if (pending->lost) pending->answered.notify_all();
    }
    const auto self = std::ranges::find_if(peers_, [&](const auto& known) { return known.get() == &peer; });
    if (self != peers_.end()) peers_.erase(self);  // whoever called holds the peer
    if (!went.empty() && !over && events_.presence) events_.presence({}, went);
    if (!went_ids.empty() && events_.log) events_.log->went(peer.name_, went_ids);
  }
  changed_.notify_all();
  if (went_ids.empty() || over) return;
  say({.line = fmt::format("{} is gone with {} clients: {}", peer.name_, went_ids.size(), why),
       .peer = peer.name_,
       .client = went_ids.size() == 1 ? shown(went.front()) : "",
       .clients = went_ids.size()});
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
