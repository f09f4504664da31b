// Cost: what a round takes, in simulated seconds and bytes, as pure functions of what the round did. Three models: the
// critical path of the real round through one server link, Group-FEL's sum of group operations and training (Eq. 5),
// and FedGSP's closed forms for chains (Eq. 15 and 16).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "aggregate/aggregator.h"
#include "base/catalogue_entry.h"

namespace muster {

// The [cost] section of a recipe.
struct CostOptions {
  std::string model = "link";  // see cost_models()
  // Of link and chain.
  double device_gflops = 567;
  double server_in_mbps = 567;
  double server_out_mbps = 567;
  // Of group-operations. What is not set was measured for the task and the objective.
  std::string file;  // of measured costs (measured_costs.h), in place of task and operation_*; "" = none
  std::string task;  // cifar | speech; "" = cifar
  std::optional<double> operation_quadratic;
  std::optional<double> operation_linear;
  std::optional<double> operation_constant;
  std::optional<double> training_slope;
  std::optional<double> training_constant;
  // Of chain. What is not set is the network's own.
  std::optional<double> sample_mflop;  // to train one sample
  std::optional<double> merge_mflop;   // to add one model to another
  std::optional<double> model_mbytes;

  bool operator==(const CostOptions&) const = default;
};

[[nodiscard]] std::vector<CatalogueEntry> cost_models();
// Refuses constants that belong to another model, and an objective without measured constants unless all are given.
[[nodiscard]] Status check_cost(const CostOptions& options, const std::string& objective);

// What a round did. A member that dropped every time is not among `members`.
struct GroupWork {
  std::uint32_t size = 0;  // members, also those that dropped
  std::vector<MemberReport> members;
};
struct RoundWork {
  bool in_sequence = false;   // members of a group train one after the other
  bool keeps_models = false;  // clients keep their own: nothing is sent or merged
  bool edges = false;         // groups live at edge servers, between clients and cloud
  std::uint32_t clients = 0;  // in groups
  std::uint32_t groups = 0;   // formed
  std::uint32_t visits = 1;   // of every member of a group that takes part
  std::vector<GroupWork> drawn;
  std::uint64_t download_bytes = 0;  // of one visit
  std::uint64_t upload_bytes = 0;
  bool sealed = false;  // models of chains travel sealed
  // Where members are merged by secure sums: all messages of these, in place of uploads of models.
  bool secure = false;
  std::uint64_t secure_bytes_up = 0;
  std::uint64_t secure_bytes_down = 0;
  // For profiles, before the round.
  double profile_flops = 0;  // of the client that had most to do
  std::uint64_t profile_bytes_down = 0;
  std::uint64_t profile_bytes_up = 0;
};

// Bytes in both directions, by the kind of link. Edge to cloud comes on top of what clients send and receive.
struct LinkBytes {
  std::uint64_t client_server = 0;
  std::uint64_t relay = 0;  // from client to client, through the server; with what sealing adds
  std::uint64_t edge_cloud = 0;
};

// A member that has dropped out is still sent the model. In a chain only the first download and the last
// upload are the server's; what lies between is handed from member to member, through the server. Between an edge and
// the cloud a group's model travels once each way.
struct RoundBytes {
  std::uint64_t down = 0;
  std::uint64_t up = 0;
  // What sealing adds to models (secure/sealed_relay.h). Not in `down` and `up`, which are those of the models.
  std::uint64_t sealing_down = 0;
  std::uint64_t sealing_up = 0;
  LinkBytes links;
};
[[nodiscard]] RoundBytes count_bytes(const RoundWork& work);

struct NetworkSize {
  double sample_flops = 0;   // to train one sample
  std::uint64_t values = 0;  // in a model
};

struct RoundCost {
  double compute_s = 0;
  double comm_s = 0;
};
[[nodiscard]] RoundCost round_cost(const CostOptions& options, const std::string& objective, const NetworkSize& network,
                                   const RoundWork& work);

// Seconds of a member's share in one operation of a group of s, and of one epoch over n samples (Group-FEL, Eq. 5):
//   O(s) = quadratic s^2 + linear s + constant,   H(n) = slope n + constant,   never below 0
struct OperationCoefficients {
  double quadratic = 0;
  double linear = 0;
  double constant = 0;
  double slope = 0;
  double training_constant = 0;

  [[nodiscard]] double operation_s(double size) const;
  [[nodiscard]] double epoch_s(double samples) const;
};
// As given or measured. Precondition: check_cost() passes.
[[nodiscard]] OperationCoefficients operation_coefficients(const CostOptions& options, const std::string& objective);
// Sum over groups of sum over members of (visits O(|g|) + epochs H(n_i)), epochs over all visits.
[[nodiscard]] double group_operations_s(const OperationCoefficients& coefficients, const std::vector<GroupWork>& drawn);

// One round of FedGSP's closed forms. All groups are alike: chains of clients / groups members.
struct ChainRound {
  double clients = 0;          // K
  double groups = 0;           // f(r)
  double share = 1;            // of groups that take part
  double samples_trained = 0;  // by a member
  double visits = 1;           // of a member
};
struct ChainConstants {
  double sample_flops = 0;
  double merge_flops = 0;
  double model_bytes = 0;
  double device_flops_per_s = 0;
  double server_in_bits_per_s = 0;
  double server_out_bits_per_s = 0;
};
// N_calc / T * n e * K / min(K, f) + N_aggr / T * (share f - 1)   (Eq. 15)
[[nodiscard]] double chain_compute_s(const ChainConstants& constants, const ChainRound& round);
// 8 share K M (1 / R_in + 1 / R_out)   (Eq. 16)
[[nodiscard]] double chain_comm_s(const ChainConstants& constants, const ChainRound& round);

}  // namespace muster
