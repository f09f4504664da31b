// Successive shortest paths on the graph of places alone. Everyone starts at the place of highest gain minus price,
// which crowds some places. An arc u -> v stands for the client of u that loses least by moving to v; at these prices
// no arc is negative, so Dijkstra finds the cheapest chain of moves from a crowded place to one with room, and the
// distances are what prices change by to keep it so.
#include "grouping/transport.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace muster {
namespace {

constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max();
constexpr std::uint32_t kNobody = std::numeric_limits<std::uint32_t>::max();

class Places {
 public:
  Places(const RowsView<std::int64_t>& gains, std::uint32_t capacity, std::span<std::int64_t> prices)
      : gains_(gains),
        count_(static_cast<std::uint32_t>(gains.width)),
        capacity_(capacity),
        prices_(prices),
        place_(gains.count()),
        slot_(gains.count()),
        members_(count_),
        arcs_(std::size_t{count_} * count_) {}

  void crowd() {
    for (std::uint32_t k = 0; k < place_.size(); ++k) {
      const auto gain = gains_.row(k);
      std::uint32_t best = 0;
      for (std::uint32_t l = 1; l < count_; ++l) {
        const std::int64_t ahead = (gain[l] - prices_[l]) - (gain[best] - prices_[best]);
        // Of equal places the emptier one: clients that are all alike then need no further move.
        if (ahead > 0 || (ahead == 0 && members_[l].size() < members_[best].size())) best = l;
      }
      enter(k, best);
    }
  }

  // Moves clients along the cheapest chain; false if no place is crowded.
  bool relieve() {
    distance_.assign(count_, kFar);
    from_.assign(count_, kNobody);
    settled_.assign(count_, 0);
    bool crowded = false;
    for (std::uint32_t l = 0; l < count_; ++l) {
      if (members_[l].size() <= capacity_) continue;
      distance_[l] = 0;
      crowded = true;
    }
    if (!crowded) return false;

    std::uint32_t end = kNobody;
    while (true) {
      std::uint32_t u = kNobody;
      for (std::uint32_t l = 0; l < count_; ++l) {
        if (!settled_[l] && distance_[l] != kFar && (u == kNobody || distance_[l] < distance_[u])) u = l;
      }
      MUSTER_CHECK(u != kNobody, "no room for {} clients in {} places of {}", place_.size(), count_, capacity_);
      settled_[u] = 1;
      if (members_[u].size() < capacity_) {
        end = u;
        break;
      }
      const Arc* const arcs = &arcs_[std::size_t{u} * count_];
      const std::int64_t base = distance_[u] - prices_[u];
      for (std::uint32_t v = 0; v < count_; ++v) {
        if (settled_[v]) continue;
        const std::int64_t reached = base + arcs[v].loss + prices_[v];
        if (reached < distance_[v]) {
          distance_[v] = reached;
          from_[v] = u;
        }
      }
    }
    for (std::uint32_t l = 0; l < count_; ++l) {
      if (settled_[l]) prices_[l] += distance_[end] - distance_[l];
    }
    // From the end on: a chain visits a place once, so a client that has just moved is not moved again.
    while (from_[end] != kNobody) {
      const std::uint32_t begin = from_[end];
      move(arcs_[std::size_t{begin} * count_ + end].client, begin, end);
      end = begin;
    }
    return true;
  }

  void draw_arcs() {
    for (std::uint32_t l = 0; l < count_; ++l) {
      for (const std::uint32_t client : members_[l]) offer(client, l);
    }
  }

  Transport result() && {
    Transport result{.place = std::move(place_)};
    for (std::uint32_t k = 0; k < result.place.size(); ++k) result.gain += gains_.row(k)[result.place[k]];
    return result;
  }

 private:
  struct Arc {
    std::int64_t loss = kFar / 4;  // of an empty place, which no search leaves
    std::uint32_t client = kNobody;
  };

  void enter(std::uint32_t client, std::uint32_t l) {
    place_[client] = l;
    slot_[client] = static_cast<std::uint32_t>(members_[l].size());
    members_[l].push_back(client);
  }

  static void keep_better(Arc& arc, std::int64_t loss, std::uint32_t client) {
    if (loss < arc.loss || (loss == arc.loss && client < arc.client)) arc = {loss, client};
  }

  // Lets a client of place l be the one that leaves it.
  void offer(std::uint32_t client, std::uint32_t l) {
    const auto gain = gains_.row(client);
    Arc* const arcs = &arcs_[std::size_t{l} * count_];
    for (std::uint32_t v = 0; v < count_; ++v) {
      if (v != l) keep_better(arcs[v], gain[l] - gain[v], client);
    }
  }

  void move(std::uint32_t client, std::uint32_t from, std::uint32_t to) {
    std::vector<std::uint32_t>& members = members_[from];
    members[slot_[client]] = members.back();
    slot_[members.back()] = slot_[client];
    members.pop_back();
    for (std::uint32_t v = 0; v < count_; ++v) {
      Arc& arc = arcs_[std::size_t{from} * count_ + v];
      if (arc.client != client) continue;
      arc = Arc{};
      for (const std::uint32_t other : members) {
        const auto gain = gains_.row(other);
        keep_better(arc, gain[from] - gain[v], other);
      }
    }
    enter(client, to);
    offer(client, to);
  }

  RowsView<std::int64_t> gains_;
  std::uint32_t count_;
  std::uint32_t capacity_;
  std::span<std::int64_t> prices_;
  std::vector<std::uint32_t> place_;
  std::vector<std::uint32_t> slot_;  // of each client in its place's members
  std::vector<std::vector<std::uint32_t>> members_;
  std::vector<Arc> arcs_;  // [from][to]
  std::vector<std::int64_t> distance_;
  std::vector<std::uint32_t> from_;
  std::vector<std::uint8_t> settled_;
};

}  // namespace

Transport transport(const RowsView<std::int64_t>& gains, std::uint32_t capacity, std::span<std::int64_t> prices) {
  MUSTER_CHECK(gains.count() == gains.width * capacity && prices.size() == gains.width,
               "{} clients and {} prices for {} places of {}", gains.count(), prices.size(), gains.width, capacity);
  Places places(gains, capacity, prices);
  places.crowd();
  places.draw_arcs();
  while (places.relieve()) {
  }
  return std::move(places).result();
}

}  // namespace muster
