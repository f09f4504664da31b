#include "wire/group_link.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>
#include <utility>

namespace muster {
namespace {

constexpr std::size_t kTogether = 32;  // asks of one group that wait at a time

// Calls `ask` for each of so many, on threads that wait beside each other.
void ask_together(std::size_t count, const std::function<void(std::size_t)>& ask) {
  std::atomic<std::size_t> next{0};
  std::vector<std::jthread> askers;
  for (std::size_t i = 0; i < std::min(kTogether, count); ++i) {
    askers.emplace_back([&] {
      for (std::size_t one = next++; one < count; one = next++) ask(one);
    });
  }
}

// What the phases of a secure sum get of its time: members train in one of them.
constexpr std::int64_t kPhaseShare = 1;
constexpr std::int64_t kInputShare = 4;
constexpr std::int64_t kSumShares = 4 * kPhaseShare + kInputShare;

}  // namespace

SharedVectors::~SharedVectors() {
  for (const auto& [address, vector] : known_) clients_.end_sharing(vector);
}

RemoteClients::Vector SharedVectors::add(std::span<const float> values) {
  if (values.empty()) return nullptr;
  if (RemoteClients::Vector known = find(values)) return known;
  known_.emplace_back(values.data(), clients_.share(values));
  return known_.back().second;
}

RemoteClients::Vector SharedVectors::find(std::span<const float> values) const {
  const auto known = std::ranges::find_if(known_, [&](const auto& entry) { return entry.first == values.data(); });
  return known == known_.end() ? nullptr : known->second;
}

RemoteClients::TrainAsk GroupLink::ask_for(const TrainTask& task, const RemoteClients::Vector& model) const {
  return {.client = task.client,
          .group = terms_.group,
          .round = task.round,
          .part = task.part,
          .model = model,
          .broadcast = shared_.find(task.broadcast),
          .own_model = task.own_model,
          .epochs = task.epochs,
          .measure = task.measure,
          .memory = book_.memory_of(task.client)};
}

TrainReply GroupLink::ask(const TrainTask& task, const RemoteClients::Vector& model, WireTime deadline,
                          const RemoteClients::EnoughPtr& enough) {
  RemoteClients::TrainAsk asked = ask_for(task, model);
  asked.enough = enough;
  TrainAnswer answer = clients_.train(asked, deadline);
  if (std::holds_alternative<LocalUpdate>(answer.reply)) clients_.count(enough);
  if (answer.remembers) book_.used(task.client, {task.round, task.part});
  return std::move(answer.reply);
}

WireTime GroupLink::deadline_of_visit() {
  if (terms_.visits == 0) return terms_.deadline;
  const auto now = std::chrono::steady_clock::now();
  return now + (terms_.deadline - now) / static_cast<std::int64_t>(terms_.visits--);
}

Result<TrainReply> GroupLink::train(const TrainTask& task, LocalUpdate) {
  const WireTime deadline = deadline_of_visit();
  const RemoteClients::EnoughPtr& enough = terms_.shared_enough;
  if (const RemoteClients::Vector shared = shared_.find(task.model)) return ask(task, shared, deadline, enough);
  const RemoteClients::Vector own = clients_.share(task.model);
  TrainReply reply = ask(task, own, deadline, enough);
  clients_.end_sharing(own);
  return reply;
}

// All are asked together, and it takes as long as a visit at most. As much is kept for an opening at the end.
Result<std::vector<Dropped>> GroupLink::begin(std::uint32_t round, std::span<const ClientId> members) {
  terms_.visits += 2;
  const WireTime deadline = deadline_of_visit();
  std::vector<ChainKeyReply> replies(members.size());
  ask_together(members.size(), [&](std::size_t member) {
    replies[member] = clients_.chain_key(members[member], terms_.group, round, deadline);
  });
  chain_keys_.clear();
  std::vector<Dropped> without;
  for (ChainKeyReply& reply : replies) {
    if (const auto* const dropped = std::get_if<Dropped>(&reply)) {
      without.push_back(*dropped);
    } else {
      auto& key = std::get<ChainKey>(reply);
      chain_keys_.emplace(key.client, std::move(key));
    }
  }
  return without;
}

TrainAnswer GroupLink::ask_in_chain(const TrainTask& task, const SealedModel* from, ChainVisit visit,
                                    WireTime deadline) {
  RemoteClients::Vector model = shared_.find(task.model);
  if (from) {
    model = clients_.share(from->values);
    visit.sender = chain_keys_.at(from->head.sender);
    visit.from = from->head;
    std::erase_if(visit.from->keys, [&](const WrappedKey& key) { return key.reader != task.client; });
  }
  RemoteClients::TrainAsk asked = ask_for(task, model);
  asked.chain = std::move(visit);
  TrainAnswer answer = clients_.train(asked, deadline);
  if (from) clients_.end_sharing(model);
  if (answer.remembers) book_.used(task.client, {task.round, task.part});
  return answer;
}

Result<SealedReply> GroupLink::visit(const SealedVisit& visit) {
  ChainVisit told;
  for (const ClientId reader : visit.readers) told.readers.push_back(chain_keys_.at(reader));
  TrainAnswer answer = ask_in_chain(visit.task, visit.from, std::move(told), deadline_of_visit());
  auto* const update = std::get_if<LocalUpdate>(&answer.reply);
  if (!update) return SealedReply{std::get<Dropped>(answer.reply)};
  SealedUpdate made{.update = std::move(*update), .sealed = {}};
  if (answer.sealed) made.sealed = {std::move(*answer.sealed), std::exchange(made.update.model, {})};
  return SealedReply{std::move(made)};
}

Result<TrainReply> GroupLink::open(const TrainTask& task, const SealedModel& sealed) {
  return ask_in_chain(task, &sealed, {.readers = {}, .from = {}, .sender = {}, .open = true}, terms_.deadline).reply;
}

// All of them at once, and their answers in order.
Status GroupLink::train_each(std::span<const TrainTask> tasks, LocalUpdate, const TakeReply& take) {
  const RemoteClients::Vector known = tasks.empty() ? nullptr : shared_.find(tasks[0].model);
  const RemoteClients::Vector model = known || tasks.empty() ? known : clients_.share(tasks[0].model);
  const RemoteClients::EnoughPtr enough = RemoteClients::enough(terms_.enough);
  std::vector<TrainReply> replies(tasks.size());
  ask_together(tasks.size(),
               [&](std::size_t task) { replies[task] = ask(tasks[task], model, terms_.deadline, enough); });
  if (!known) clients_.end_sharing(model);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    LocalUpdate ignored = take(i, std::move(replies[i]));
  }
  return {};
}

// A phase has its share of the time that is left for this sum and those after it, so that whoever is gone costs a phase
// and not the round.
WireTime GroupLink::deadline_of(SumPhase phase) const {
  const auto now = std::chrono::steady_clock::now();
  const auto left = std::max(terms_.deadline - now, std::chrono::steady_clock::duration(0));
  const auto at = static_cast<std::int64_t>(phase);
  const std::int64_t own = phase == SumPhase::kInput ? kInputShare : kPhaseShare;
  const std::int64_t before = at * kPhaseShare + (phase > SumPhase::kInput ? kInputShare - kPhaseShare : 0);
  return now + left * own / (kSumShares * (1 + std::int64_t{terms_.sums_expected}) - before);
}

// All of them at once, and their answers in order.
Status GroupLink::sum_each(SumPhase phase, std::span<SumAsk> asks, const TakeSumReply& take) {
  const bool trains = phase == SumPhase::kInput && !asks.empty();
  const RemoteClients::Vector known = trains ? shared_.find(asks[0].task.model) : nullptr;
  const RemoteClients::Vector model = known || !trains ? known : clients_.share(asks[0].task.model);
  if (phase == SumPhase::kKeys && terms_.sums_expected > 0) --terms_.sums_expected;
  const WireTime deadline = deadline_of(phase);
  std::vector<SumReply> replies(asks.size());
  ask_together(asks.size(), [&](std::size_t i) {
    const TrainTask& task = asks[i].task;
    SummedAnswer answer = clients_.sum({phase, asks[i].attempt, asks[i].message, ask_for(task, model)}, deadline);
    if (answer.remembers) book_.used(task.client, {task.round, task.part});
    replies[i] = std::move(answer.reply);
  });
  if (!known) clients_.end_sharing(model);
  for (std::size_t i = 0; i < asks.size(); ++i) take(i, std::move(replies[i]));
  return {};
}

Result<ProfileReply> GroupLink::profile(const ProfileTask&) {
  return failure("a group's link asks for training only");
}

Result<EvaluateReply> GroupLink::evaluate(const EvaluateTask&) {
  return failure("a group's link asks for training only");
}

}  // namespace muster
