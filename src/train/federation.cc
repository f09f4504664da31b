#include "train/federation.h"

#include <algorithm>

#include "base/check.h"
#include "train/evaluation_check.h"
#include "train/profile_collector.h"
#include "train/update_check.h"

namespace muster {

void Score::add(const Evaluation& piece) {
  samples += piece.samples;
  correct += piece.correct;
  loss_sum += piece.loss_sum;
}

Federation::Federation(std::shared_ptr<const Network> network, std::unique_ptr<ProfileKind> profile,
                       std::unique_ptr<GroupTrainer> trainer)
    : network_(std::move(network)), profile_(std::move(profile)), trainer_(std::move(trainer)) {}

Status Federation::train(const RoundCall& call, std::span<const GroupTask> tasks, const UpdateSink& sink) {
  const Roster& known = roster();
  for (const std::span<const float> model : call.models) {
    MUSTER_CHECK(model.size() == network_->size(), "{} != {}", model.size(), network_->size());
  }
  for (const GroupTask& task : tasks) {
    MUSTER_CHECK(task.model < call.models.size(), "model {} of {}", task.model, call.models.size());
    MUSTER_CHECK(!task.members.empty(), "group {} takes part without a member", task.group.value);
    MUSTER_CHECK(task.epochs.empty() || task.epochs.size() == task.members.size(), "{} epochs of {} members",
                 task.epochs.size(), task.members.size());
    for (const ClientId client : task.members) {
      MUSTER_CHECK(client.value < known.clients(), "client {} of {}", client.value, known.clients());
    }
  }
  std::size_t answered = 0;
  std::vector<ClientId> seen;  // members of the group that is awaited, whose updates were handed on
  UpdateSink checked;
  checked.group = [&](GroupUpdate& update) {
    MUSTER_CHECK(answered < tasks.size(), "more answers than the {} groups that were asked", tasks.size());
    const GroupTask& task = tasks[answered++];
    seen.clear();
    if (const auto fault = fault_of(update, task.group, task.members, known, *network_, call.own_models)) {
      drop_all(task.group, task.members, *fault, update);
    }
    sink.group(update);
  };
  if (sink.member) {
    checked.member = [&](const GroupUpdate& update, std::span<const float> start) {
      MUSTER_CHECK(answered < tasks.size(), "more answers than the {} groups that were asked", tasks.size());
      const GroupTask& task = tasks[answered];
      std::vector<ClientId> contributed;
      for (const MemberReport& report : update.members) contributed.push_back(report.client);
      for (const Dropped& dropped : update.dropped) contributed.push_back(dropped.client);
      for (const ClientId client : contributed) {
        if (std::ranges::find(task.members, client) == task.members.end()) return;
        if (std::ranges::count(contributed, client) > 1 || std::ranges::find(seen, client) != seen.end()) return;
      }
      if (fault_of(update, task.group, contributed, known, *network_, call.own_models)) return;
      seen.insert(seen.end(), contributed.begin(), contributed.end());
      sink.member(update, start);
    };
  }
  MUSTER_TRY(do_train(call, tasks, checked));
  MUSTER_CHECK(answered == tasks.size(), "{} of {} groups answered", answered, tasks.size());
  return {};
}

Result<CollectedProfiles> Federation::profile(const ProfileRequest& request) {
  const ProfileKind& kind = request.losses ? losses_profile() : *profile_;
  MUSTER_ASSIGN(ProfileCollector collector, ProfileCollector::make(kind, *network_, exemplars(), request));
  if (collector.nothing_to_ask()) return std::move(collector).finish();
  MUSTER_TRY(do_profile(request, [&](std::size_t index, ProfileReply& reply) {
    collector.add(index, reply);
    if (request.answered) request.answered(index + 1);
  }));
  return std::move(collector).finish();
}

void Federation::begin_evaluation(EvaluationRequest request) {
  MUSTER_CHECK(!evaluation_, "an evaluation is under way");
  MUSTER_CHECK(request.clients.size() == request.model_of.size(), "{} clients, {} models", request.clients.size(),
               request.model_of.size());
  MUSTER_CHECK(network_->classes() == 2 || (!request.details.scores && !request.global_details.scores),
               "scores of {} classes", network_->classes());
  evaluation_ = std::move(request);
  do_begin_evaluation(*evaluation_);
}

Result<EvaluationResult> Federation::end_evaluation() {
  MUSTER_CHECK(evaluation_.has_value(), "no evaluation is under way");
  Result<EvaluationResult> result = do_end_evaluation();
  const EvaluationRequest request = std::move(*evaluation_);
  evaluation_.reset();
  if (!result) return result;
  MUSTER_CHECK(result->clients.size() == request.clients.size(), "{} of {} clients answered", result->clients.size(),
               request.clients.size());
  for (std::size_t i = 0; i < request.clients.size(); ++i) {
    const auto* const told = std::get_if<Evaluation>(&result->clients[i]);
    if (!told) continue;
    const bool tests = request.held_out != HeldOut::kValidation;
    const ClientId client = request.clients[i];
    const std::uint32_t samples = tests ? roster().test_samples(client) : roster().validation_samples(client);
    if (!adds_up(*told, samples, request.details, network_->classes())) {
      result->clients[i] = Dropped{client, DropReason::kMalformed};
    }
  }
  return result;
}

Result<EvaluationResult> Federation::evaluate(EvaluationRequest request) {
  begin_evaluation(std::move(request));
  return end_evaluation();
}

}  // namespace muster
