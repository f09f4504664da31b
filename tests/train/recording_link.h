// RecordingLink: clients that note what they are asked, and answer with numbers that can be followed by eye.
#pragma once

#include <map>
#include <vector>

#include "train/client_link.h"

namespace muster {

class RecordingLink final : public ClientLink {
 public:
  struct Visit {
    ClientId client;
    std::uint32_t round = 0;
    std::uint32_t part = 0;
    std::vector<float> model;  // as received
    std::vector<float> broadcast;
    bool own_model = false;
    std::optional<double> epochs;
    bool measure = false;
  };

  // The digits of the model tell who trained it, one after the other: client k makes 10 w + k + 1 of w.
  Result<TrainReply> train(const TrainTask& task, LocalUpdate reuse) override {
    const std::uint32_t k = task.client.value;
    visits.push_back({.client = task.client,
                      .round = task.round,
                      .part = task.part,
                      .model = {task.model.begin(), task.model.end()},
                      .broadcast = {task.broadcast.begin(), task.broadcast.end()},
                      .own_model = task.own_model,
                      .epochs = task.epochs,
                      .measure = task.measure});
    if (const auto reason = gone.find({k, task.part}); reason != gone.end()) {
      return TrainReply{Dropped{task.client, reason->second}};
    }
    LocalUpdate update = std::move(reuse);
    update.client = task.client;
    update.samples = 10 * (k + 1);
    update.steps = k + 1;
    update.samples_trained = 2 * update.samples;
    update.loss = k + 0.5 + task.part;
    update.loss_after = task.measure ? std::optional(k + 0.25 + task.part) : std::nullopt;
    update.model.assign(1, 10 * task.model[0] + static_cast<float>(k + 1));
    update.own_model = 0;
    if (task.own_model) {
      update.own_model = k + 1;
      update.model.clear();
    }
    update.payload.assign(1, static_cast<float>(k + 1));
    return TrainReply{std::move(update)};
  }
  Result<ProfileReply> profile(const ProfileTask& task) override {
    return ProfileReply{Dropped{task.client, DropReason::kUnreachable}};
  }
  Result<EvaluateReply> evaluate(const EvaluateTask&) override { return EvaluateReply{Evaluation{}}; }

  [[nodiscard]] std::vector<std::uint32_t> order() const {
    std::vector<std::uint32_t> clients;
    for (const Visit& visit : visits) clients.push_back(visit.client.value);
    return clients;
  }

  std::vector<Visit> visits;
  std::map<std::pair<std::uint32_t, std::uint32_t>, DropReason> gone;  // (client, part) that are not answered
};

inline std::vector<ClientId> clients_up_to(std::uint32_t count) {
  std::vector<ClientId> clients;
  for (std::uint32_t k = 0; k < count; ++k) clients.push_back({k});
  return clients;
}

}  // namespace muster
