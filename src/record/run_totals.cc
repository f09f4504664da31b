#include "record/run_totals.h"

#include <cmath>
#include <limits>
#include <string>

namespace muster {
namespace {

std::string section(const char* name) {
  return std::string("total.") + name;
}

void put(Checkpoint& checkpoint, const char* name, double value) {
  checkpoint.put_doubles(section(name), {&value, 1});
}

void put(Checkpoint& checkpoint, const char* name, const std::optional<double>& value) {
  checkpoint.put_doubles(section(name), value ? std::span<const double>(&*value, 1) : std::span<const double>());
}

void put(Checkpoint& checkpoint, const char* name, std::uint64_t value) {
  checkpoint.put_uint64(section(name), value);
}

Status get(const Checkpoint& checkpoint, const char* name, std::optional<double>& value) {
  MUSTER_ASSIGN(const std::vector<double> numbers, checkpoint.get_doubles(section(name)));
  if (numbers.size() > 1) return failure("checkpoint of round {}: '{}' is a list", checkpoint.round, section(name));
  value = numbers.empty() ? std::nullopt : std::optional(numbers.front());
  return {};
}

// Sums of seconds: never negative, never unknown.
Status get(const Checkpoint& checkpoint, const char* name, double& value) {
  std::optional<double> number;
  MUSTER_TRY(get(checkpoint, name, number));
  if (!number || std::isnan(*number)) {
    return failure("checkpoint of round {}: '{}' is no number", checkpoint.round, section(name));
  }
  value = *number;
  return {};
}

Status get(const Checkpoint& checkpoint, const char* name, std::uint64_t& value) {
  MUSTER_ASSIGN(value, checkpoint.get_uint64(section(name)));
  return {};
}

Status get(const Checkpoint& checkpoint, const char* name, std::uint32_t& round) {
  MUSTER_ASSIGN(const std::uint64_t value, checkpoint.get_uint64(section(name)));
  if (value > checkpoint.round) {
    return failure("checkpoint of round {}: '{}' is {}", checkpoint.round, section(name), value);
  }
  round = static_cast<std::uint32_t>(value);
  return {};
}

}  // namespace

void RunTotals::save(Checkpoint& checkpoint) const {
  put(checkpoint, "accuracy-last", accuracy_last);
  put(checkpoint, "accuracy-best", accuracy_best);
  put(checkpoint, "best-round", std::uint64_t{best_round});
  put(checkpoint, "evaluated-round", std::uint64_t{evaluated_round});
  put(checkpoint, "loss-last", loss_last);
  put(checkpoint, "target-round", std::uint64_t{target_round.value_or(0)});
  put(checkpoint, "compute-s", compute_s);
  put(checkpoint, "comm-s", comm_s);
  put(checkpoint, "bytes-up", bytes_up);
  put(checkpoint, "bytes-down", bytes_down);
  put(checkpoint, "bytes-client-server", links.client_server);
  put(checkpoint, "bytes-relay", links.relay);
  put(checkpoint, "bytes-edge-cloud", links.edge_cloud);
  put(checkpoint, "samples-trained", samples_trained);
  if (sums > 0) {
    put(checkpoint, "sums", sums);
    put(checkpoint, "sums-abandoned", sums_abandoned);
  }
  put(checkpoint, "wall-s", wall_s);
  put(checkpoint, "setup-s", setup_s);
  put(checkpoint, "profile-s", profile_s);
  put(checkpoint, "train-s", train_s);
  put(checkpoint, "eval-s", eval_s);
  put(checkpoint, "group-s", group_s);
}

Status RunTotals::restore(const Checkpoint& checkpoint) {
  std::uint32_t target = 0;
  MUSTER_TRY(get(checkpoint, "accuracy-last", accuracy_last));
  MUSTER_TRY(get(checkpoint, "accuracy-best", accuracy_best));
  MUSTER_TRY(get(checkpoint, "best-round", best_round));
  MUSTER_TRY(get(checkpoint, "evaluated-round", evaluated_round));
  MUSTER_TRY(get(checkpoint, "loss-last", loss_last));
  MUSTER_TRY(get(checkpoint, "target-round", target));
  MUSTER_TRY(get(checkpoint, "compute-s", compute_s));
  MUSTER_TRY(get(checkpoint, "comm-s", comm_s));
  MUSTER_TRY(get(checkpoint, "bytes-up", bytes_up));
  MUSTER_TRY(get(checkpoint, "bytes-down", bytes_down));
  MUSTER_TRY(get(checkpoint, "bytes-client-server", links.client_server));
  MUSTER_TRY(get(checkpoint, "bytes-relay", links.relay));
  MUSTER_TRY(get(checkpoint, "bytes-edge-cloud", links.edge_cloud));
  MUSTER_TRY(get(checkpoint, "samples-trained", samples_trained));
  sums = sums_abandoned = 0;
  if (checkpoint.has(section("sums")) || checkpoint.has(section("sums-abandoned"))) {
    MUSTER_TRY(get(checkpoint, "sums", sums));
    MUSTER_TRY(get(checkpoint, "sums-abandoned", sums_abandoned));
  }
  MUSTER_TRY(get(checkpoint, "wall-s", wall_s));
  MUSTER_TRY(get(checkpoint, "setup-s", setup_s));
  MUSTER_TRY(get(checkpoint, "profile-s", profile_s));
  MUSTER_TRY(get(checkpoint, "train-s", train_s));
  MUSTER_TRY(get(checkpoint, "eval-s", eval_s));
  MUSTER_TRY(get(checkpoint, "group-s", group_s));
  target_round = target > 0 ? std::optional(target) : std::nullopt;
  return {};
}

}  // namespace muster
