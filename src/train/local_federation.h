// LocalFederation: a federation simulated on the threads of this process. Wires data, network, objective, client state,
// solvers and links together; everything that does this goes through here.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "clients/client_state.h"
#include "data/federated_data.h"
#include "plan/plan.h"
#include "solver/local_solver.h"
#include "train/evaluation_pieces.h"
#include "train/federation.h"
#include "train/sum_members.h"
#include "train/thread_host.h"

namespace muster {

struct LocalFederationOptions {
  std::uint32_t threads = 0;    // 0 = all cores
  SpareCores* spare = nullptr;  // begun and borrowed: one thread is the caller's, the others come as cores are spare
  std::uint64_t seed = 1;
  LocalOptions local;
  Augmentation augmentation;
  FaultOptions faults;
  TrainingOptions training;
  AggregationOptions aggregation;
  PrivacyOptions privacy;
  ProfileOptions profile;
  ClientStateOptions states;
  std::shared_ptr<const Attackers> attackers;  // null: all clients are honest
  MemberSecrets secrets;                       // of secure sums
  std::vector<std::uint32_t> late;             // clients that are not there before `late_round`, ascending
  std::uint32_t late_round = 1;
};

class LocalFederation final : public Federation {
 public:
  // `data` is borrowed.
  [[nodiscard]] static Result<std::unique_ptr<LocalFederation>> make(const FederatedData& data,
                                                                     std::shared_ptr<const Network> network,
                                                                     const LocalFederationOptions& options);
  ~LocalFederation() override;

  const Roster& roster() const override { return roster_; }
  std::size_t global_test_samples() const override { return data_.global_test().size(); }
  std::size_t global_validation_samples() const override { return data_.global_validation().size(); }
  SampleView exemplars() const override { return data_.exemplars(); }
  Result<std::string> save() override { return states_->save(); }
  Status restore(std::string_view saved) override { return states_->restore(saved); }

  [[nodiscard]] std::uint32_t threads() const { return pool_->threads(); }
  // Where the workers' time goes is added to `times`, one entry per thread; borrowed.
  void set_times(std::vector<SolverTimes>& times);

  // For ranks and benches, which work with the parts: how one worker reaches clients, how it trains and evaluates, how
  // an evaluation is cut, what clients remember. Not where cores are shared.
  [[nodiscard]] ClientLink& link(std::uint32_t worker) { return *links_[worker]; }
  [[nodiscard]] LocalSolver& solver(std::uint32_t worker) { return *solvers_[worker]; }
  [[nodiscard]] EvaluationPieces& evaluation() { return *evaluation_; }
  [[nodiscard]] ClientStates& states() { return *states_; }
  [[nodiscard]] const FederatedData& data() const { return data_; }

 private:
  LocalFederation(const FederatedData& data, std::shared_ptr<const Network> network,
                  std::unique_ptr<ProfileKind> profile, std::unique_ptr<GroupTrainer> trainer,
                  LocalFederationOptions options);
  void make_worker(std::uint32_t worker);

  Status do_train(const RoundCall& call, std::span<const GroupTask> tasks, const UpdateSink& sink) override;
  Status do_profile(const ProfileRequest& request, const ProfileSink& sink) override;
  void do_begin_evaluation(const EvaluationRequest& request) override;
  Result<EvaluationResult> do_end_evaluation() override;

  const FederatedData& data_;
  const LocalFederationOptions options_;
  Roster roster_;
  ModelParts parts_;
  std::unique_ptr<Objective> objective_;
  std::unique_ptr<ClientStates> states_;
  std::unique_ptr<WorkerPool> pool_;
  std::vector<std::unique_ptr<LocalSolver>> solvers_;  // one per worker, null as long as it has never worked
  std::vector<std::unique_ptr<ClientLink>> links_;     // likewise
  std::vector<SolverTimes>* times_ = nullptr;
  std::unique_ptr<ThreadHost> host_;
  std::unique_ptr<EvaluationPieces> evaluation_;
  bool beside_training_ = false;  // the evaluation that was begun has been done beside a training
};

}  // namespace muster
