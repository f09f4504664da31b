// BenchFederation: the clients of one workload, trained as a simulation trains them — received model, local epochs,
// update, weighted mean — on any number of workers.
#pragma once

#include <memory>
#include <vector>

#include "app/bench_workload.h"
#include "train/local_federation.h"

namespace muster {

class BenchFederation {
 public:
  // Borrows `data`.
  [[nodiscard]] static Result<std::unique_ptr<BenchFederation>> create(const Workload& workload,
                                                                       std::shared_ptr<const Network> network,
                                                                       const FederatedData& data,
                                                                       std::uint32_t threads);

  // Trains clients one after the other until `seconds` of processor time have passed. Returns samples per second.
  [[nodiscard]] Result<double> train_for(double seconds);

  // Trains in the same way; returns the share of the time that goes into making batches of stored samples.
  [[nodiscard]] Result<double> gather_share(double seconds);

  // Trains whole rounds on all workers until `seconds` of wall time have passed. Returns samples per second.
  [[nodiscard]] Result<double> train_rounds_for(double seconds);

  // Mean loss on the test samples: of the current model, and of what train_for's last client made of it.
  [[nodiscard]] double model_loss() { return test_loss(model_); }
  [[nodiscard]] double update_loss() { return test_loss(spare_.model); }
  [[nodiscard]] std::span<const float> model() const { return model_; }

 private:
  explicit BenchFederation(const FederatedData& data) : data_(data) {}

  // Trains the round's next client; the last one ends the round. Returns samples trained.
  [[nodiscard]] Result<std::uint64_t> train_next();

  [[nodiscard]] double test_loss(std::span<const float> model);
  // The client as a group of its own.
  [[nodiscard]] static GroupTask task(const ClientId& client) {
    return {.group = GroupId{client.value}, .members = {&client, 1}};
  }
  [[nodiscard]] RoundCall call() const { return {.round = round_, .models = {model_}}; }

  const FederatedData& data_;
  std::unique_ptr<LocalFederation> federation_;
  std::vector<ClientId> clients_;
  std::vector<float> model_;
  WeightedMean mean_;
  GroupUpdate spare_;
  std::uint32_t round_ = 1;
  std::uint32_t next_ = 0;  // client of this round
};

}  // namespace muster
