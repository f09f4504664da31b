#include "ranks/rank_federation.h"

#include "base/stopwatch.h"

namespace muster {

RankFederation::RankFederation(std::unique_ptr<LocalFederation> local, std::unique_ptr<ProfileKind> profile,
                               std::unique_ptr<GroupTrainer> trainer, Ranks& ranks, std::vector<std::uint32_t> threads)
    : Federation(local->shared_network(), std::move(profile), std::move(trainer)),
      local_(std::move(local)),
      dispatch_(ranks, std::move(threads)) {}

Status RankFederation::do_train(const RoundCall& call, std::span<const GroupTask> tasks, const UpdateSink& sink) {
  const std::unique_ptr<RankCall> training =
      make_train_call(*local_, call, tasks, sink, combined_, dispatch_.threads());
  const bool beside = evaluating() && !beside_training_;
  const std::unique_ptr<RankCall> evaluation = beside ? make_evaluate_call(*local_) : nullptr;
  MUSTER_TRY(dispatch_.run(*training, evaluation.get()));
  beside_training_ = beside_training_ || beside;
  return {};
}

Status RankFederation::do_profile(const ProfileRequest& request, const ProfileSink& sink) {
  return dispatch_.run(*make_profile_call(*local_, request, sink));
}

void RankFederation::do_begin_evaluation(const EvaluationRequest& request) {
  local_->evaluation().begin(request);
  beside_training_ = false;
}

Result<EvaluationResult> RankFederation::do_end_evaluation() {
  double seconds = 0;
  if (!beside_training_) {
    const Stopwatch watch(&seconds);
    MUSTER_TRY(dispatch_.run(*make_evaluate_call(*local_)));
  }
  EvaluationPieces& pieces = local_->evaluation();
  EvaluationResult result = pieces.end();
  result.seconds = seconds;
  if (beside_training_) result.beside_training_s = pieces.seconds() / static_cast<double>(dispatch_.threads());
  return result;
}

}  // namespace muster
