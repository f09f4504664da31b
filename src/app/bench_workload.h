// The reference workloads: a network, a client's data and its local training, in the sizes of the papers (a to h), and
// with one epoch on stored bytes (a1, b1, ...) as most runs have them. The same table is in bench/torch_reference.py.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "data/federated_data.h"
#include "model/network.h"
#include "solver/local_solver.h"

namespace muster {

struct Workload {
  std::string_view name;
  std::string_view summary;
  ModelOptions model;
  Shape shape;
  std::uint32_t classes = 0;
  std::uint32_t batch = 0;
  std::uint32_t samples = 0;  // per client
  std::uint32_t epochs = 0;
  double learning_rate = 0;
  double wanted_ratio = 0;  // to the reference, on a machine with AVX-512
  Samples::Storage storage = Samples::Storage::kFloats;
  std::optional<double> most_gathering = std::nullopt;  // share of the training time

  [[nodiscard]] LocalOptions local() const;
};

[[nodiscard]] std::span<const Workload> workloads();
// "a, a1, ..."
[[nodiscard]] std::string workload_names();
// Those named in "a,e1,f"; all for "". Errors name the unknown one.
[[nodiscard]] Result<std::vector<Workload>> choose_workloads(std::string_view names);

// Clients with samples around one prototype per class: learnable within an epoch. 200 MB at most. Bytes stand
// for -1 to 1.
[[nodiscard]] Result<std::unique_ptr<FederatedData>> make_workload_data(const Workload& workload);

// Operations that a training step cannot do without, per sample: two for every multiply-add of the forward pass, the
// weight gradient, and the data gradient of all but the network's input.
[[nodiscard]] double useful_flops(const Network& network);

}  // namespace muster
