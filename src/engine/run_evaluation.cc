#include "engine/run_evaluation.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/random.h"

namespace muster {
namespace {

enum class On { kAuto, kGlobal, kClients, kBoth };

On on_of(const std::string& word) {
  if (word == "global") return On::kGlobal;
  if (word == "clients") return On::kClients;
  return word == "both" ? On::kBoth : On::kAuto;
}

}  // namespace

Result<std::unique_ptr<RunEvaluation>> RunEvaluation::make(const EvaluationOptions& options,
                                                           const Federation& federation, bool separate,
                                                           std::uint64_t seed) {
  const On on = on_of(options.on);
  const Roster& roster = federation.roster();
  const bool has_global = federation.global_test_samples() > 0;
  const bool wants_global = on == On::kGlobal || on == On::kBoth || (on == On::kAuto && has_global && !separate);
  const bool wants_clients = on == On::kClients || on == On::kBoth || (on == On::kAuto && !wants_global);
  if (wants_global && !has_global) {
    return usage_error("evaluation.on: \"{}\", but the data have no global test set; want \"clients\"", options.on);
  }
  if (wants_global && separate) {
    return usage_error("evaluation.on: \"{}\", but no model speaks for all clients; want \"clients\"", options.on);
  }
  std::unique_ptr<RunEvaluation> made(new RunEvaluation(roster));
  made->global_ = wants_global;
  if (!wants_clients) return made;
  Stream stream({.seed = seed, .purpose = Purpose::kSampling, .part = 1});
  for (const std::uint32_t k : stream.sample(roster.clients(), options.clients.of(roster.clients()))) {
    if (roster.test_samples({k}) == 0) continue;
    made->asked_.push_back({k});
    made->asked_samples_ += roster.test_samples({k});
  }
  // Without test samples anywhere "auto" trains all the same, and has no accuracy.
  if (made->asked_.empty() && on != On::kAuto) {
    return usage_error(
        "evaluation.on: \"{}\", but no client has test samples; set data.test-fraction, e.g. 0.2, or "
        "evaluation.on = \"global\"",
        options.on);
  }
  if (!made->asked_.empty()) {
    made->client_accuracy_.assign(roster.clients(), std::numeric_limits<float>::quiet_NaN());
  }
  return made;
}

EvaluationRequest RunEvaluation::request(const Models& models, const Grouping& grouping, std::uint32_t round) {
  clients_.clear();
  model_of_.clear();
  groups_ = models.per_group() && !models.in_clients() ? grouping.count() : 0;
  EvaluationRequest request{.own_models = models.in_clients()};
  if (global_) request.global = models.shared();
  if (asked_.empty()) return request;
  for (std::uint32_t g = 0; g < groups_; ++g) request.models.push_back(models.of({g}));
  request.models.push_back(models.shared());
  const std::vector<GroupId> group_of = groups_of_clients(grouping, roster_.clients());
  for (const ClientId client : asked_) {
    if (roster_.since_round(client) > round) continue;
    const GroupId group = group_of[client.value];
    clients_.push_back(client);
    model_of_.push_back(groups_ > 0 && group != kNoGroup ? group.value : groups_);
  }
  request.clients = clients_;
  request.model_of = model_of_;
  return request;
}

void RunEvaluation::enter(const EvaluationResult& result, RoundRecord& record) {
  Score all;
  std::vector<Score> groups(groups_);
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    const auto* const own = std::get_if<Evaluation>(&result.clients[i]);
    if (!own || own->samples == 0) continue;
    all.add(*own);
    if (model_of_[i] < groups_) groups[model_of_[i]].add(*own);
    client_accuracy_[clients_[i].value] =
        static_cast<float>(static_cast<double>(own->correct) / static_cast<double>(own->samples));
  }
  if (result.global) {
    record.accuracy = result.global->accuracy();
    record.loss = result.global->loss();
    if (all.samples > 0) record.client_accuracy = all.accuracy();
  } else if (all.samples > 0) {
    record.accuracy = all.accuracy();
    record.loss = all.loss();
    record.covered = static_cast<double>(all.samples) / static_cast<double>(asked_samples_);
  }
  record.group_accuracy.clear();
  for (const Score& group : groups) record.group_accuracy.push_back(group.samples > 0 ? group.accuracy() : NAN);
}

void RunEvaluation::save(Checkpoint& checkpoint) const {
  checkpoint.put_floats("client-accuracy", client_accuracy_);
}

Status RunEvaluation::restore(const Checkpoint& checkpoint) {
  MUSTER_ASSIGN(std::vector<float> accuracy, checkpoint.get_floats("client-accuracy"));
  if (accuracy.size() != client_accuracy_.size()) {
    return failure("checkpoint of round {} holds the accuracy of {} clients, want {}", checkpoint.round,
                   accuracy.size(), client_accuracy_.size());
  }
  client_accuracy_ = std::move(accuracy);
  return {};
}

}  // namespace muster
