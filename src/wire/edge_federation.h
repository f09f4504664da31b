// EdgeFederation: a federation whose clients are processes of their own, behind edges or dialling the cloud directly.
// This is the cloud, where the round loop is. A group is hosted by the edge that all of its members are behind, else
// here; answers are accepted in the order of the work, so a run has the bits it has on one thread. What clients
// remember they keep themselves: a checkpoint says which of their states it means.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "train/local_federation.h"
#include "wire/group_link.h"

namespace muster {

struct EdgeFederationOptions {
  double round_deadline_s = 600;  // of training, of profiles, and of an evaluation, each
  // Less of a group's members than this share: the group does not count. Less of the groups: the round does not.
  double member_quorum = 0;
  double group_quorum = 0;
  // Participants that are asked for each that is needed; a group, or a round of clients that are all alone, is done
  // when enough have answered. Only where members train apart: chains and group rounds ask nobody besides.
  double over_select = 1;
  // Where members are summed securely: whom to believe, and whether they are known by their names in the roster.
  std::shared_ptr<const MemberVerifier> verifier = {};
  bool members_by_name = false;
  // Clients keep parts of a model, or models of their own: what they tell and score depends on what they remember.
  bool keeps_parts = false;
  std::function<void(const std::string&)> say = {};
  // Seconds that the round loop waited for clients: "train", "profile" or "evaluate". Called by the round loop's
  // thread.
  std::function<void(const std::string& phase, double seconds)> spent = {};
};

class EdgeFederation final : public Federation {
 public:
  // `local`: what the cloud itself has: the roster, the server's samples and threads to score them. `clients` is
  // borrowed.
  EdgeFederation(std::unique_ptr<LocalFederation> local, std::unique_ptr<ProfileKind> profile,
                 std::unique_ptr<GroupTrainer> trainer, RemoteClients& clients, EdgeFederationOptions options);
  ~EdgeFederation() override;

  const Roster& roster() const override { return roster_; }
  // A client that has joined, or what it told in place of what was known of it. Between rounds, by the round loop's
  // thread; its edge stays as it is.
  void set_client(ClientId client, ClientInfo told);
  std::size_t global_test_samples() const override { return local_->global_test_samples(); }
  std::size_t global_validation_samples() const override { return local_->global_validation_samples(); }
  SampleView exemplars() const override { return local_->exemplars(); }
  double over_select() const override { return trainer().divisible() ? options_.over_select : 1; }
  Result<std::string> save() override { return book_.save(); }
  Status restore(std::string_view saved) override { return book_.restore(saved, roster().clients()); }

 private:
  Status do_train(const RoundCall& call, std::span<const GroupTask> tasks, const UpdateSink& sink) override;
  Status do_profile(const ProfileRequest& request, const ProfileSink& sink) override;
  void do_begin_evaluation(const EvaluationRequest& request) override;
  Result<EvaluationResult> do_end_evaluation() override;

  [[nodiscard]] WireTime deadline() const;
  Result<GroupUpdate> train_group(const RoundCall& call, const GroupTask& task, const SharedVectors& shared,
                                  WireTime deadline, const RemoteClients::EnoughPtr& enough);
  [[nodiscard]] std::optional<Memory> memory_of(ClientId client, bool matters) const;
  void apply_quorum(const GroupTask& task, GroupUpdate& update) const;
  [[nodiscard]] Status evaluate_all();

  std::unique_ptr<LocalFederation> local_;
  Roster roster_;
  RemoteClients& clients_;
  const EdgeFederationOptions options_;
  StateBook book_;
  WorkerPool waiting_;  // threads that wait for clients
  WorkerPool asking_;   // the same for an evaluation, which goes on beside
  WorkerPool scoring_;  // threads that score the server's samples
  CombinedUpdate combined_;
  std::thread evaluation_;
  Status evaluated_;
  double evaluation_s_ = 0;
};

}  // namespace muster
