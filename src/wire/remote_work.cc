// The asks by what they are for: what each says, and what its answer must be.
#include <algorithm>
#include <cmath>
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

void put(const RemoteClients::TrainAsk& given, v1::TaskId& id) {
  id.set_round(given.round);
  id.set_group(given.group.value);
  id.set_client(given.client.value);
  id.set_part(given.part);
}

void put(const RemoteClients::TrainAsk& given, v1::Train& train) {
  train.set_model(number_of(given.model));
  train.set_broadcast(number_of(given.broadcast));
  train.set_own_model(given.own_model);
  if (given.epochs) train.set_epochs(*given.epochs);
  train.set_measure(given.measure);
  put(given.memory, *train.mutable_memory());
  if (given.chain) put(*given.chain, *train.mutable_chain());
}

// What the answer must be like, whoever goes on from it: the size of a model, sealed if and only if others are to read
// it. Of a sealed one nobody here knows whether it is finite.
std::optional<DropReason> fault_in_answer(const RemoteClients::TrainAsk& given, const TrainAnswer& answer) {
  TrainTask task{.client = given.client, .own_model = given.own_model};
  if (given.model) task.model = given.model->values;
  if (!given.chain) return fault_in(answer.reply, task, {});
  if (given.chain->from) {
    task.model = task.model.first(task.model.size() - std::min(task.model.size(), kSealedExtraValues));
  }
  const auto* const update = std::get_if<LocalUpdate>(&answer.reply);
  if (update && answer.sealed.has_value() == given.chain->readers.empty()) return DropReason::kMalformed;
  if (!update || !answer.sealed) return fault_in(answer.reply, task, {});
  const bool fits = update->samples > 0 && update->payload.empty() &&
                    update->model.size() == task.model.size() + kSealedExtraValues &&
                    answer.sealed->sender == given.client && answer.sealed->part == given.part;
  if (!fits) return DropReason::kMalformed;
  const bool finite = std::isfinite(update->loss) && std::isfinite(update->loss_after.value_or(0));
  return finite ? std::nullopt : std::optional(DropReason::kNonFinite);
}

}  // namespace

TrainAnswer RemoteClients::train(const TrainAsk& given, WireTime deadline) {
  v1::Ask message;
  put(given, *message.mutable_id());
  put(given, *message.mutable_train());
  TrainAnswer answer;
  const Outcome outcome = ask(
      std::move(message), {given.model, given.broadcast}, deadline,
      [&](const v1::Reply& reply, ChunkReader& vectors) {
        answer = take_train_answer(reply, given.client, vectors);
        // As whoever merges it will judge it, so that the verdict is true.
        if (const auto fault = fault_in_answer(given, answer)) {
          if (given.chain) answer = {Dropped{given.client, *fault}};
          return TaskAnswer{.reason = name(*fault)};
        }
        const LocalUpdate& update = std::get<LocalUpdate>(answer.reply);
        return TaskAnswer{.used = true, .samples = update.samples, .model = update.model, .payload = update.payload};
      },
      given.enough);
  if (outcome != Outcome::kAnswered) answer.reply = Dropped{given.client, why_none(outcome)};
  return answer;
}

SummedAnswer RemoteClients::sum(const SumPhaseAsk& given, WireTime deadline) {
  const ClientId client = given.work.client;
  const Vector said = numbers_.make(values_of_bytes(given.said));
  v1::Ask message;
  put(given.work, *message.mutable_id());
  v1::Sum& sum = *message.mutable_sum();
  sum.set_phase(static_cast<std::uint32_t>(given.phase));
  sum.set_attempt(given.attempt);
  sum.mutable_said()->set_vector(said->number);
  sum.mutable_said()->set_size(given.said.size());
  const bool trains = given.phase == SumPhase::kInput;
  if (trains) put(given.work, *sum.mutable_train());
  SummedAnswer answer;
  const Outcome outcome = ask(std::move(message), {said, given.work.model, given.work.broadcast}, deadline,
                              [&](const v1::Reply& reply, ChunkReader& vectors) {
                                answer = take_summed_answer(reply, client, vectors);
                                const auto* const summed = std::get_if<SumAnswer>(&answer.reply);
                                if (summed && summed->update)
                                  return TaskAnswer{.used = true, .samples = summed->update->samples};
                                return told_of(answer.reply);
                              });
  end_sharing(said);
  if (outcome != Outcome::kAnswered) answer.reply = Dropped{client, why_none(outcome)};
  return answer;
}

ChainKeyReply RemoteClients::chain_key(ClientId client, GroupId group, std::uint32_t round, WireTime deadline) {
  v1::Ask message;
  message.mutable_id()->set_round(round);
  message.mutable_id()->set_group(group.value);
  message.mutable_id()->set_client(client.value);
  message.mutable_chain_key();
  ChainKeyReply answer;
  const Outcome outcome = ask(std::move(message), {}, deadline, [&](const v1::Reply& reply, ChunkReader&) {
    answer = take_chain_key_answer(reply, client);
    return told_of(answer);
  });
  if (outcome != Outcome::kAnswered) answer = Dropped{client, why_none(outcome)};
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
  group.set_attempt(given.attempt);
  group.mutable_names()->Assign(given.names.begin(), given.names.end());
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
