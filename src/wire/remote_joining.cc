// Who is let in: what peers say of the clients that they speak for, who waits until it is known who they are, and who
// is refused. The clients of a client process come and are refused together, those behind an edge one by one.
#include <algorithm>
#include <utility>

#include "wire/remote_peer.h"

namespace muster {

// What becomes of clients that have come.
struct RemoteClients::Joining {
  struct Taken {
    v1::Client client;
    ClientId id;
  };
  struct Refused {
    v1::Client client;
    std::string reason;
    bool again = false;
  };
  std::vector<Taken> taken;
  std::vector<v1::Client> waiting;
  std::vector<Refused> refused;
};

namespace {

v1::Client without_data(const v1::Client& client) {
  v1::Client bare;
  if (client.has_name()) {
    bare.set_name(client.name());
  } else {
    bare.set_simulated(client.simulated());
  }
  return bare;
}

bool same(const v1::Client& a, const v1::Client& b) {
  return a.has_name() == b.has_name() && a.name() == b.name() && a.simulated() == b.simulated();
}

void add_refusal(v1::Frame& frame, const v1::Client& client, const std::string& reason, bool again) {
  v1::Admitted& entry = *frame.mutable_admission()->add_clients();
  *entry.mutable_client() = without_data(client);
  entry.mutable_refusal()->set_reason(reason);
  entry.mutable_refusal()->set_again(again);
}

bool has_own_data(const v1::Client& client) {
  return client.has_name();
}

}  // namespace

void RemoteClients::take_hello(const std::shared_ptr<Peer>& peer, const v1::Hello& hello) {
  if (hello.version() != 1) return peer->refuse(fmt::format("protocol version {}, want 1", hello.version()), false);
  if (hello.hosts_groups() && !peer->edge_) return peer->refuse("only an edge hosts groups", false);
  const bool untold = std::ranges::any_of(
      hello.clients(), [](const v1::Client& client) { return client.has_name() && !client.has_data(); });
  {
    const std::lock_guard lock(mutex_);
    if (peer->greeted_ || peer->gone_) return;
    if (how_to_read_ && (untold || hello.hosts_groups())) tell_how_to_read(*peer);
    if (untold && !hello.hosts_groups() && (how_to_read_ || !run_)) {
      peer->untold_ = !how_to_read_;
      return;
    }
    peer->greeted_ = true;
    peer->hosts_groups_ = hello.hosts_groups();
  }
  join(peer, {hello.clients().begin(), hello.clients().end()});
}

// With the lock held.
void RemoteClients::tell_how_to_read(Peer& peer) const {
  v1::Frame frame;
  *frame.mutable_how_to_read() = *how_to_read_;
  peer.channel_->send({std::move(frame)});
}

void RemoteClients::set_how_to_read(std::optional<v1::HowToRead> how) {
  std::vector<std::shared_ptr<Peer>> stale;
  {
    const std::lock_guard lock(mutex_);
    const bool another = how_to_read_ && (!how || how->recipe() != how_to_read_->recipe());
    how_to_read_ = std::move(how);
    for (const auto& peer : peers_) {
      if (how_to_read_ && std::exchange(peer->untold_, false)) tell_how_to_read(*peer);
      const bool brings_data =
          std::ranges::any_of(peer->waiting_, has_own_data) ||
          std::ranges::any_of(peer->clients_, [](const auto& entry) { return has_own_data(entry.second); });
      if (another && brings_data && !peer->hosts_groups_) stale.push_back(peer);
    }
  }
  for (const auto& peer : stale) peer->refuse("data are to be read in another way from now on", true);
}

void RemoteClients::take_presence(const std::shared_ptr<Peer>& peer, const v1::Presence& presence) {
  if (!peer->edge_) return peer->refuse("only an edge tells of other clients", false);
  if (presence.went_size() > 0) {
    std::set<std::string> went;
    for (const v1::Client& client : presence.went()) went.insert(shown(client));
    const std::lock_guard lock(mutex_);
    std::erase_if(peer->waiting_, [&](const v1::Client& client) { return went.contains(shown(client)); });
    std::vector<ClientId> ids;
    for (auto entry = peer->clients_.begin(); entry != peer->clients_.end();) {
      const std::uint32_t id = entry->first;
      if (!went.contains(shown(entry->second))) {
        ++entry;
        continue;
      }
      entry = peer->clients_.erase(entry);
      const auto known = route_.find(id);
      if (known == route_.end() || known->second != peer) continue;
      route_.erase(known);
      note_gone({id}, "it is no longer at its edge");
      ids.push_back({id});
    }
    if (events_.log) events_.log->went(peer->name_, ids);
  }
  if (presence.came_size() > 0) join(peer, {presence.came().begin(), presence.came().end()});
}

// With nothing locked.
RemoteClients::Joining RemoteClients::ask_who_they_are(const Peer& peer, const std::vector<v1::Client>& clients) const {
  Joining joining;
  const auto ask = [&](const std::vector<v1::Client>& some) {
    for (const v1::Client& client : some) {
      if (peer.edge_ || peer.allowed_(client)) continue;
      joining.refused.push_back({client, fmt::format("its certificate does not speak for {}", shown(client)), false});
      return;
    }
    const Result<Admitted> admitted = admit_(some);
    if (!admitted) {
      joining.refused.push_back({some.empty() ? v1::Client() : some.front(), admitted.error().message,
                                 admitted.error().code == ErrorCode::kFailed});
    } else if (!*admitted) {
      joining.waiting.insert(joining.waiting.end(), some.begin(), some.end());
    } else {
      for (std::size_t i = 0; i < some.size(); ++i) joining.taken.push_back({some[i], (**admitted)[i]});
    }
  };
  if (!peer.hosts_groups_) {
    ask(clients);
  } else {
    for (const v1::Client& client : clients) ask({client});
  }
  return joining;
}

// With the lock held: who else speaks for a client that waits; "" if nobody does.
std::string RemoteClients::held_by_another(const Peer& peer, const v1::Client& client) const {
  for (const auto& other : peers_) {
    if (other.get() == &peer) continue;
    const bool waits = std::ranges::any_of(other->waiting_, [&](const v1::Client& one) { return same(one, client); });
    const bool is_here = client.has_name() && std::ranges::any_of(other->clients_, [&](const auto& entry) {
                           return same(entry.second, client);
                         });
    if (waits || is_here) return other->name_;
  }
  return "";
}

void RemoteClients::join(const std::shared_ptr<Peer>& peer, const std::vector<v1::Client>& clients) {
  Joining joining = ask_who_they_are(*peer, clients);
  std::vector<Joining::Refused>& refused = joining.refused;
  {
    const std::lock_guard lock(mutex_);
    if (peer->gone_) return;
    const auto twice = [&](const v1::Client& client, const std::string& by) {
      refused.push_back({client, fmt::format("{} is here already, by {}", shown(client), by), true});
      return true;
    };
    std::erase_if(joining.taken, [&](const Joining::Taken& one) {
      const auto known = route_.find(one.id.value);
      return known != route_.end() && known->second != peer && twice(one.client, known->second->name_);
    });
    std::erase_if(joining.waiting, [&](const v1::Client& client) {
      if (const std::string other = held_by_another(*peer, client); !other.empty()) return twice(client, other);
      if (waited_) refused.push_back({client, "the run has just begun", true});
      return waited_;
    });
    if (peer->hosts_groups_ || refused.empty()) {
      v1::Frame told;
      std::vector<ClientId> ids;
      for (const Joining::Taken& one : joining.taken) {
        enter(peer, one.client, one.id);
        ids.push_back(one.id);
        if (!one.client.has_name()) continue;  // its edge knows its number
        v1::Admitted& entry = *told.mutable_admission()->add_clients();
        entry.mutable_client()->set_name(one.client.name());
        entry.set_id(one.id.value);
      }
      for (const Joining::Refused& one : refused) add_refusal(told, one.client, one.reason, one.again);
      peer->waiting_.insert(peer->waiting_.end(), joining.waiting.begin(), joining.waiting.end());
      peer->joined_ = peer->hosts_groups_ || peer->waiting_.empty();
      if (events_.log) events_.log->came(peer->name_, peer->hosts_groups_, ids);
      begin_with(peer, std::move(told));
      std::vector<v1::Client> came = std::move(joining.waiting);
      for (const Joining::Taken& one : joining.taken) came.push_back(one.client);
      if (!came.empty() && events_.presence) events_.presence(came, {});
    }
  }
  if (!peer->hosts_groups_ && !refused.empty()) return peer->refuse(refused.front().reason, refused.front().again);
  for (const Joining::Refused& one : refused) say_refused(*peer, one.client, one.reason);
  changed_.notify_all();
}

void RemoteClients::say_refused(const Peer& edge, const v1::Client& client, const std::string& reason) const {
  say({.line = fmt::format("{}, by {}, is refused: {}", shown(client), edge.name_, reason),
       .peer = edge.name_,
       .client = shown(client),
       .clients = 1});
}

// With the lock held.
void RemoteClients::enter(const std::shared_ptr<Peer>& peer, const v1::Client& client, ClientId id) {
  if (!peer->hosts_groups_) peer->ids_.push_back(id.value);
  peer->clients_[id.value] = without_data(client);
  route_[id.value] = peer;
  note_came(*peer, id, client);
  if (finished_) told_.insert(id.value);
}

// With the lock held. Whoever has joined is part of the run, and is asked what its clients are to be asked. `told`:
// what an edge is told of its clients, after its Welcome.
void RemoteClients::begin_with(const std::shared_ptr<Peer>& peer, v1::Frame told) {
  if (finished_) {
    v1::Frame frame;
    frame.mutable_finished()->set_signature(signature_);
    peer->channel_->send({frame});
    peer->channel_->close();
    return;
  }
  if (run_ && peer->joined_ && !peer->welcomed_) welcome(*peer);
  if (peer->hosts_groups_ && told.has_admission()) {
    if (run_) told.mutable_admission()->set_most_values(run_->most_values);
    peer->channel_->send({std::move(told)});
  }
  if (!run_ || !peer->joined_) return;
  for (const auto& [number, pending] : pending_) {
    const auto route = route_.find(pending->ask.id().client());
    const bool its_own = route != route_.end() && route->second == peer;
    if (its_own && !pending->done && !pending->lost) send(*peer, *pending);
  }
}

void RemoteClients::admit_waiting() {
  std::vector<std::pair<std::shared_ptr<Peer>, std::vector<v1::Client>>> waited;
  {
    const std::lock_guard lock(mutex_);
    waited_ = true;
    for (const auto& peer : peers_) {
      std::vector<v1::Client> clients = std::exchange(peer->waiting_, {});
      if (peer->hosts_groups_) {
        for (v1::Client& client : clients) waited.push_back({peer, {std::move(client)}});
      } else if (!clients.empty()) {
        waited.emplace_back(peer, std::move(clients));
      }
    }
  }
  // By name, so that it does not matter who came first.
  std::ranges::sort(waited, {}, [](const auto& entry) { return shown(entry.second.front()); });
  for (const auto& [peer, clients] : waited) join(peer, clients);
}

// With the lock held.
std::shared_ptr<RemoteClients::Peer> RemoteClients::find_peer(const v1::Client& client) const {
  const auto found = std::ranges::find_if(peers_, [&](const std::shared_ptr<Peer>& peer) {
    return std::ranges::any_of(peer->waiting_, [&](const v1::Client& one) { return same(one, client); }) ||
           std::ranges::any_of(peer->clients_, [&](const auto& entry) { return same(entry.second, client); });
  });
  return found == peers_.end() ? nullptr : *found;
}

void RemoteClients::admit(const v1::Client& client, ClientId id) {
  std::shared_ptr<Peer> anew;
  {
    const std::lock_guard lock(mutex_);
    const std::shared_ptr<Peer> peer = find_peer(client);
    if (!peer) return;
    const auto entry = std::ranges::find_if(peer->clients_, [&](const auto& one) { return same(one.second, client); });
    const auto route = route_.find(id.value);
    if (entry != peer->clients_.end()) {
      if (entry->first != id.value) anew = peer;
    } else if (route != route_.end() && route->second != peer) {
      anew = peer;
    } else {
      std::erase_if(peer->waiting_, [&](const v1::Client& one) { return same(one, client); });
      enter(peer, client, id);
      peer->joined_ = peer->waiting_.empty();
      begin_with(peer, {});
    }
  }
  if (anew) anew->refuse("clients have other numbers now", true);
  changed_.notify_all();
}

void RemoteClients::refuse(const v1::Client& client, const std::string& reason, bool again) {
  std::shared_ptr<Peer> peer;
  {
    const std::lock_guard lock(mutex_);
    peer = find_peer(client);
    if (peer && peer->hosts_groups_) {
      std::erase_if(peer->waiting_, [&](const v1::Client& one) { return same(one, client); });
      v1::Frame told;
      add_refusal(told, client, reason, again);
      begin_with(peer, std::move(told));
    }
  }
  if (!peer) return;
  if (peer->hosts_groups_) {
    say_refused(*peer, client, reason);
  } else {
    peer->refuse(reason, again);
  }
}

}  // namespace muster
