#include "deploy/sealed_chains.h"

#include <algorithm>

#include "base/finite.h"

namespace muster {

ChainKeyReply SealedChains::key(ClientId client, std::uint32_t round, GroupId group) {
  if (!secrecy_.signer) return Dropped{client, DropReason::kMalformed};
  ChainTerms terms{secrecy_.run, round, group};
  const std::lock_guard lock(mutex_);
  std::shared_ptr<const ChainMember>& member = members_[client];
  if (!member || member->terms() != terms) {
    SystemKeys keys;
    Result<ChainMember> made =
        ChainMember::make(std::move(terms), {client, secrecy_.name}, keys, *secrecy_.signer(client));
    if (!made) {
      if (secrecy_.say) secrecy_.say({.line = fmt::format("client {}: {}", client.value, made.error().message)});
      return Dropped{client, DropReason::kMalformed};
    }
    member = std::make_shared<const ChainMember>(std::move(made).value());
  }
  return member->key();
}

std::shared_ptr<const ChainMember> SealedChains::find(const TrainTask& task, GroupId group) const {
  const std::lock_guard lock(mutex_);
  const auto found = members_.find(task.client);
  const bool known = found != members_.end() && found->second->terms() == ChainTerms{secrecy_.run, task.round, group};
  return known ? found->second : nullptr;
}

void SealedChains::say(const TrainTask& task, GroupId group, const std::string& what) const {
  if (!secrecy_.say) return;
  secrecy_.say(
      {.line = fmt::format("client {}, round {}, group {}: {}", task.client.value, task.round, group.value, what),
       .client = fmt::format("client {}", task.client.value),
       .clients = 1});
}

std::optional<DropReason> SealedChains::receive(const TrainTask& task, GroupId group, const ChainVisit& visit,
                                                std::vector<float>& model) const {
  const std::shared_ptr<const ChainMember> member = find(task, group);
  if (!member) return DropReason::kUnreachable;  // it has started again since it gave its key
  if (!visit.from) return std::nullopt;
  if (visit.open && visit.from->sender != task.client) {
    say(task, group, "is asked to open a model that is not its own, and does not");
    return DropReason::kMalformed;
  }
  Result<std::vector<float>> opened = member->open(*visit.from, task.model, *visit.sender, *secrecy_.verifier);
  if (!opened) {
    say(task, group, "refuses " + opened.error().message);
    return DropReason::kMalformed;
  }
  if (!all_finite(*opened)) return DropReason::kMalformed;
  model = std::move(opened).value();
  if (visit.open) {
    say(task, group, "nobody after it in the chain is left, says the host: its model leaves unsealed");
  }
  return std::nullopt;
}

void SealedChains::send(const TrainTask& task, GroupId group, const ChainVisit& visit, TrainAnswer& answer) const {
  auto* const update = std::get_if<LocalUpdate>(&answer.reply);
  if (!update) return;
  // The host cannot see it, so it is for the client to say.
  if (!all_finite(update->model)) {
    answer = {Dropped{task.client, DropReason::kNonFinite}};
    return;
  }
  if (visit.readers.empty()) {
    return say(task, group, "is the last of the chain, says the host: its model leaves unsealed");
  }
  const std::shared_ptr<const ChainMember> member = find(task, group);
  SystemKeys keys;
  Result<SealedModel> sealed = member ? member->seal(task.part, update->model, visit.readers, keys, *secrecy_.verifier)
                                      : Result<SealedModel>(failure("has lost its key"));
  if (!sealed) {
    say(task, group, "refuses " + sealed.error().message);
    answer = {Dropped{task.client, DropReason::kMalformed}};
    return;
  }
  const std::size_t others =
      std::ranges::count_if(visit.readers, [&](const ChainKey& reader) { return reader.client != task.client; });
  if (sealed->head.keys.size() <= others) {
    say(task, group,
        fmt::format("{} later members are left out: their keys are not signed by them",
                    others + 1 - sealed->head.keys.size()));
  }
  update->model = std::move(sealed->values);
  answer.sealed = std::move(sealed->head);
}

void SealedChains::send_alone(const TrainTask& task, GroupId group, const TrainAnswer& answer) const {
  if (secrecy_.signer && std::holds_alternative<LocalUpdate>(answer.reply)) {
    say(task, group, "is alone in its chain, says the host: its model leaves unsealed");
  }
}

}  // namespace muster
