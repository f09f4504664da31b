// RankFederation: a federation simulated on the ranks of a job, each with threads of its own; this is rank 0, where the
// round loop is. Every rank has the data and the recipe; what travels is the work, and what clients remember, which
// rank 0 keeps. Answers are accepted in the order of the work, so a run has the bits it has on one thread.
#pragma once

#include <memory>

#include "ranks/unit_dispatch.h"
#include "train/local_federation.h"

namespace muster {

class RankFederation final : public Federation {
 public:
  // `local`: this rank's part, of which the threads are used and nothing else. `threads`: of every rank, this one
  // first. `ranks` is borrowed; the others serve (ranks/rank_server.h) until this object is gone.
  RankFederation(std::unique_ptr<LocalFederation> local, std::unique_ptr<ProfileKind> profile,
                 std::unique_ptr<GroupTrainer> trainer, Ranks& ranks, std::vector<std::uint32_t> threads);

  const Roster& roster() const override { return local_->roster(); }
  std::size_t global_test_samples() const override { return local_->global_test_samples(); }
  std::size_t global_validation_samples() const override { return local_->global_validation_samples(); }
  SampleView exemplars() const override { return local_->exemplars(); }
  Result<std::string> save() override { return local_->save(); }
  Status restore(std::string_view saved) override { return local_->restore(saved); }

  // Time is added to `times` (borrowed) from now on.
  void set_times(RankTimes& times) { dispatch_.set_times(times); }

 private:
  Status do_train(const RoundCall& call, std::span<const GroupTask> tasks, const UpdateSink& sink) override;
  Status do_profile(const ProfileRequest& request, const ProfileSink& sink) override;
  void do_begin_evaluation(const EvaluationRequest& request) override;
  Result<EvaluationResult> do_end_evaluation() override;

  std::unique_ptr<LocalFederation> local_;
  UnitDispatch dispatch_;
  CombinedUpdate combined_;
  bool beside_training_ = false;  // the evaluation that was begun has been done beside a training
};

}  // namespace muster
