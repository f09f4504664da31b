#include "engine/cost_meter.h"

namespace muster {

void CostMeter::prepare(RoundTasks&) {
  sums_ = {};
  work_ = {.in_sequence = setting_.in_sequence, .edges = setting_.edges, .visits = setting_.visits, .drawn = {}};
}

void CostMeter::group(const GroupUpdate& update) {
  work_.drawn.push_back({static_cast<std::uint32_t>(update.members.size() + update.dropped.size()), update.members});
  sums_.sums += update.secure.sums;
  sums_.abandoned += update.secure.abandoned;
  sums_.bytes_up += update.secure.bytes_up;
  sums_.bytes_down += update.secure.bytes_down;
  sums_.lost.insert(sums_.lost.end(), update.secure.lost.begin(), update.secure.lost.end());
}

void CostMeter::set_round(std::uint32_t clients, std::uint32_t groups, std::size_t broadcast) {
  work_.clients = clients;
  work_.groups = groups;
  broadcast_ = broadcast;
}

void CostMeter::end(const Models& models, RoundRecord& record) {
  work_.keeps_models = models.in_clients();
  work_.download_bytes = setting_.sent.download(broadcast_) * sizeof(float);
  work_.upload_bytes = setting_.sent.upload() * sizeof(float);
  work_.secure = setting_.secure;
  work_.sealed = setting_.sealed;
  work_.secure_bytes_up = sums_.bytes_up;
  work_.secure_bytes_down = sums_.bytes_down;
  if (setting_.secure) record.secure = sums_;
  work_.profile_flops = record.profile_flops;
  work_.profile_bytes_down = record.bytes_down;
  work_.profile_bytes_up = record.bytes_up;
  const RoundBytes bytes = count_bytes(work_);
  record.bytes_up = bytes.up;
  record.bytes_down = bytes.down;
  record.links = bytes.links;
  const RoundCost cost = round_cost(setting_.options, setting_.objective, setting_.network, work_);
  record.compute_s = cost.compute_s;
  record.comm_s = cost.comm_s;
}

}  // namespace muster
