#include "cost/cost.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "cost/cost_defaults.h"
#include "secure/sealed_relay.h"

namespace muster {
namespace {

// Measured on a Raspberry Pi 4 by the authors of Group-FEL, with secure aggregation as the group operation.
struct Measured {
  const char* task;
  const char* objective;
  OperationCoefficients coefficients;
};
constexpr Measured kMeasured[] = {
    {"cifar", "plain", {0.01629675, -0.02373668, 0.55442565, 0.07093414, -0.00559966}},
    {"cifar", "prox", {0.01629675, -0.02373668, 0.55442565, 0.06719291, 0.14201339}},
    {"cifar", "control-variate", {0.01879308, 0.18775216, 0.19883809, 0.07093414, 0.02784322}},
    {"speech", "plain", {0.00564634, 0.04887151, 0.03296802, 0.00244381, 0.10137752}},
    {"speech", "prox", {0.00564634, 0.04887151, 0.03296802, 0.00247751, 0.10650803}},
    {"speech", "control-variate", {0.01546567, -0.14052762, 0.8393565, 0.00259606, 0.10145685}},
};

const std::string kUsualTask = "cifar";

const OperationCoefficients* measured(const std::string& task, const std::string& objective) {
  for (const Measured& row : kMeasured) {
    if (row.task == (task.empty() ? kUsualTask : task) && row.objective == objective) return &row.coefficients;
  }
  return nullptr;
}

std::uint64_t uploads(const GroupWork& group) {
  std::uint64_t sum = 0;
  for (const MemberReport& member : group.members) sum += member.visits;
  return sum;
}

RoundCost link_cost(const CostOptions& options, const NetworkSize& network, const RoundWork& work) {
  double slowest_flops = 0;
  std::uint32_t merged = 0;
  for (const GroupWork& group : work.drawn) {
    double flops = 0;
    for (const MemberReport& member : group.members) {
      const double own = network.sample_flops * static_cast<double>(member.samples_trained);
      flops = work.in_sequence ? flops + own : std::max(flops, own);
    }
    slowest_flops = std::max(slowest_flops, flops);
    merged += group.members.empty() ? 0 : 1;
  }
  const double additions = merged > 1 && !work.keeps_models ? (merged - 1.0) * static_cast<double>(network.values) : 0;
  const RoundBytes bytes = count_bytes(work);
  return {.compute_s = (work.profile_flops + slowest_flops + additions) / (options.device_gflops * 1e9),
          .comm_s = 8 * (static_cast<double>(bytes.down + bytes.sealing_down) / (options.server_out_mbps * 1e6) +
                         static_cast<double>(bytes.up + bytes.sealing_up) / (options.server_in_mbps * 1e6))};
}

RoundCost chain_cost(const CostOptions& options, const NetworkSize& network, const RoundWork& work) {
  const auto million = [](const std::optional<double>& value, double otherwise) {
    return value ? *value * 1e6 : otherwise;
  };
  const double values = static_cast<double>(network.values);
  const ChainConstants constants{
      .sample_flops = million(options.sample_mflop, network.sample_flops),
      .merge_flops = work.keeps_models ? 0 : million(options.merge_mflop, values),
      .model_bytes = work.keeps_models ? 0 : million(options.model_mbytes, values * sizeof(float)),
      .device_flops_per_s = options.device_gflops * 1e9,
      .server_in_bits_per_s = options.server_in_mbps * 1e6,
      .server_out_bits_per_s = options.server_out_mbps * 1e6};
  std::uint64_t trained = 0;
  std::size_t members = 0;
  for (const GroupWork& group : work.drawn) {
    for (const MemberReport& member : group.members) trained += member.samples_trained;
    members += group.members.size();
  }
  const ChainRound round{
      .clients = static_cast<double>(work.clients),
      .groups = static_cast<double>(work.groups),
      .share = work.groups > 0 ? static_cast<double>(work.drawn.size()) / work.groups : 0,
      .samples_trained = members > 0 ? static_cast<double>(trained) / static_cast<double>(members) : 0,
      .visits = static_cast<double>(work.visits)};
  return {.compute_s = chain_compute_s(constants, round), .comm_s = chain_comm_s(constants, round)};
}

}  // namespace

std::vector<CatalogueEntry> cost_models() {
  return {{"link",
           "the slowest group's training, the server's additions, all bytes through the server's link",
           {"device-gflops", "server-in-mbps", "server-out-mbps"}},
          {"group-operations",
           "every member's training and share in its group's operations, added up (Group-FEL, Eq. 5)",
           {"file", "task", "operation-quadratic", "operation-linear", "operation-constant", "training-slope",
            "training-constant"}},
          {"chain",
           "closed forms for chains of equal length (FedGSP, Eq. 15 to 17)",
           {"device-gflops", "server-in-mbps", "server-out-mbps", "sample-mflop", "merge-mflop", "model-mbytes"}}};
}

Status check_cost(const CostOptions& options, const std::string& objective) {
  const struct {
    const char* key;
    const std::optional<double>& value;
    const char* model;
  } constants[] = {{"operation-quadratic", options.operation_quadratic, "group-operations"},
                   {"operation-linear", options.operation_linear, "group-operations"},
                   {"operation-constant", options.operation_constant, "group-operations"},
                   {"training-slope", options.training_slope, "group-operations"},
                   {"training-constant", options.training_constant, "group-operations"},
                   {"sample-mflop", options.sample_mflop, "chain"},
                   {"merge-mflop", options.merge_mflop, "chain"},
                   {"model-mbytes", options.model_mbytes, "chain"}};
  for (const auto& [key, value, model] : constants) {
    if (value && options.model != model) {
      return usage_error("cost.{}: {}, but cost.model = \"{}\"; want \"{}\"", key, *value, options.model, model);
    }
  }
  if (options.model != "group-operations") {
    for (const auto& [key, text] : {std::pair("file", &options.file), std::pair("task", &options.task)}) {
      if (text->empty()) continue;
      return usage_error("cost.{}: \"{}\", but cost.model = \"{}\"; want \"group-operations\"", key, *text,
                         options.model);
    }
    return {};
  }
  if (!options.file.empty()) {
    for (const auto& [key, value, model] : constants) {
      if (!value || !std::string_view(key).starts_with("operation-")) continue;
      return usage_error("cost.{}: {}, but cost.file has it; want one of them", key, *value);
    }
    if (!options.task.empty()) {
      return usage_error("cost.task: \"{}\", but cost.file has what was measured; want one of them", options.task);
    }
    return {};
  }
  if (measured(options.task, objective)) return {};
  for (const auto& [key, value, model] : constants) {
    if (model != options.model || value) continue;
    return usage_error("cost.{}: not set, and no constants were measured for local.objective = \"{}\"; want a number",
                       key, objective);
  }
  return {};
}

CostOptions with_defaults(CostOptions options, const std::string& objective) {
  if (options.model != "group-operations" || !options.file.empty() || !measured(options.task, objective))
    return options;
  const bool all_set = options.operation_quadratic && options.operation_linear && options.operation_constant &&
                       options.training_slope && options.training_constant;
  if (all_set) return options;
  const OperationCoefficients known = operation_coefficients(options, objective);
  if (options.task.empty()) options.task = kUsualTask;
  options.operation_quadratic = known.quadratic;
  options.operation_linear = known.linear;
  options.operation_constant = known.constant;
  options.training_slope = known.slope;
  options.training_constant = known.training_constant;
  return options;
}

RoundBytes count_bytes(const RoundWork& work) {
  RoundBytes bytes{.down = work.profile_bytes_down + work.secure_bytes_down,
                   .up = work.profile_bytes_up + work.secure_bytes_up,
                   .links = {}};
  for (const GroupWork& group : work.drawn) {
    if (work.keeps_models) break;
    const std::uint64_t downloads = std::uint64_t{work.visits} * group.size;
    const std::uint64_t sent = uploads(group);
    bytes.down += downloads * work.download_bytes;
    if (!work.secure) bytes.up += sent * work.upload_bytes;
    if (work.in_sequence) {
      bytes.links.relay += (downloads - std::min<std::uint64_t>(downloads, 1)) * work.download_bytes +
                           (sent - std::min<std::uint64_t>(sent, 1)) * work.upload_bytes;
    }
    if (work.sealed && group.size > 1) {
      const RelayBytes added = relay_bytes(group.size, downloads, sent);
      bytes.sealing_down += added.down;
      bytes.sealing_up += added.up;
    }
    if (work.edges) bytes.links.edge_cloud += work.download_bytes + (sent > 0 ? work.upload_bytes : 0);
  }
  bytes.links.client_server = bytes.down + bytes.up - bytes.links.relay;
  bytes.links.relay += bytes.sealing_down + bytes.sealing_up;
  return bytes;
}

RoundCost round_cost(const CostOptions& options, const std::string& objective, const NetworkSize& network,
                     const RoundWork& work) {
  if (options.model == "group-operations") {
    return {.compute_s = group_operations_s(operation_coefficients(options, objective), work.drawn)};
  }
  if (options.model == "chain") return chain_cost(options, network, work);
  return link_cost(options, network, work);
}

double OperationCoefficients::operation_s(double size) const {
  return std::max(0.0, quadratic * size * size + linear * size + constant);
}

double OperationCoefficients::epoch_s(double samples) const {
  return std::max(0.0, slope * samples + training_constant);
}

OperationCoefficients operation_coefficients(const CostOptions& options, const std::string& objective) {
  const OperationCoefficients* const found = measured(options.task, objective);
  const OperationCoefficients known = found ? *found : OperationCoefficients{};
  return {.quadratic = options.operation_quadratic.value_or(known.quadratic),
          .linear = options.operation_linear.value_or(known.linear),
          .constant = options.operation_constant.value_or(known.constant),
          .slope = options.training_slope.value_or(known.slope),
          .training_constant = options.training_constant.value_or(known.training_constant)};
}

double group_operations_s(const OperationCoefficients& coefficients, const std::vector<GroupWork>& drawn) {
  double seconds = 0;
  for (const GroupWork& group : drawn) {
    const double operation_s = coefficients.operation_s(group.size);
    for (const MemberReport& member : group.members) {
      // By what was trained: epochs may be fractional, cut short, or counted in steps.
      const double epochs = member.samples > 0 ? static_cast<double>(member.samples_trained) / member.samples : 0;
      seconds += member.visits * operation_s + epochs * coefficients.epoch_s(member.samples);
    }
  }
  return seconds;
}

double chain_compute_s(const ChainConstants& constants, const ChainRound& round) {
  if (round.groups <= 0) return 0;
  const double length = round.clients / std::min(round.clients, round.groups);
  const double additions = std::max(0.0, round.share * round.groups - 1);
  return (constants.sample_flops * round.samples_trained * length + constants.merge_flops * additions) /
         constants.device_flops_per_s;
}

double chain_comm_s(const ChainConstants& constants, const ChainRound& round) {
  return 8 * round.share * round.clients * round.visits * constants.model_bytes *
         (1 / constants.server_in_bits_per_s + 1 / constants.server_out_bits_per_s);
}

}  // namespace muster
