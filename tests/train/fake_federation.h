// FakeFederation: clients that answer by heart. What they are asked is noted; what they answer can be spoilt.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "train/federation.h"

namespace muster {

struct FakeClient {
  std::uint32_t samples = 10;
  std::uint32_t test_samples = 10;
  std::uint32_t since_round = 1;
  std::string name = {};
  std::uint32_t edge = 0;
  std::uint32_t validation_samples = 0;
};

// A linear model of two inputs and two classes: six numbers.
inline std::shared_ptr<const Network> small_network() {
  return std::move(make_network({.name = "softmax"}, {1, 1, 2}, 2)).value();
}

class FakeFederation final : public Federation {
 public:
  struct AskedTraining {
    std::uint32_t round = 0;
    std::vector<std::vector<std::uint32_t>> members;  // of each task
    std::vector<std::uint32_t> groups;                // of each task
    std::vector<std::vector<double>> epochs;          // of each task
    std::vector<std::vector<float>> starts;           // of each task
    std::size_t models = 0;
    std::size_t broadcast = 0;
    bool own_models = false;
    bool measure = false;
    bool wants_members = false;
  };
  struct AskedProfile {
    std::vector<std::uint32_t> clients;
    std::uint32_t round = 0;
    std::uint32_t as_of_round = 0;
    bool losses = false;
    std::vector<float> models;
    std::size_t width = 0;
  };
  struct AskedEvaluation {
    std::vector<float> global;
    std::vector<std::vector<float>> models;
    std::vector<std::uint32_t> clients;
    std::vector<std::uint32_t> model_of;
    bool own_models = false;
    HeldOut held_out = HeldOut::kTest;
    Details details;
    Details global_details;
  };

  explicit FakeFederation(const std::vector<FakeClient>& clients, const ProfileOptions& profile = {},
                          const TrainingOptions& training = {},
                          std::shared_ptr<const Network> network = small_network())
      : Federation(network, std::move(make_profile_kind(profile)).value(),
                   std::move(make_group_trainer(training, {}, {}, 1)).value()),
        roster_(network->input(), network->classes(), 2) {
    for (const FakeClient& client : clients) {
      roster_.add({.name = client.name,
                   .train_samples = client.samples,
                   .test_samples = client.test_samples,
                   .validation_samples = client.validation_samples,
                   .edge = client.edge,
                   .since_round = client.since_round});
    }
  }

  const Roster& roster() const override { return roster_; }
  std::size_t global_test_samples() const override { return test_samples; }
  std::size_t global_validation_samples() const override { return validation_samples; }
  void name_classes(std::vector<std::string> names) { roster_.set_class_names(std::move(names)); }
  SampleView exemplars() const override { return {}; }
  Result<std::string> save() override { return saved; }
  Status restore(std::string_view text) override {
    saved = text;
    return {};
  }

  // What everybody answers; each may be replaced.
  // Of a member: its model is the one it received, every number larger by its id + 1; its loss is its id + 0.5.
  std::function<float(ClientId)> step = [](ClientId client) { return static_cast<float>(client.value + 1); };
  std::function<bool(std::uint32_t round, ClientId)> gone = [](std::uint32_t, ClientId) { return false; };
  std::function<void(GroupUpdate&)> spoil_group;
  std::function<void(GroupUpdate&)> spoil_member;
  std::function<ProfileReply(const ProfileRequest&, ClientId)> tell = [](const ProfileRequest&, ClientId client) {
    return ProfileReply{Dropped{client, DropReason::kUnreachable}};
  };
  // Of a client and the first number of the model it scores.
  std::function<EvaluateReply(ClientId, float)> score = [this](ClientId client, float) {
    return EvaluateReply{Evaluation{.samples = roster_.test_samples(client), .correct = 1, .loss_sum = 1}};
  };
  std::function<Score(float)> score_global = [this](float) {
    return Score{.samples = test_samples, .correct = 1, .loss_sum = 1};
  };
  // The same of validation samples.
  std::function<EvaluateReply(ClientId, float)> validate = [this](ClientId client, float) {
    return EvaluateReply{Evaluation{.samples = roster_.validation_samples(client), .correct = 1, .loss_sum = 1}};
  };
  std::function<Score(float)> validate_global = [this](float) {
    return Score{.samples = validation_samples, .correct = 1, .loss_sum = 1};
  };
  std::uint32_t breaks_in = 0;  // the round whose training fails; 0 = none
  bool evaluation_breaks = false;
  std::size_t test_samples = 0;  // of the server
  std::size_t validation_samples = 0;
  std::string saved = "memory";

  std::vector<AskedTraining> trainings;
  std::vector<AskedProfile> profiles;
  std::vector<AskedEvaluation> evaluations;

 private:
  // All samples are of the first class, and those that are not correct are taken for the second.
  static std::shared_ptr<const Predictions> made_up(const Evaluation& told, const Details& details) {
    Predictions predictions;
    const std::uint64_t wrong = told.samples - told.correct;
    if (details.predictions && told.correct > 0) predictions.counts.push_back({0, 0, told.correct});
    if (details.predictions && wrong > 0) predictions.counts.push_back({0, 1, wrong});
    if (details.scores) predictions.negative_scores.assign(told.samples, 0.0f);
    return std::make_shared<const Predictions>(std::move(predictions));
  }

  [[nodiscard]] GroupUpdate member_update(const RoundCall& call, const GroupTask& task, ClientId client) {
    GroupUpdate update{.group = task.group};
    if (gone(call.round, client)) {
      update.dropped.push_back({client, DropReason::kFault});
      return update;
    }
    const double loss = client.value + 0.5;
    update.samples = roster_.train_samples(client);
    update.members.push_back({.client = client,
                              .samples = roster_.train_samples(client),
                              .steps = 1,
                              .samples_trained = roster_.train_samples(client),
                              .loss = loss,
                              .loss_after = call.measure ? std::optional(loss) : std::nullopt,
                              .visits = 1});
    for (const float value : call.models[task.model]) update.model.push_back(value + step(client));
    return update;
  }

  Status do_train(const RoundCall& call, std::span<const GroupTask> tasks, const UpdateSink& sink) override {
    AskedTraining asked{.round = call.round,
                        .models = call.models.size(),
                        .broadcast = call.broadcast.size(),
                        .own_models = call.own_models,
                        .measure = call.measure,
                        .wants_members = static_cast<bool>(sink.member)};
    for (const GroupTask& task : tasks) {
      asked.groups.push_back(task.group.value);
      asked.members.emplace_back();
      for (const ClientId client : task.members) asked.members.back().push_back(client.value);
      asked.epochs.emplace_back(task.epochs.begin(), task.epochs.end());
      asked.starts.emplace_back(call.models[task.model].begin(), call.models[task.model].end());
    }
    trainings.push_back(asked);
    if (call.round == breaks_in) return failure("the wire is cut");
    const auto mean = make_parallel(1, true);
    for (const GroupTask& task : tasks) {
      CombinedUpdate combined;
      combined.begin(*mean, call, task);
      for (const ClientId client : task.members) {
        GroupUpdate update = member_update(call, task, client);
        combined.add(update);
        if (spoil_member) spoil_member(update);
        if (sink.member) sink.member(update, call.models[task.model]);
      }
      GroupUpdate& update = combined.finish();
      if (call.own_models && !update.members.empty()) {
        update.members.front().own_model = hash_bytes(update.model.data(), update.model.size() * sizeof(float));
        update.model.clear();
      }
      if (spoil_group) spoil_group(update);
      sink.group(update);
    }
    return {};
  }

  Status do_profile(const ProfileRequest& request, const ProfileSink& sink) override {
    AskedProfile asked{.round = request.round,
                       .as_of_round = request.as_of_round,
                       .losses = request.losses,
                       .models = {request.models.values.begin(), request.models.values.end()},
                       .width = request.models.width};
    for (const ClientId client : request.clients) asked.clients.push_back(client.value);
    profiles.push_back(asked);
    for (std::size_t i = 0; i < request.clients.size(); ++i) {
      ProfileReply reply = tell(request, request.clients[i]);
      sink(i, reply);
    }
    return {};
  }

  void do_begin_evaluation(const EvaluationRequest& request) override {
    AskedEvaluation asked{.global = {request.global.begin(), request.global.end()},
                          .model_of = request.model_of,
                          .own_models = request.own_models,
                          .held_out = request.held_out,
                          .details = request.details,
                          .global_details = request.global_details};
    for (const std::span<const float> model : request.models) asked.models.emplace_back(model.begin(), model.end());
    for (const ClientId client : request.clients) asked.clients.push_back(client.value);
    evaluations.push_back(asked);
  }
  Result<EvaluationResult> do_end_evaluation() override {
    if (evaluation_breaks) return failure("no scores today");
    const AskedEvaluation& asked = evaluations.back();
    EvaluationResult result;
    const bool tests = asked.held_out == HeldOut::kTest;
    if (!asked.global.empty()) result.global = (tests ? score_global : validate_global)(asked.global[0]);
    for (std::size_t i = 0; i < asked.clients.size(); ++i) {
      const float model = asked.models[asked.model_of[i]][0];
      result.clients.push_back((tests ? score : validate)({asked.clients[i]}, model));
      auto* const own = std::get_if<Evaluation>(&result.clients.back());
      if (own && asked.details.any() && !own->predictions) own->predictions = made_up(*own, asked.details);
    }
    return result;
  }

  Roster roster_;
};

}  // namespace muster
