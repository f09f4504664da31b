#include "engine/run_state.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>

namespace muster {
namespace {

// The tallies of clients that took part, as (client, trained, dropped): dormant ones cost a checkpoint nothing.
using TallyEntry = std::array<std::uint32_t, 3>;

std::string pack_tallies(std::span<const ClientTally> tallies) {
  std::string packed;
  for (std::uint32_t k = 0; k < tallies.size(); ++k) {
    if (tallies[k].trained == 0 && tallies[k].dropped == 0) continue;
    const TallyEntry entry{k, tallies[k].trained, tallies[k].dropped};
    packed.append(reinterpret_cast<const char*>(entry.data()), sizeof entry);
  }
  return packed;
}

// False, with `tallies` untouched, if `packed` is not of that form or names clients beyond.
bool unpack_tallies(std::string_view packed, std::span<ClientTally> tallies) {
  if (packed.size() % sizeof(TallyEntry) != 0) return false;
  std::vector<TallyEntry> entries(packed.size() / sizeof(TallyEntry));
  std::memcpy(entries.data(), packed.data(), packed.size());
  if (std::any_of(entries.begin(), entries.end(), [&](const TallyEntry& e) { return e[0] >= tallies.size(); })) {
    return false;
  }
  for (const auto& [client, trained, dropped] : entries) tallies[client] = {.trained = trained, .dropped = dropped};
  return true;
}

}  // namespace

void RunState::save(Checkpoint& checkpoint, double wall_s) const {
  checkpoint.put_uint64("chain", chain);
  checkpoint.put_uint64("broken-rounds", broken_rounds);
  checkpoint.put_uint64("all-placed", all_placed ? 1 : 0);
  const double none = std::numeric_limits<double>::quiet_NaN();
  checkpoint.put_doubles("totals",
                         std::vector<double>{totals.accuracy_last.value_or(none), totals.accuracy_best.value_or(none),
                                             static_cast<double>(totals.best_round), totals.loss_last.value_or(none),
                                             static_cast<double>(totals.target_round.value_or(0)), totals.compute_s,
                                             totals.comm_s, wall_s, totals.train_s, totals.eval_s, totals.group_s});
  checkpoint.put_uint64("bytes-up", totals.bytes_up);
  checkpoint.put_uint64("bytes-down", totals.bytes_down);
  checkpoint.put_uint64("bytes-client-server", totals.links.client_server);
  checkpoint.put_uint64("bytes-relay", totals.links.relay);
  checkpoint.put_uint64("bytes-edge-cloud", totals.links.edge_cloud);
  checkpoint.put_uint64("samples-trained", totals.samples_trained);
  checkpoint.put_uint64("clients", tallies.size());
  checkpoint.put_string("tallies", pack_tallies(tallies));
}

Status RunState::restore(const Checkpoint& checkpoint) {
  MUSTER_ASSIGN(chain, checkpoint.get_uint64("chain"));
  MUSTER_ASSIGN(const std::uint64_t broken, checkpoint.get_uint64("broken-rounds"));
  MUSTER_ASSIGN(const std::uint64_t placed, checkpoint.get_uint64("all-placed"));
  MUSTER_ASSIGN(const std::vector<double> sums, checkpoint.get_doubles("totals"));
  MUSTER_ASSIGN(const std::string packed, checkpoint.get_string("tallies"));
  MUSTER_ASSIGN(const std::uint64_t clients, checkpoint.get_uint64("clients"));
  if (clients != tallies.size()) {
    return failure("checkpoint holds {} clients, the recipe has {}", clients, tallies.size());
  }
  if (sums.size() != 11 || !unpack_tallies(packed, tallies)) {
    return failure("checkpoint of round {} has totals or tallies of another form", checkpoint.round);
  }
  const auto known = [](double value) { return std::isnan(value) ? std::nullopt : std::optional<double>(value); };
  totals.accuracy_last = known(sums[0]);
  totals.accuracy_best = known(sums[1]);
  totals.best_round = static_cast<std::uint32_t>(sums[2]);
  totals.loss_last = known(sums[3]);
  if (sums[4] > 0) totals.target_round = static_cast<std::uint32_t>(sums[4]);
  totals.compute_s = sums[5];
  totals.comm_s = sums[6];
  totals.wall_s = sums[7];
  totals.train_s = sums[8];
  totals.eval_s = sums[9];
  totals.group_s = sums[10];
  MUSTER_ASSIGN(totals.bytes_up, checkpoint.get_uint64("bytes-up"));
  MUSTER_ASSIGN(totals.bytes_down, checkpoint.get_uint64("bytes-down"));
  MUSTER_ASSIGN(totals.links.client_server, checkpoint.get_uint64("bytes-client-server"));
  MUSTER_ASSIGN(totals.links.relay, checkpoint.get_uint64("bytes-relay"));
  MUSTER_ASSIGN(totals.links.edge_cloud, checkpoint.get_uint64("bytes-edge-cloud"));
  MUSTER_ASSIGN(totals.samples_trained, checkpoint.get_uint64("samples-trained"));
  broken_rounds = static_cast<std::uint32_t>(broken);
  all_placed = placed != 0;
  round = checkpoint.round;
  return {};
}

}  // namespace muster
