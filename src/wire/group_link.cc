#include "wire/group_link.h"

#include <algorithm>
#include <atomic>
#include <thread>

namespace muster {
namespace {

constexpr std::size_t kTogether = 32;  // asks of one group that wait at a time

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

TrainReply GroupLink::ask(const TrainTask& task, const RemoteClients::Vector& model, WireTime deadline,
                          const RemoteClients::EnoughPtr& enough) {
  TrainAnswer answer = clients_.train({.client = task.client,
                                       .group = terms_.group,
                                       .round = task.round,
                                       .part = task.part,
                                       .model = model,
                                       .broadcast = shared_.find(task.broadcast),
                                       .own_model = task.own_model,
                                       .epochs = task.epochs,
                                       .measure = task.measure,
                                       .memory = book_.memory_of(task.client),
                                       .enough = enough},
                                      deadline);
  if (std::holds_alternative<LocalUpdate>(answer.reply)) clients_.count(enough);
  if (answer.remembers) book_.used(task.client, {task.round, task.part});
  return std::move(answer.reply);
}

Result<TrainReply> GroupLink::train(const TrainTask& task, LocalUpdate) {
  WireTime deadline = terms_.deadline;
  if (terms_.visits > 0) {
    const auto now = std::chrono::steady_clock::now();
    deadline = now + (deadline - now) / static_cast<std::int64_t>(terms_.visits--);
  }
  const RemoteClients::EnoughPtr& enough = terms_.shared_enough;
  if (const RemoteClients::Vector shared = shared_.find(task.model)) return ask(task, shared, deadline, enough);
  const RemoteClients::Vector own = clients_.share(task.model);
  TrainReply reply = ask(task, own, deadline, enough);
  clients_.end_sharing(own);
  return reply;
}

// All of them at once, and their answers in order.
Status GroupLink::train_each(std::span<const TrainTask> tasks, LocalUpdate, const TakeReply& take) {
  const RemoteClients::Vector known = tasks.empty() ? nullptr : shared_.find(tasks[0].model);
  const RemoteClients::Vector model = known || tasks.empty() ? known : clients_.share(tasks[0].model);
  const RemoteClients::EnoughPtr enough = RemoteClients::enough(terms_.enough);
  std::vector<TrainReply> replies(tasks.size());
  std::atomic<std::size_t> next{0};
  {
    std::vector<std::jthread> askers;
    for (std::size_t i = 0; i < std::min(kTogether, tasks.size()); ++i) {
      askers.emplace_back([&] {
        for (std::size_t task = next++; task < tasks.size(); task = next++) {
          replies[task] = ask(tasks[task], model, terms_.deadline, enough);
        }
      });
    }
  }
  if (!known) clients_.end_sharing(model);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    LocalUpdate ignored = take(i, std::move(replies[i]));
  }
  return {};
}

Result<ProfileReply> GroupLink::profile(const ProfileTask&) {
  return failure("a group's link asks for training only");
}

Result<EvaluateReply> GroupLink::evaluate(const EvaluateTask&) {
  return failure("a group's link asks for training only");
}

}  // namespace muster
