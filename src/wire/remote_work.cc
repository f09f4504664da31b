// The asks by what they are for: what each says, and what its answer must be.
#include <utility>

#include "train/reply_check.h"
#include "train/update_check.h"
#include "wire/remote_peer.h"

namespace muster {
namespace {

std::uint64_t number_of(const std::shared_ptr<const WireVector>& vector) {
  return vector ? vector->number : 0;
}

// What a log is told of a reply that is a T, or a client that dropped.
template <typename T>
TaskAnswer told_of(const std::variant<T, Dropped>& reply) {
  const auto* const dropped = std::get_if<Dropped>(&reply);
  if (dropped) return {.reason = name(dropped->reason)};
  return {.used = true};
}

}  // namespace

TrainAnswer RemoteClients::train(const TrainAsk& given, WireTime deadline) {
  v1::Ask message;
  message.mutable_id()->set_round(given.round);
  message.mutable_id()->set_group(given.group.value);
  message.mutable_id()->set_client(given.client.value);
  message.mutable_id()->set_part(given.part);
  v1::Train& train = *message.mutable_train();
  train.set_model(number_of(given.model));
  train.set_broadcast(number_of(given.broadcast));
  train.set_own_model(given.own_model);
  if (given.epochs) train.set_epochs(*given.epochs);
  train.set_measure(given.measure);
  put(given.memory, *train.mutable_memory());
  TrainAnswer answer;
  const Outcome outcome = ask(
      std::move(message), {given.model, given.broadcast}, deadline,
      [&](const v1::Reply& reply, ChunkReader& vectors) {
        answer = take_train_answer(reply, given.client, vectors);
        // As whoever merges it will judge it, so that the verdict is true.
        TrainTask task{.client = given.client, .own_model = given.own_model};
        if (given.model) task.model = given.model->values;
        if (const auto fault = fault_in(answer.reply, task, {})) return TaskAnswer{.reason = name(*fault)};
        const LocalUpdate& update = std::get<LocalUpdate>(answer.reply);
        return TaskAnswer{.used = true, .samples = update.samples, .model = update.model, .payload = update.payload};
      },
      given.enough);
  if (outcome != Outcome::kAnswered) answer.reply = Dropped{given.client, why_none(outcome)};
  return answer;
}

ProfileReply RemoteClients::profile(const ProfileAsk& given, WireTime deadline) {
  v1::Ask message;
  message.mutable_id()->set_round(given.round);
  message.mutable_id()->set_client(given.client.value);
  v1::Profile& profile = *message.mutable_profile();
  profile.set_kind(given.kind);
  profile.set_as_of_round(given.as_of_round);
  for (const Vector& model : given.models) profile.add_models(model->number);
  if (given.memory) put(*given.memory, *profile.mutable_memory());
  ProfileReply answer;
  const Outcome outcome =
      ask(std::move(message), given.models, deadline, [&](const v1::Reply& reply, ChunkReader& vectors) {
        answer = take_profile_answer(reply, given.client, vectors);
        return told_of(answer);
      });
  if (outcome != Outcome::kAnswered) answer = Dropped{given.client, why_none(outcome)};
  return answer;
}

EvaluateReply RemoteClients::evaluate(const EvaluateAsk& given, WireTime deadline) {
  v1::Ask message;
  message.mutable_id()->set_round(given.round);
  message.mutable_id()->set_client(given.client.value);
  v1::Evaluate& evaluate = *message.mutable_evaluate();
  evaluate.set_model(number_of(given.model));
  evaluate.set_own_model(given.own_model);
  evaluate.set_validation(given.held_out == HeldOut::kValidation);
  evaluate.set_predictions(given.details.predictions);
  evaluate.set_scores(given.details.scores);
  if (given.memory) put(*given.memory, *evaluate.mutable_memory());
  EvaluateReply answer;
  const Outcome outcome =
      ask(std::move(message), {given.model}, deadline, [&](const v1::Reply& reply, ChunkReader& vectors) {
        answer = take_evaluate_answer(reply, given.client, vectors);
        return told_of(answer);
      });
  if (outcome != Outcome::kAnswered) answer = Dropped{given.client, why_none(outcome)};
  return answer;
}

GroupAnswer RemoteClients::train_group(const GroupAsk& given, WireTime deadline) {
  v1::Ask message;
  message.mutable_id()->set_round(given.round);
  message.mutable_id()->set_group(given.group.value);
  message.mutable_id()->set_client(given.members[0].value);
  v1::TrainGroup& group = *message.mutable_group();
  group.set_model(number_of(given.model));
  group.set_broadcast(number_of(given.broadcast));
  group.set_own_models(given.own_models);
  group.set_measure(given.measure);
  for (const ClientId member : given.members) group.add_members(member.value);
  group.mutable_epochs()->Assign(given.epochs.begin(), given.epochs.end());
  for (const Memory& memory : given.memories) put(memory, *group.add_memories());
  group.set_enough(given.enough);
  group.set_parameters(given.parameters);
  GroupAnswer answer;
  const Outcome outcome = ask(
      std::move(message), {given.model, given.broadcast}, deadline, [&](const v1::Reply& reply, ChunkReader& vectors) {
        answer = take_group_answer(reply, given.group, given.members, vectors);
        const GroupUpdate& update = answer.update;
        const bool some = !update.members.empty();
        return TaskAnswer{.used = some,
                          .reason = some || update.dropped.empty() ? "" : name(update.dropped[0].reason),
                          .samples = update.samples,
                          .model = update.model,
                          .payload = update.payload,
                          .members = update.members,
                          .dropped = update.dropped};
      });
  if (outcome != Outcome::kAnswered) {
    answer.lost = outcome == Outcome::kUnreachable;
    drop_all(given.group, given.members, why_none(outcome), answer.update);
  }
  return answer;
}

}  // namespace muster
