#include "deploy/roster_board.h"

namespace muster {

void RosterBoard::open(const RemoteClients& clients, const Roster& roster) {
  const std::lock_guard lock(mutex_);
  clients_ = &clients;
  roster_ = roster.clients();
  names_.clear();
  for (std::uint32_t k = 0; k < roster_; ++k) {
    if (std::string name = roster.name({k}); !name.empty()) names_[k] = std::move(name);
  }
}

void RosterBoard::close() {
  const std::lock_guard lock(mutex_);
  last_ = look();
  clients_ = nullptr;
}

void RosterBoard::end(const Models&, RoundRecord& record) {
  const std::lock_guard lock(mutex_);
  for (const Dropped& dropped : record.dropped) {
    Drops& drops = drops_[dropped.client.value];
    ++drops.count;
    drops.round = record.round;
    drops.reason = name(dropped.reason);
  }
}

RosterView RosterBoard::view() const {
  const std::lock_guard lock(mutex_);
  return look();
}

RosterView RosterBoard::look() const {
  if (!clients_) return last_;
  RosterView view{.run = clients_->figures().run, .roster = roster_};
  std::map<std::uint32_t, RosterView::Client> rows;
  for (RemoteClients::Attendance& seen : clients_->attendance()) {
    view.here += seen.here ? 1 : 0;
    rows[seen.client.value] = {.client = seen.client,
                               .name = std::move(seen.name),
                               .here = seen.here,
                               .peer = std::move(seen.peer),
                               .by_edge = seen.by_edge,
                               .since = seen.since,
                               .why = std::move(seen.why)};
  }
  for (const auto& [client, drops] : drops_) {
    RosterView::Client& row = rows[client];
    row.client = {client};
    row.drops = drops.count;
    row.last_drop_round = drops.round;
    row.last_drop_reason = drops.reason;
  }
  for (auto& [client, row] : rows) {
    const auto named = names_.find(client);
    if (row.name.empty() && named != names_.end()) row.name = named->second;
    view.clients.push_back(std::move(row));
  }
  return view;
}

}  // namespace muster
